"""Ask the one question: where should this pod go, by this profile, on the table as it is.

Lanes, `place`, parity, benchmarks, explain and the engine check all ask it here.
Not here: how rows are evaluated (evaluate.py) and what is remembered (plans.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Row
from bayplan.framework.evaluate import Attempt
from bayplan.framework.verdict import Evaluation, Verdict

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.reading import Reader
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Profile


class Rules:
    """A table and the way to ask about it; equals take turns from a start that moves on with each decision."""

    def __init__(self, table: Table, reader: Reader, *, seed: int = 0) -> None:
        self.table = table
        self.reader = reader
        self.start = seed                                  # the row from which the first best is looked for

    def ask(self, pod: Pod, profile: Profile) -> Verdict:
        """Choose a row for a pod, or say why there is none."""
        evaluation = Attempt(self.table, profile, pod, self.reader.shape(pod)).evaluate()
        row = self._chosen(evaluation)
        score = None if row is None else int(evaluation.totals[row])
        return Verdict(row, score, lambda: evaluation)

    def _chosen(self, evaluation: Evaluation) -> Row | None:
        if evaluation.error is not None:
            return None
        if evaluation.nominated is not None:
            return evaluation.nominated
        if not evaluation.feasible.any():
            return None
        row = first_best(evaluation.totals, evaluation.feasible, self.start)
        self.start = row + 1
        return row


def first_best(totals: Int64s, feasible: Bools, start: int) -> Row:
    """Return the first row with the highest total, looking from a start and then around."""
    masked = np.where(feasible, totals, np.iinfo(np.int64).min)        # (rows,)
    turned = np.roll(masked, -(start % len(masked)))
    return Row((int(turned.argmax()) + start) % len(masked))
