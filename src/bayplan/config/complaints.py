"""Complaints: what is wrong with a configuration, where it stands, and what was probably meant.

All of them are collected; a reader of one message does not have to come back for the next.  A complaint about a value
that could not be read silences later ones about the same place.
Not here: deciding what is wrong (strict.py, checks.py, plugin_sets.py).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[int, int]  # line and column, from 1; 0 where there is no text

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_KNOWN_SHOWN: Final = 12
_SHOWN: Final = 60
_COMPLAINTS_MAX: Final = 100  # who has that many learns nothing from the next


class Complaint(msgspec.Struct, frozen=True):
    """One thing that is wrong; line and column count from 1, 0 is unknown."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        where = ":".join(part for part in (self.file, *(str(n) for n in (self.line, self.column) if n)) if part)
        return ": ".join(part for part in (where, self.path, self.message) if part)


class ConfigError(Exception):
    """A configuration that cannot be used, with all that is wrong with it."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = list(complaints)
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))


def nowhere(path: Path) -> Place:  # noqa: ARG001 the form of every `place_of`
    """Say of any value that it stands in no text."""
    return 0, 0


class Complaints:
    """What has been found wrong so far, in one file."""

    def __init__(self, file: str = "", place_of: Callable[[Path], Place] = nowhere) -> None:
        self.file = file
        self.place_of = place_of
        self.found: list[Complaint] = []
        self.warnings: list[Complaint] = []
        self._unread: set[Path] = set()

    def unreadable(self, path: Path, message: str) -> None:
        """Complain about a value that stays unknown; later judgements of it are not passed on."""
        self._unread.add(path)
        self._find(path, message)

    def add(self, path: Path, message: str) -> None:
        """Complain about a value that was read and is not allowed."""
        if not any(path[: len(other)] == other or other[: len(path)] == path for other in self._unread):
            self._find(path, message)

    def warn(self, path: Path, message: str) -> None:
        """Note what is accepted but was probably not meant so."""
        warning = self._complaint(path, message)
        if warning not in self.warnings:
            self.warnings.append(warning)

    def below(self, outer: Path) -> Complaints:
        """Return where to complain about a part of the file; paths begin at the part, lines at the file."""
        return Complaints(self.file, lambda path: self.place_of((*outer, *path)))

    @property
    def is_full(self) -> bool:
        """Say whether there are so many that further ones are dropped."""
        return len(self.found) >= _COMPLAINTS_MAX

    def settle(self) -> None:
        """Raise a ConfigError if there was anything to complain about."""
        if self.found:
            raise ConfigError(sorted(self.found, key=lambda one: (one.line, one.column)))

    def _find(self, path: Path, message: str) -> None:
        """Keep a complaint once, however many ways lead to it."""
        complaint = self._complaint(path, message)
        if not self.is_full and complaint not in self.found:
            self.found.append(complaint)

    def _complaint(self, path: Path, message: str) -> Complaint:
        return Complaint(self.file, *self.place_of(path), path_text(path), message)


def path_text(path: Path) -> str:
    """Write a path as people do.

    >>> path_text(("profiles", 0, "plugins"))
    'profiles[0].plugins'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_short(step)}" for step in path)
    return text.removeprefix(".")


def path_of(text: str) -> Path:
    """Read a path as people write it.

    >>> path_of("profiles[0].plugins")
    ('profiles', 0, 'plugins')
    """
    return tuple(int(index) if index else name for index, name in _STEP.findall(text))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant, whatever its case, or None."""
    by_small = {one.lower(): one for one in known}
    found = difflib.get_close_matches(word[:_SHOWN].lower(), by_small, n=1, cutoff=0.6)
    return by_small[found[0]] if found else None


def meant(word: str, known: Iterable[str]) -> str:
    """Say which known word was probably meant, or which there are."""
    words = sorted(known)
    guess = nearest(word, words)
    if guess is not None:
        return f'did you mean "{guess}"?'
    if not words:
        return "nothing may stand here"
    more = f", and {len(words) - _KNOWN_SHOWN} more" if len(words) > _KNOWN_SHOWN else ""
    return f"known here: {', '.join(words[:_KNOWN_SHOWN])}{more}"


def shown(value: object) -> str:
    """Write a value so that it fits in a message."""
    return f'"{_short(value)}"' if isinstance(value, str) else _short(str(value))


def _short(text: str) -> str:
    """Cut a text to what a message can hold, and make everything in it visible."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return cut if cut.isprintable() else cut.encode("unicode_escape").decode()
