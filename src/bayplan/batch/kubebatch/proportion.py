"""proportion as kube-batch has it: who asks for more of anything than its share is never met.

A queue has enough only when it has all that it deserves of everything, and gives back only what leaves it that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.batch.amounts import Amount, Slack, dominant_share
from bayplan.batch.plugins.proportion import Portion, Proportion, queue_of

if TYPE_CHECKING:
    from bayplan.batch.tasks import Task


class KubeBatchProportion(Proportion):
    """Shares as kube-batch divides them."""

    def _divide(self) -> None:
        divide(self.session.whole, self.portions, self.session.slack)
        for portion in self.portions.values():
            self._refresh(portion)

    def _refresh(self, portion: Portion) -> None:
        portion.share = dominant_share(portion.allocated, portion.deserved)

    def _has_enough(self, portion: Portion) -> bool:
        return portion.deserved.fits(portion.allocated, self.session.slack)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Name tasks without which their queues would still have what they deserve."""
        left: dict[str, Amount] = {}
        victims = []
        for task in candidates:
            name = queue_of(task)
            portion, rest = self.portions[name], left.get(name)
            if rest is None:
                rest = left[name] = portion.allocated.copy()
            if rest.is_below(task.charge.request, self.session.slack):
                continue
            rest.take(task.charge.request)
            if portion.deserved.fits(rest, self.session.slack):
                victims.append(task)
        return victims


def divide(whole: Amount, portions: dict[str, Portion], slack: Slack) -> None:
    """Divide the cluster by weight, round by round: who has more than it asks for gives back the rest."""
    remaining, unmet = whole.copy(), dict(portions)
    while True:
        weights = sum(portion.weight for portion in unmet.values())
        if weights <= 0:
            return
        given, returned = Amount(), Amount()
        for name, portion in list(unmet.items()):
            before = portion.deserved.copy()
            portion.deserved.add(remaining.scaled(portion.weight / weights))
            if portion.request.is_below(portion.deserved, slack):
                portion.deserved = portion.deserved.at_most(portion.request)
                del unmet[name]
            _compare(portion.deserved, before, given, returned)
        remaining.take(given).add(returned)
        if remaining.is_empty(slack):
            return


def _compare(now: Amount, before: Amount, given: Amount, returned: Amount) -> None:
    """Add up what an amount grew and shrank by; of other resources only what it names now."""
    for name in now.names():
        change = now.get(name) - before.get(name)
        (given if change > 0 else returned).add(Amount.named(name, abs(change)))
