"""docs/reasons.md lists the closed set of reasons as the code has it."""

import pytest

from bayplan.framework.reasons import FORMS, Kind
from tests.architecture.files import ROOT

PAGE = ROOT / "docs" / "reasons.md"
HEADER = "| reason | rule | what it means |\n|---|---|---|\n"
OTHERS = {
    Kind.OWN_RULE: "a rule of somebody's own said so, in its own words",
    Kind.FAILED: "a rule failed; the attempt ended with its error",
}


def written() -> str:
    """Write the table from the code."""
    rows = [f"| `{form.kind}` | {form.plugin} | {form.meaning} |\n" for form in FORMS]
    rows += [f"| `{kind}` | | {meaning} |\n" for kind, meaning in OTHERS.items()]
    return HEADER + "".join(rows).replace("|  |", "| |")


def test_the_page_lists_every_reason(request: pytest.FixtureRequest) -> None:
    """The table is the code's; `make golden` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    head = text.partition(HEADER)[0]
    if request.config.getoption("--golden"):
        PAGE.write_text(head + written(), encoding="utf-8")
        text = head + written()

    assert text == head + written(), "docs/reasons.md is behind the code: make golden"


def test_every_kind_is_explained() -> None:
    """No reason is left out of the table."""
    assert {form.kind for form in FORMS} | OTHERS.keys() == set(Kind)
