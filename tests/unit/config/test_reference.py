"""The pages of fields and names are written from the structs."""

from bayplan.config.reference import page, policy_table
from bayplan.framework.registry import Registry
from tests.architecture.files import ROOT

DOCS = ROOT / "docs"


def test_the_page_of_fields_is_up_to_date() -> None:
    """`python -m bayplan.config.reference > docs/config-fields.md` makes it so."""
    assert (DOCS / "config-fields.md").read_text(encoding="utf-8") == page(Registry.installed())


def test_the_table_of_names_is_up_to_date() -> None:
    """The page about Policy files has it word for word."""
    assert policy_table() in (DOCS / "policy.md").read_text(encoding="utf-8")


def test_every_field_of_a_form_says_what_it_is() -> None:
    """No row of the three forms is empty."""
    forms = page(Registry.installed()).partition("## Arguments of plugins")[0]

    assert "|  |" not in forms
