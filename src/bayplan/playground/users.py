"""Users: who bears which token.

The file is that of a real API server's `--token-auth-file`: a line is `token,user,uid` and, in quotes, the groups.
Everybody who is known may do anything.
Invariant: without a file nobody is asked for a token, and then only loopback is listened on (`cli/playground.py`).
Not here: what a user may do, which nobody is asked.
"""

from __future__ import annotations

import csv
import hmac
from typing import Final, NamedTuple

from bayplan.playground.refusals import Refused

_BEARER: Final = "bearer "


class BadTokens(ValueError):
    """A token file cannot be read: each line is token,user,uid and then, in quotes, the groups."""


class User(NamedTuple):
    """Who bears a token."""

    token: bytes
    name: str
    uid: str
    groups: tuple[str, ...]


EVERYBODY: Final = User(b"", "playground", "", ("system:masters", "system:authenticated"))


class Users:
    """Those who are known; without any, everybody is."""

    def __init__(self, known: list[User] | None = None) -> None:
        """Know these."""
        self._known = known

    @property
    def are_asked(self) -> bool:
        """Say whether a token is needed."""
        return self._known is not None

    def of(self, token: str) -> User | None:
        """Give who bears a token, if anybody does; how long that takes tells nothing of the tokens."""
        if self._known is None:
            return EVERYBODY
        found = [user for user in self._known if hmac.compare_digest(user.token, token.encode())]
        return found[0] if found else None

    def check(self, authorization: str) -> None:
        """Raise Refused unless a request says that it comes from somebody who is known."""
        token = authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else ""
        if self.of(token) is None:
            raise Refused(401, "Unauthorized", "Unauthorized")


def read(written: str) -> list[User]:
    """Read a token file; raise BadTokens on one that cannot be."""
    users = []
    for number, row in enumerate(csv.reader(written.splitlines(), skipinitialspace=True), start=1):
        if not row or row[0].startswith("#"):
            continue
        if len(row) not in {3, 4} or not row[0].strip() or not row[1].strip():
            raise BadTokens(f"line {number}: expected token,user,uid and, in quotes, the groups; got {len(row)} fields")
        groups = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) == 4 else ()
        users.append(User(row[0].strip().encode(), row[1].strip(), row[2].strip(), (*groups, "system:authenticated")))
    if not users:
        raise BadTokens("there is no token in it")
    return users
