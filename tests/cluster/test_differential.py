"""One sequence of requests put to the playground and to the real kube-apiserver: the same codes, reasons and fields.

The fields that differ are listed in `docs/playground-differences.md`; `make playground-differences` writes it anew.
"""

import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bayplan.playground.running import running
from tests.cluster.control_plane import Api, control_plane
from tests.cluster.differences import Answer, Difference, asked, different
from tests.cluster.sequence import BEGINNING, SEQUENCE, Step

pytestmark = pytest.mark.slow

LIST = Path(__file__).parents[2] / "docs" / "playground-differences.md"
SCHEDULERS = frozenset(  # what a scheduler lives by
    {
        *("Pod", "Node", "Namespace", "PersistentVolume", "PersistentVolumeClaim"),
        *("PodDisruptionBudget", "PriorityClass", "Lease", "Event"),
    }
)
SCHEDULERS_MAX = 10
HEAD = """# Where the playground's objects differ from a real server's

The same {number:,} requests are put to the playground, without its kubelets and controllers, and to kube-apiserver.
Codes and reasons are the same for all of them; these fields are not.
Managed fields are left out, and uids, revisions and times are not compared.
`make playground-differences` writes this list anew, and `make playground-check` fails on a field that is not in it.

| kind | field |
|---|---|
"""


class Compared:
    """Both servers' answers to the whole sequence."""

    def __init__(self, folder: Path) -> None:
        """Ask both, side by side."""
        with running() as up, control_plane(folder) as real, ThreadPoolExecutor() as lanes:
            servers = (Api(up.server.port), real.api)
            ours, theirs = lanes.map(lambda api: asked(api, SEQUENCE), servers)
        compared = zip(SEQUENCE, ours, theirs, strict=True)
        self.steps: list[tuple[Step, Answer, Answer]] = list(compared)[len(BEGINNING) :]

    def fields(self) -> dict[tuple[str, str], Difference]:
        """Give each field that differs once, with the first example, where codes and reasons are the same."""
        found: dict[tuple[str, str], Difference] = {}
        for _, ours, theirs in self.steps:
            for one in different(ours, theirs) if ours[:2] == theirs[:2] else ():
                found.setdefault((one.kind, one.path), one)
        return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Ask both servers once for all tests."""
    return Compared(tmp_path_factory.mktemp("real"))


def test_codes_and_reasons_are_those_of_the_real_one(compared: Compared) -> None:
    """Every step is answered alike."""
    wrong = [
        f"{step.method} {step.path} {step.body}: {ours[:2]}, the real one {theirs[:2]}"
        for step, ours, theirs in compared.steps
        if ours[:2] != theirs[:2]
    ]

    print(f"{len(compared.steps)} requests compared")
    assert not wrong, "\n".join(wrong)


def test_the_fields_that_differ_are_those_that_are_listed(compared: Compared) -> None:
    """Of what schedulers live by, hardly any does."""
    fields = compared.fields()
    listed = set(re.findall(r"^\| (\S+) \| `(.*)` \|$", LIST.read_text(encoding="utf-8"), re.MULTILINE))
    new = [f"{one.kind} {one.path}: {one.example}" for key, one in fields.items() if _row(*key) not in listed]

    assert not new, "\n".join([*new, "mend it, or list it: make playground-differences"])
    assert len([kind for kind, _ in fields if kind in SCHEDULERS]) <= SCHEDULERS_MAX


def _row(kind: str, path: str) -> tuple[str, str]:
    return kind, path or "(there on one side alone)"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        all_of_them = Compared(Path(scratch))
    rows = sorted(_row(*key) for key in all_of_them.fields())
    text = HEAD.format(number=len(all_of_them.steps)) + "".join(f"| {kind} | `{path}` |\n" for kind, path in rows)
    LIST.write_text(text, encoding="utf-8")
    sys.exit(0)
