"""A log line: an event's name and its fields, for people or for programs."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from bayplan.serve import logs
from bayplan.serve.logs import Form, fields


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Leave logging as it was found."""
    root = logging.getLogger("bayplan")
    before = list(root.handlers), root.level, root.propagate
    yield
    root.handlers[:], root.level, root.propagate = before


def logged(form: Form | None, message: str, **given: object) -> str:
    """Return what is written for an event."""
    stream = io.StringIO()
    logs.begin(stream, form)
    logging.getLogger("bayplan.serve").info(message, extra=fields(**given))
    return stream.getvalue()


def test_text_is_for_people() -> None:
    """Time, level, event, fields; what has spaces is quoted."""
    line = logged("text", "bound", pod="shop/web", why="first of two")

    assert line.partition(" ")[2] == 'I bound pod=shop/web why="first of two"\n'


def test_json_is_for_programs() -> None:
    """Fields stand beside the event, numbers as numbers."""
    told = json.loads(logged("json", "bound", pod="shop/web", turn=7))

    assert told.pop("ts").endswith("Z")
    assert told == {"level": "info", "msg": "bound", "logger": "bayplan.serve", "pod": "shop/web", "turn": 7}


def test_what_is_no_terminal_gets_json() -> None:
    """A file or a pipe is read by programs."""
    assert json.loads(logged(None, "bound"))["msg"] == "bound"


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_event_is_one_line(form: Form) -> None:
    """Whatever a name from outside holds, nobody can write a second line."""
    line = logged(form, "seen\nforged", pod="a\nb\x1b[31m", long="x" * 10_000)

    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert len(line) < 5000


def test_an_exception_is_a_field() -> None:
    """Its last line; the traceback is nobody's at three at night."""
    stream = io.StringIO()
    logs.begin(stream, "text")
    try:
        int("no such thing")
    except ValueError:
        logging.getLogger("bayplan.serve").exception("failed")

    assert "ValueError: invalid literal" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


class Full(io.StringIO):
    """A stream on a disk that is full."""

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(28, "No space left on device")


def test_a_full_disk_costs_lines_and_nothing_else() -> None:
    """Nothing is raised; how many lines are missing is known."""
    handler = logs.begin(Full(), "text")
    logging.getLogger("bayplan.serve").info("one")
    logging.getLogger("bayplan.serve").info("two")

    assert isinstance(handler, logs.Steady)
    assert handler.lost == 2


def test_more_is_said_when_asked() -> None:
    """From -v=4 on, what kube-scheduler says there."""
    stream = io.StringIO()
    logs.begin(stream, "text", verbosity=4)
    logging.getLogger("bayplan.serve").debug("a detail")

    assert "D a detail" in stream.getvalue()
