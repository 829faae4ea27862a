"""The lineage names tests that exist."""

import re

import pytest

from tests.architecture.files import ROOT

PAGE = ROOT / "docs" / "lineage.md"
NAMED = re.compile(r"`(test_\w+)`(?=[^|]*? of \[\w+\]\(([^)]+\.py)\))")
SHOWN = NAMED.findall(PAGE.read_text(encoding="utf-8"))


def test_some_are_named() -> None:
    """The page shows what it claims."""
    assert len(SHOWN) >= 30


@pytest.mark.parametrize(("test", "file"), SHOWN)
def test_a_test_that_is_named_exists(test: str, file: str) -> None:
    """In the file that is linked."""
    assert f"def {test}(" in (PAGE.parent / file).read_text(encoding="utf-8")
