"""Lists: which objects, of which revision, in which pages.

Invariant: the pages of one list are of one revision, or the list ends with 410.
Not here: watching (`watching.py`).
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from bayplan.playground.matching import Wanted
from bayplan.playground.refusals import Refused, bad_request, expired
from bayplan.playground.store import Key, Store, Stored, TooOld
from bayplan.playground.trees import Map

_TOO_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)


class Page(NamedTuple):
    """Some of the objects of a list, and the list's metadata."""

    objects: list[Stored]
    meta: Map


class Continue(msgspec.Struct, frozen=True):
    """Where a list goes on."""

    revision: int
    after: Key


def page(store: Store, of: tuple[str, str], wanted: Wanted, query: Mapping[str, str]) -> Page:
    """Give a list, or the part of it that is asked for."""
    limit = number(query, "limit")
    token = query.get("continue", "")
    go_on = _token(token) if token else None
    revision = go_on.revision if go_on is not None else _revision(store, query)
    shelf = store.shelf(of)
    try:
        objects = shelf.as_of(revision)
    except TooOld as error:
        raise expired(
            _TOO_OLD_PAGE if token else f"The resourceVersion for the provided list is too old: {error}"
        ) from None
    keys = shelf.ordered() if objects is shelf.objects else sorted(objects)
    start = bisect_right(keys, go_on.after) if go_on is not None else 0
    meta: Map = {"resourceVersion": str(revision)}
    found: list[Stored] = []
    for place in range(start, len(keys)):
        stored = objects[keys[place]]
        if not wanted.takes(stored.tree):
            continue
        if limit and len(found) == limit:
            meta["continue"] = _written(Continue(revision, keys[place - 1]))
            if not wanted.labels and not wanted.fields and not wanted.namespace:
                meta["remainingItemCount"] = len(keys) - place
            break
        found.append(stored)
    return Page(found, meta)


def number(query: Mapping[str, str], name: str) -> int:
    """Read a whole number of a query; absent is nought."""
    written = query.get(name, "")
    if not written:
        return 0
    if not (written.isascii() and written.isdigit() and len(written) < 19):
        raise bad_request(f'strconv.ParseInt: parsing "{written[:40]}": invalid syntax ({name})')
    return int(written)


def is_true(query: Mapping[str, str], name: str) -> bool:
    """Read a boolean of a query as Go's parsers do."""
    return query.get(name, "").lower() in {"1", "t", "true"}


def _revision(store: Store, query: Mapping[str, str]) -> int:
    """Read which revision is asked for; any but an exact one is met by the newest."""
    match = query.get("resourceVersionMatch", "")
    asked = number(query, "resourceVersion")
    if match and not query.get("resourceVersion"):
        raise _bad_option("Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match not in {"", "Exact", "NotOlderThan"}:
        raise _bad_option(f'Unsupported value: "{match[:40]}": supported values: "Exact", "NotOlderThan"')
    if match == "Exact" and asked == 0:
        raise _bad_option('Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if asked > store.revision:
        raise too_new(asked, store.revision)
    return asked if match == "Exact" else store.revision


def too_new(asked: int, have: int) -> Refused:
    """Refuse a revision that is still to come."""
    cause: Map = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details: Map = {"retryAfterSeconds": 1, "causes": [cause]}
    return Refused(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {have}", details)


def _bad_option(fault: str) -> Refused:
    where = 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch'
    details: Map = {"group": "meta.k8s.io", "kind": "ListOptions"}
    return Refused(422, "Invalid", f"{where}: {fault}", details)


def _token(written: str) -> Continue:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(written.encode()), type=Continue)
    except (binascii.Error, UnicodeError, ValueError, msgspec.MsgspecError):
        raise bad_request("continue key is not valid: it is not one that this server gave") from None


def _written(go_on: Continue) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(go_on)).decode()
