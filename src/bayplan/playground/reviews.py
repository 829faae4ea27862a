"""Reviews: questions that are answered and not stored: who somebody is, and what they may do.

Who is known may do anything; without a token file, everybody is known.
Not here: the RBAC kinds, which are stored like any others.
"""

from __future__ import annotations

from bayplan.playground.kinds import Kind
from bayplan.playground.trees import Map, text
from bayplan.playground.users import Users


def answered(kind: Kind, review: Map, users: Users) -> Map:
    """Give a review with its answer."""
    head: Map = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {}, "spec": review.get("spec")}
    if kind.name != "TokenReview":
        return {**head, "status": {"allowed": True, "reason": "everything is allowed in the playground"}}
    user = users.of(text(review, "spec", "token"))
    if user is None:
        return {**head, "status": {"user": {}, "error": "invalid bearer token"}}
    told: Map = {"username": user.name, "uid": user.uid, "groups": [*user.groups]}
    return {**head, "status": {"authenticated": True, "user": told}}
