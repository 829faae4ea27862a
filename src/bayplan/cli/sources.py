"""Where manifests come from: files, folders and standard input, as names and bytes.

Invariant: the files of a folder come in the order of their names, whatever the file system says.
Not here: what is in them (`answers/snapshot.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
STDIN: Final = "-"


def opened(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Return the name and the bytes of each file that is meant."""
    for name in names:
        if name == STDIN:
            yield "standard input", _stdin()
            continue
        path = Path(name)
        if path.is_dir():
            for file in _files(path):
                yield str(file), _bytes(file)
        else:
            yield name, _bytes(path)


def _files(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise click.ClickException(f"{folder}: no file of it or below is called {', '.join(sorted(SUFFIXES))}")
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise click.ClickException(f"{path}: cannot be read: {reason}") from None


def _stdin() -> bytes:
    if sys.stdin.isatty():
        click.echo("reading manifests from standard input; end with Ctrl-D", err=True)
    return sys.stdin.buffer.read()
