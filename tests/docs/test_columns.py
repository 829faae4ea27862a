"""docs/columns.md explains every column as the code declares it."""

import numpy as np
import pytest

from bayplan.cluster.columns import Columns
from bayplan.cluster.schema import ASKED_FOR, COLUMNS, dictionary
from bayplan.cluster.table import Table
from tests.architecture.files import ROOT

PAGE = ROOT / "docs" / "columns.md"
MARK = "-->\n\n"


def test_the_page_explains_every_column(request: pytest.FixtureRequest) -> None:
    """The tables are the code's; `make golden` writes them."""
    text = PAGE.read_text(encoding="utf-8")
    head = text.partition(MARK)[0] + MARK
    if request.config.getoption("--golden"):
        PAGE.write_text(head + dictionary(), encoding="utf-8")
        text = head + dictionary()

    assert text == head + dictionary(), "docs/columns.md is behind the code: make golden"


def test_there_is_no_column_that_is_not_declared() -> None:
    """What a table allocates is what the schema says, dtype and axes included."""
    columns = Columns()
    kept = {name: value for name, value in vars(columns).items() if isinstance(value, np.ndarray)}
    floats = kept.pop("floats")

    assert len(floats) == sum(len(column) for column in kept.values() if column.base is floats)
    assert {name: (value.dtype, value.ndim) for name, value in kept.items()} == {
        column.name: (np.dtype(column.dtype), len(column.axes)) for column in COLUMNS
    }


def test_a_writer_is_a_method_of_the_table() -> None:
    """Whoever looks for what writes a column finds it by its name."""
    writers = {writer for column in (*COLUMNS, *ASKED_FOR) for writer in column.writer.split(", ")}

    assert [writer for writer in writers if not callable(getattr(Table, writer, None))] == []
