"""A history: steps that happen to a cluster, and after each the questions whose answers are compared.

A step is a word and its luck, so that the same history can be told again, or with steps left out.  At each state a
table is built afresh from the objects; while pods are placed one after another, each is placed on that table, too, as
building it anew would do: it arrives last.
Not here: how many histories, and what is printed (check.py).
"""

import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from bayplan.api.objects import Pod, uid_of
from bayplan.framework.verdict import Verdict
from tests.engine.asking import Fresh, Watched, differences, fresh_of, remembered_differences
from tests.engine.changes import CHANGES, World
from tests.engine.constants import constants_of
from tests.engine.pool import Setting, pool_of
from tests.parity.topics.draw import Draw

Step: TypeAlias = tuple[str, int]
STATES: Final = 70
BURSTS: Final = {1: 3.0, 2: 2.0, 4: 2.0, 12: 1.0, 30: 0.5}
"""How many pods alike are placed in a row after a state's questions."""


class Failure(NamedTuple):
    """Where a history went wrong, and how."""

    step: int
    word: str
    about: str
    differences: tuple[str, ...]


class Asked(NamedTuple):
    """A question and its answer, for whoever else wants to judge it."""

    world: World
    setting: Setting
    pod: Pod
    verdict: Verdict


Witness: TypeAlias = Callable[[Asked], Sequence[str]]


def steps_of(seed: str) -> list[Step]:
    """Return the steps of a history: mostly one change at a time, at times several before anybody asks."""
    draw = Draw(seed)
    words = {word: share for word, (_, share) in CHANGES.items()}
    return [(draw.weighted(words), draw.randrange(1 << 30)) for _ in range(STATES)]


class History:
    """One cluster's life."""

    def __init__(self, seed: str, steps: Sequence[Step], *, witness: Witness | None = None) -> None:
        draw = Draw(seed)
        self.constants = constants_of(draw)
        self.world = World(draw, pool_of(draw), self.constants.shorten)
        self.steps = steps
        self.rules = Watched(
            self.world.table, self.world.reader, seed=draw.randrange(100), settings=self.constants.settings
        )
        self.witness = witness
        self.counts: Counter[str] = Counter()
        self._about = "nothing yet"

    def live(self) -> Failure | None:
        """Go through all steps; return the first difference."""
        with self.constants.kept():
            return self._live()

    def _live(self) -> Failure | None:
        step, word = 0, ""
        try:
            for step, (word, luck) in enumerate(self.steps):
                draw = Draw(luck)
                CHANGES[word][0](self.world, draw)
                if draw.chance(0.25):
                    continue  # several changes before anybody asks
                found = next(self._decide(draw), None)
                if found is not None:
                    return Failure(step, word, self._about, found)
        except Exception:  # noqa: BLE001 - whatever is raised is a finding
            return Failure(step, word, self._about, tuple(traceback.format_exc().splitlines()[-12:]))
        return None

    def _decide(self, draw: Draw) -> Iterator[tuple[str, ...]]:
        """Ask about some pods, then place one, or several alike; yield differences."""
        world, fresh = self.world, fresh_of(self.world)
        pod, setting = self._question(draw)
        for _ in range(draw.randint(1, 5)):
            _, found = self._ask(pod, setting, fresh)
            if found:
                yield found
            if draw.chance(0.3):  # the same pod, the other profile
                setting = world.pool.settings[setting is world.pool.settings[0]]
            else:
                pod, setting = self._question(draw)
        for _ in range(draw.weighted(BURSTS)):
            verdict, found = self._ask(pod, setting, fresh)
            if found:
                yield found
            if verdict.row is None:
                return
            node = world.table.nodes[verdict.row]
            assert node is not None
            reservations = tuple(verdict.reservations())
            world.assume(pod, verdict.row, reservations)
            if reservations:
                return  # what was taken is older than the pod: build anew
            fresh.table.drop_nomination(uid_of(pod))
            fresh.table.place(pod, fresh.table.row_of[node.metadata.name], is_assumed=True)
            pod = world.new_pod(pod)

    def _question(self, draw: Draw) -> tuple[Pod, Setting]:
        world, setting = self.world, draw.choice(self.world.pool.settings)
        nominated = [one.pod for one in world.table.nominations.values() if world.waits(one.pod)]
        waiting = [pod for pod in world.waiting if world.waits(pod)]
        if nominated and draw.chance(0.1):
            return draw.choice(nominated), setting
        if waiting and draw.chance(0.25):
            return draw.choice(waiting), setting
        return world.new_pod(world.template(draw)), setting

    def _ask(self, pod: Pod, setting: Setting, fresh: Fresh) -> tuple[Verdict, tuple[str, ...]]:
        """Ask, count and compare."""
        which = self.world.pool.settings.index(setting)
        self._about = f"pod {pod.metadata.name}, profile {which}"
        start = self.rules.start
        verdict = self.rules.ask(pod, setting.profile)
        self.counts["decisions"] += 1
        self.counts[f"outcome: {_outcome(verdict)}"] += 1
        self.counts["answered from a plan"] += self.rules.planned
        self.counts["answered from a remembered plan"] += self.rules.was_there
        self.counts.update(self.constants.paths)
        theirs = fresh.rules.ask(pod, setting.profile)
        found = [
            *differences((start, self.rules.start), verdict, theirs, fresh),
            *remembered_differences(self.rules, theirs, fresh),
            *(self.witness(Asked(self.world, setting, pod, verdict)) if self.witness is not None else ()),
        ]
        return verdict, tuple(found)


def _outcome(verdict: Verdict) -> str:
    if verdict.row is not None:
        return "placed"
    if verdict.error is not None:
        return "error"
    return "fits nowhere" if verdict.evaluation.pre_filter.code == "Success" else "rejected"
