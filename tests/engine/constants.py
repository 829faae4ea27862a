"""Constants: what chooses between ways of computing one answer, drawn anew for each history.

Small clusters would otherwise never take the ways that large ones do.  Each constant gives a history the name of a path
that its decisions are counted under.
Not here: what the ways are (framework/settings.py and the modules named below).
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from bayplan.cluster import tallies
from bayplan.cluster.columns import RowLog
from bayplan.cluster.table import Table
from bayplan.framework import groups, own
from bayplan.framework.settings import Settings
from tests.parity.topics.draw import Draw

DOMAINS: Final = {"always": 0.0, "few": 16.0, "up to a third": 3.0, "never": math.inf}
SCALAR: Final = {"vector": 0, "usual": 8, "scalar": 1 << 20}
BLOCKS: Final = {"small": 8, "middling": 32, "large": 8192}
LOGS: Final = {"short": 6, "middling": 64, "long": 1 << 14}
KEPT: Final = {"few": 5, "many": 1 << 12}
TOGETHER: Final = {"alone": 0, "together": 1 << 20}
BUDGETS: Final = {"tight": (2048, 16), "ample": (64 << 20, 512)}


class Constants(NamedTuple):
    """What one history runs with."""

    settings: Settings
    log_length: int
    changes_kept: int
    paths: tuple[str, ...]

    def shorten(self, table: Table) -> None:
        """Give a new table logs of this length."""
        table.row_log = RowLog(self.log_length)
        table.node_log = RowLog(self.log_length)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let whoever follows changes, flips and moves keep only so many."""
        places = ((tallies, "CHANGES_KEPT"), (own, "FLIPS_KEPT"), (groups, "MOVES_KEPT"), (groups, "VIEWS_KEPT"))
        before = [getattr(module, name) for module, name in places]
        for module, name in places:
            setattr(module, name, self.changes_kept)
        try:
            yield
        finally:
            for (module, name), value in zip(places, before, strict=True):
                setattr(module, name, value)


def constants_of(draw: Draw) -> Constants:
    """Draw them."""
    domains, scalar, block = draw.choice(list(DOMAINS)), draw.choice(list(SCALAR)), draw.choice(list(BLOCKS))
    log, kept, budget = draw.choice(list(LOGS)), draw.choice(list(KEPT)), draw.choice(list(BUDGETS))
    together = draw.choice(list(TOGETHER))
    base, per_row = BUDGETS[budget]
    settings = Settings(
        rows_per_domain=DOMAINS[domains],
        scalar_rows=SCALAR[scalar],
        block=BLOCKS[block],
        together=TOGETHER[together],
        bytes_base=base,
        bytes_per_row=per_row,
    )
    paths = (
        f"domains by id: {domains}",
        f"refresh: {scalar}",
        f"blocks: {block}",
        f"own columns: {together}",
        f"row log: {log}",
        f"changes kept: {kept}",
        f"byte budget: {budget}",
    )
    return Constants(settings, LOGS[log], KEPT[kept], paths)


def all_paths() -> list[str]:
    """Return the name of every path that a long run must take."""
    groups_of: dict[str, Iterable[str]] = {
        "domains by id": DOMAINS,
        "refresh": SCALAR,
        "blocks": BLOCKS,
        "own columns": TOGETHER,
        "row log": LOGS,
        "changes kept": KEPT,
        "byte budget": BUDGETS,
    }
    return [f"{what}: {name}" for what, names in groups_of.items() for name in names]
