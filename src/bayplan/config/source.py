"""Where a configuration comes from: a file, a text or a map, read into a plain tree that knows its lines.

Invariant: whatever is given, a tree or a ConfigError comes out, in time proportional to the size, which is bounded.
Not here: what the tree means (strict.py), and which kind of configuration it is (files.py).
"""

from __future__ import annotations

import math
import stat
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Final, NamedTuple, TypeAlias

from bayplan.api.yamltree import DEPTH_MAX, YamlError, documents
from bayplan.config.complaints import Complaint, Complaints, ConfigError, Path, path_text

BYTES_MAX: Final = 4 * 2**20
VALUES_MAX: Final = 200_000

Given: TypeAlias = str | bytes | Mapping[str, object]


class NotRead(ConfigError):
    """A file that could not be opened."""


class Source(NamedTuple):
    """A configuration's tree, and whom to tell what is wrong with it."""

    tree: dict[str, object]
    complaints: Complaints


def of_file(path: FilePath) -> Source:
    """Read a file."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            raise _not_read(path, "is a directory; name the file in it that is meant")
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _not_read(path, f"cannot be read: {reason}") from None
    return of_text(content, str(path))


def of(given: Given, file: str = "") -> Source:
    """Read a text, or take a map as it is."""
    return of_text(given, file) if isinstance(given, str | bytes) else of_map(given, file)


def of_text(text: str | bytes, file: str = "") -> Source:
    """Read YAML or JSON."""
    if len(text) > BYTES_MAX:
        raise refused(
            file, f"is larger than {BYTES_MAX // 2**20} MiB; a configuration is some kilobytes: is this the file?"
        )
    content = text.encode("utf-8", "replace") if isinstance(text, str) else text
    found = list(documents(content))
    for one in found:
        if isinstance(one, YamlError):
            place = (one.line + 1, one.column + 1)
            raise ConfigError([Complaint(file, *place, path_text(one.path), one.problem)])
    full = [one for one in found if not isinstance(one, YamlError) and one.tree is not None]
    if not full:
        raise refused(file, "is empty; expected a map with apiVersion and kind")
    first, *more = full
    if isinstance(first, YamlError):  # cannot be: the loop above has raised
        raise first
    complaints = Complaints(file, first.place_of)
    if not isinstance(first.tree, dict):
        complaints.unreadable((), "expected a map with apiVersion and kind")
    if more:
        complaints.unreadable((), f"expected one document, got {len(full)}; keep each in a file of its own")
    complaints.settle()
    return Source(dict(first.tree) if isinstance(first.tree, dict) else {}, complaints)


def of_map(tree: Mapping[str, object], file: str = "") -> Source:
    """Take a map of plain values; anything else in it is refused."""
    complaints = Complaints(file)
    unseen: list[tuple[object, Path]] = [(tree, ())]
    seen = 0
    while unseen and not complaints.found:
        value, path = unseen.pop()
        seen += 1
        if len(path) > DEPTH_MAX:
            complaints.unreadable(path[:3], f"expected at most {DEPTH_MAX} levels of nesting, and no cycle")
        elif seen > VALUES_MAX:
            complaints.unreadable((), f"expected at most {VALUES_MAX:,} values")
        elif isinstance(value, Mapping):
            for key, child in value.items():
                if not isinstance(key, str):
                    complaints.unreadable(path, f"expected texts as keys, got {type(key).__name__}")
                unseen.append((child, (*path, str(key))))
        elif isinstance(value, list | tuple):
            unseen += [(child, (*path, place)) for place, child in enumerate(value)]
        elif not _is_scalar(value):
            complaints.unreadable(path, f"expected a plain value, got {type(value).__name__}")
    complaints.settle()
    return Source(dict(tree), complaints)


def refused(file: str, why: str) -> ConfigError:
    """Return the error of a source of which nothing could be read."""
    return ConfigError([Complaint(file, 0, 0, "", why)])


def _not_read(path: FilePath, why: str) -> NotRead:
    return NotRead(refused(str(path), why).complaints)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
