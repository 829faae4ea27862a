"""`bayplan demo`: an environment that is made, work that is placed, and nothing left behind."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli import bayplan
from bayplan.cli.demo_view import Glance, bars, line, shown
from bayplan.cli.demo_work import KEPT_MAX, KINDS, Work
from bayplan.playground.server import Server


def test_it_places_pods_and_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe it prints lines; its temporary folder goes with it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    told = CliRunner().invoke(bayplan, ["demo", "--nodes", "5", "--for", "2s"], standalone_mode=False)
    placed = re.search(r"^([\d,]+) pods placed in \d+ s", told.output, re.MULTILINE)

    assert told.exception is None, told.exception
    assert placed is not None, told.output
    assert int(placed[1].replace(",", "")) > 0
    assert "export KUBECONFIG=" in told.output
    assert not list(tmp_path.iterdir())


def test_a_seed_brings_the_same_work() -> None:
    """So that two people look at the same thing."""

    def names(seed: int) -> list[str]:
        server = Server()
        work = Work(seed)
        work.begin(server)
        for _ in range(20):
            work.more(server)
        shelves = (("apps", "deployments"), ("apps", "statefulsets"), ("batch", "jobs"), ("", "pods"))
        return [f"{key}" for shelf in shelves for key in server.store.shelf(shelf).objects]

    assert names(1) == names(1) != names(2)


def test_what_is_there_is_bounded() -> None:
    """The oldest application goes when a new one comes; every kind has come by then."""
    server = Server()
    work = Work(0)
    work.begin(server)
    for _ in range(KEPT_MAX + 25):
        work.more(server)
    shelves = (("apps", "deployments"), ("apps", "statefulsets"), ("batch", "jobs"), ("", "pods"))
    counts = [len(server.store.shelf(shelf).objects) for shelf in shelves]

    assert sum(counts) <= KEPT_MAX
    assert all(counts)
    assert len(set(KINDS)) == 5


GLANCE = Glance(
    seconds=12.3,
    placed=1234,
    per_s=56.7,
    waiting=3,
    nodes=100,
    running=800,
    why=(("100 Insufficient cpu", 2), ("held back by SchedulingGates", 1)),
    recent=(10.0, 20.0),
    cpu_ms_per_pod=0.31,
)  # fmt: skip


def test_a_moment_is_one_line_in_a_pipe() -> None:
    """How many are placed, how many wait, and why."""
    assert line(GLANCE) == (
        "   12 s  1,234 placed, 57 a second, 3 wait: 2 x 100 Insufficient cpu; 1 x held back by SchedulingGates"
    )


def test_a_moment_is_drawn_on_a_terminal() -> None:
    """The same, with a line of bars and what was logged last."""
    from rich.console import Console  # noqa: PLC0415 - as the command imports it

    console = Console(width=100, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(shown(GLANCE, "12:00 I noted"))
    text = captured.get()

    assert all(part in text for part in ("1,234", "100 Insufficient cpu", "held back by SchedulingGates", "I noted"))


def test_bars_show_nothing_where_nothing_is() -> None:
    """No division by nought."""
    assert (bars(()), bars((0.0, 0.0)), bars((1.0, 2.0))) == ("", "  ", "▄█")
