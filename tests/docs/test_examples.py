"""The Python that a document shows runs as it stands, block after block of one page in one namespace."""

import re
from pathlib import Path

import pytest

from tests.architecture.files import name_of, project_files

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [path for path in project_files("*.md") if BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(page: Path) -> None:
    """No block of the page raises."""
    namespace: dict[str, object] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        source = "\n" * line + block.group(1)
        exec(compile(source, name_of(page), "exec"), namespace)  # noqa: S102 - our own documents are what is tested
