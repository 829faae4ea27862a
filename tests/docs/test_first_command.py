"""What the README shows of the sample pods, as a stranger sees it; not here: its first command (test_demo.py)."""

import re
from collections.abc import Callable

from click.testing import CliRunner

from bayplan.cli import bayplan
from tests.architecture.files import ROOT
from tests.conftest import GOLDEN

OUTPUT = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_sample_pods_are_placed(golden: Callable[[str, str], None]) -> None:
    """`bayplan place -f samples` prints where each sample pod goes, and why one goes nowhere."""
    shown = CliRunner().invoke(bayplan, ["place", "-f", str(ROOT / "samples")], standalone_mode=False)

    assert shown.exception is None, shown.exception
    golden("samples.txt", shown.stdout)
    assert shown.return_value in (None, 0)


def test_the_output_in_the_readme_is_the_command_s() -> None:
    """What the README shows of the answer stands in the answer."""
    shown = OUTPUT.findall((ROOT / "README.md").read_text(encoding="utf-8"))

    assert shown
    assert all(block in (GOLDEN / "samples.txt").read_text(encoding="utf-8") for block in shown)
