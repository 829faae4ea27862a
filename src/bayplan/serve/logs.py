"""Logs: an event's name and its fields, as text for people and as JSON for programs.

    logger.info("bound", extra=fields(pod="shop/web-0", node="north-1"))

Invariant: a record is one line, whatever its fields hold.
Not here: what is worth a line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Literal, TextIO, TypeAlias

Form: TypeAlias = Literal["text", "json"]

FIELDS: Final = "bayplan_fields"
CHARACTERS_MAX: Final = 4096  # of one field: a log is read by people


def fields(**given: object) -> dict[str, dict[str, object]]:
    """Return an event's fields as `logging` takes them."""
    return {FIELDS: given}


class Text(logging.Formatter):
    """Write a record for people: time, level, event, fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        told = " ".join(f"{name}={_short(_quoted(value))}" for name, value in fields_of(record).items())
        line = f"{at} {record.levelname[0]} {_one_line(record.getMessage())}"
        return f"{line} {told}" if told else line


class Json(logging.Formatter):
    """Write a record for programs: one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        tree = {"ts": at, "level": record.levelname.lower(), "msg": record.getMessage(), "logger": record.name}
        told = {name: _plain(value) for name, value in fields_of(record).items()}
        return json.dumps(tree | {name: value for name, value in told.items() if name not in tree})


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields of a record, an exception's last line among them."""
    given = dict(getattr(record, FIELDS, {}))
    if record.exc_info is not None and record.exc_info[1] is not None:
        error = record.exc_info[1]
        given["error"] = f"{type(error).__name__}: {error}"
    return given


def begin(stream: TextIO = sys.stderr, form: Form | None = None, verbosity: int = 0) -> logging.Handler:
    """Have everything of ours logged to a stream: as text on a terminal, as JSON otherwise, unless told how."""
    handler = Steady(stream)
    chosen = form or ("text" if stream.isatty() else "json")
    handler.setFormatter(Text() if chosen == "text" else Json())
    root = logging.getLogger("bayplan")
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if verbosity >= 4 else logging.INFO)  # 4: where kube-scheduler says what it does
    root.propagate = False
    return handler


class Steady(logging.StreamHandler[TextIO]):
    """A handler that goes on when nothing can be written: a full disk must not stop anybody's pods."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.lost = 0  # lines that could not be written

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name is logging's
        """Count a line that could not be written."""
        self.lost += 1


def _plain(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    return _short(str(value))


def _quoted(value: object) -> str:
    text = str(value)
    is_plain = text.isprintable() and text and not set(' "=') & set(text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _one_line(text: str) -> str:
    return _short(text.replace("\r", "\\r").replace("\n", "\\n"))


def _short(text: str) -> str:
    return text if len(text) <= CHARACTERS_MAX else f"{text[: CHARACTERS_MAX - 4]} ..."
