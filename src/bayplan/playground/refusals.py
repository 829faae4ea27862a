"""Refusals: what an API server answers when it does not do as asked, as Kubernetes Status objects.

Reasons, codes and texts are those that clients of a real API server compare and print.
Not here: when to refuse.
"""

from __future__ import annotations

from bayplan.playground.kinds import Kind
from bayplan.playground.trees import Map


class Refused(Exception):
    """A request was refused; this carries the Status that says so."""

    def __init__(self, code: int, reason: str, message: str, details: Map | None = None) -> None:
        """Say with which code, under which reason, in which words."""
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Map:
        """Give the Status object."""
        tree: Map = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        if self.reason:
            tree["reason"] = self.reason
        if self.details:
            tree["details"] = self.details
        tree["code"] = self.code
        return tree


def success(kind: Kind, name: str, uid: str) -> Map:
    """Give the Status that answers a deletion."""
    details: Map = {"name": name, **_group(kind), "kind": kind.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found(kind: Kind, name: str) -> Refused:
    """Refuse what is about an object that is not there."""
    return Refused(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name))


def no_such_path() -> Refused:
    """Refuse a path that nothing is served at."""
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def no_such_group() -> Refused:
    """Refuse a path of a group that nobody serves: that is not even a Status."""
    return Refused(404, "", "404 page not found", {})


def already_exists(kind: Kind, name: str) -> Refused:
    """Refuse a name that is taken."""
    return Refused(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refused:
    """Refuse who was not the first."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refused(409, "Conflict", message, _details(kind, name))


def modified(kind: Kind, name: str) -> Refused:
    """Refuse a change of what is no longer the object that was read."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def invalid(kind: Kind, name: str, field: str, fault: str, reason: str = "FieldValueInvalid") -> Refused:
    """Refuse a field's value; the fault begins with its class ("Invalid value: ...")."""
    causes: Map = {"reason": reason, "message": fault, "field": field}
    details: Map = {**({"name": name} if name else {}), **_group(kind), "kind": kind.name, "causes": [causes]}
    return Refused(422, "Invalid", f'{kind.qualified} "{name}" is invalid: {field}: {fault}', details)


def forbidden(kind: Kind, name: str, why: str) -> Refused:
    """Refuse what admission does not let in."""
    return Refused(403, "Forbidden", f'{kind.resource} "{name}" is forbidden: {why}', _details(kind, name))


def bad_request(message: str) -> Refused:
    """Refuse what makes no sense."""
    return Refused(400, "BadRequest", message)


def method_not_allowed() -> Refused:
    """Refuse a verb that the resource does not know."""
    message = "the server does not allow this method on the requested resource"
    return Refused(405, "MethodNotAllowed", message, {})


def unsupported_media(message: str) -> Refused:
    """Refuse a body in a format that is not read here."""
    return Refused(415, "UnsupportedMediaType", message)


def expired(message: str) -> Refused:
    """Refuse to tell what is no longer remembered."""
    return Refused(410, "Expired", message)


def too_large(limit: int) -> Refused:
    """Refuse a body that is longer than is read."""
    message = f"Request entity too large: limit is {limit}"
    return Refused(413, "RequestEntityTooLarge", message)


def too_many_requests(message: str, causes: list[Map] | None = None, retry_after: int = 0) -> Refused:
    """Refuse for now."""
    details: Map = {}
    if causes:
        details["causes"] = [*causes]
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return Refused(429, "TooManyRequests", message, details)


def internal(message: str) -> Refused:
    """Say that the server itself is at a loss."""
    return Refused(500, "InternalError", f"Internal error occurred: {message}")


def _details(kind: Kind, name: str) -> Map:
    return {"name": name, **_group(kind), "kind": kind.plural}


def _group(kind: Kind) -> Map:
    return {"group": kind.group} if kind.group else {}
