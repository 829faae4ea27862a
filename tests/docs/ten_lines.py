"""The documented ten-line rule, as a reader would save it, and the configurations that name it.

Not here: what is claimed of it (test_first_rule.py here, and tests/installed in an environment of its own).
"""

import re
import shutil
from pathlib import Path
from typing import Final

from tests.architecture.files import ROOT

PAGE: Final = ROOT / "docs" / "first-rule.md"
NAME: Final = "cheapest_first"
SAMPLES: Final = ROOT / "samples"
WRONG: Final = {
    "raises": ("return 1 // 0", "raised ZeroDivisionError: integer division or modulo by zero (cheapest.py, line "),
    "has a wrong dtype": (
        "return price",
        "expected a whole number (int64) from 0 to 100 for each of 4 nodes, got 4 values ",
    ),
    "has a wrong length": ("return np.arange(9)", "for each of 4 nodes, got 9 values of dtype int64"),
    "scores too much": ("return np.full(len(nodes), 101)", "expected scores from 0 to 100, got 101"),
    "scores nan": ("return np.full(len(nodes), np.nan)", "for each of 4 nodes, got 4 values of dtype float64"),
}


def source(returns: str | None = None) -> str:
    """Return the rule as the page shows it, or with another last line."""
    block = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    text = block.group(1)
    assert len(text.rstrip().splitlines()) <= 10, "it is called a ten-line rule"
    if returns is not None:
        text = re.sub(r"^    return .*$", f"    {returns}", text, flags=re.MULTILINE)
    return text


def saved(folder: Path, returns: str | None = None) -> Path:
    """Save the rule as the page says."""
    file = folder / "cheapest.py"
    file.write_text(source(returns), encoding="utf-8")
    return file


def configuration(folder: Path, name: str) -> Path:
    """Save the page's configuration, with the rule by some name."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    text = next(block for block in blocks if block.startswith("apiVersion"))
    assert f"cheapest:{NAME}" in text
    file = folder / "scheduler.yaml"
    file.write_text(text.replace(f"cheapest:{NAME}", name), encoding="utf-8")
    return file


def install(site: Path, returns: str | None = None) -> None:
    """Lay the rule down as an installed package with an entry point, as pip would."""
    saved(site, returns)
    metadata = site / "cheapest-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cheapest\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[bayplan.plugins]\n{NAME} = cheapest:{NAME}\n", encoding="utf-8")


def uninstall(site: Path) -> None:
    """Take the rule out again."""
    shutil.rmtree(site / "cheapest-1.0.dist-info", ignore_errors=True)
    (site / "cheapest.py").unlink(missing_ok=True)
