"""The pages of fields and names are written from the structs."""

from bayplan.config.batch import DOCUMENTED
from bayplan.config.reference import argument_table, page, policy_table
from bayplan.framework.registry import Registry
from tests.architecture.files import ROOT

DOCS = ROOT / "docs"


def test_the_page_of_fields_is_up_to_date() -> None:
    """`python -m bayplan.config.reference > docs/config-fields.md` makes it so."""
    assert (DOCS / "config-fields.md").read_text(encoding="utf-8") == page(Registry.installed())


def test_the_table_of_names_is_up_to_date() -> None:
    """The page about Policy files has it word for word."""
    assert policy_table() in (DOCS / "policy.md").read_text(encoding="utf-8")


def test_the_table_of_batch_arguments_is_up_to_date() -> None:
    """The page about kube-batch's files has it word for word, and the map that is in force without a file."""
    page = (DOCS / "batch-config.md").read_text(encoding="utf-8")

    assert argument_table() in page
    assert "\n".join(f'{key}: "{value}"' for key, value in DOCUMENTED.items()) in page


def test_every_field_of_a_form_says_what_it_is() -> None:
    """No row of the forms is empty."""
    forms = page(Registry.installed()).partition("## Arguments of plugins")[0]

    assert "|  |" not in forms
