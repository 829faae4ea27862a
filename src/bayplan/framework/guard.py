"""The guard: every call into a rule, whoever wrote it, and what its answer must look like.

A rule that raises, or answers with a wrong type, dtype, length or index, costs its pod an error and nothing else: a
PluginFault names the rule, the pod, the method, what was expected and what came.
Invariant: what comes out of here can be computed with without looking at it again.
Not here: in which order rules are asked (evaluate.py), and upstream's own check of normalised scores.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from bayplan.framework.checked import WHOLE, Misanswer, described, known_codes, short, whole_numbers
from bayplan.framework.plugin import Failed, Outcome, PodsMoved, Prepared, Rejected, Ruling, Scores, Skip

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.columns import Bools, Row
    from bayplan.cluster.view import View
    from bayplan.framework.profile import Instance

A = TypeVar("A")


class PluginFault(Exception):
    """A rule that raised, or gave an answer that is none."""

    def __init__(self, plugin: str, method: str, pod: str, problem: str) -> None:
        """Say which rule, asked what, about whom, and what is wrong."""
        self.plugin = plugin
        self.problem = f"{method}: {problem}"  # without the pod: the same for all pods
        super().__init__(f'plugin "{plugin}" failed at {method} for pod {pod}: {problem}')


class Guard:
    """Calls rules about one pod."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod

    def pre_enqueue(self, instance: Instance, view: View) -> Outcome | None:
        """Ask whether the pod may be tried."""
        try:
            found = instance.plugin.pre_enqueue(self.pod, view)  # asked of every pod that comes: no call in between
        except (Exception, SystemExit) as error:
            raise self._fault(instance, "pre_enqueue", raised(error)) from error
        if found is not None:
            self._is(instance, "pre_enqueue", found, (Outcome,), "an Outcome or None")
        return found

    def prepare(self, instance: Instance, part: object, view: View) -> Prepared[object] | Rejected | Failed:
        """Let a rule work out what it asks the columns with."""
        found = self._call(instance, "prepare", lambda: instance.plugin.prepare(part, view))
        self._is(instance, "prepare", found, (Prepared, Rejected, Failed), "Prepared, Rejected or Failed")
        return found

    def filter(self, instance: Instance, state: object, view: View) -> Ruling:
        """Ask which rows fit and why the others do not."""
        ruling: Ruling = self._call(instance, "filter", lambda: instance.plugin.filter(state, view))
        self._is(instance, "filter", ruling, (Ruling,), "a Ruling")
        try:
            known_codes(ruling.codes, len(view), len(ruling.outcomes))
        except Misanswer as problem:
            raise self._fault(instance, "filter", str(problem)) from None
        return ruling

    def with_pods(self, instance: Instance, state: object, view: View, row: Row, pods: PodsMoved) -> object:
        """Let a rule think of pods as on a row."""
        return self._call(instance, "with_pods", lambda: instance.plugin.with_pods(state, view, row, pods))

    def prepare_score(self, instance: Instance, state: object, view: View, feasible: Bools) -> object | Skip | Failed:
        """Let a rule work out what it scores with."""
        return self._call(instance, "prepare_score", lambda: instance.plugin.prepare_score(state, view, feasible))

    def score(self, instance: Instance, state: object, view: View, feasible: Bools) -> Scores:
        """Ask for each row's score."""
        found = self._call(instance, "score", lambda: instance.plugin.score(state, view, feasible))
        return self._column(instance, "score", found, len(view), WHOLE)

    def normalize(self, instance: Instance, state: object, view: View, scores: Scores, feasible: Bools) -> Scores:
        """Let a rule bring its scores into range."""
        found = self._call(instance, "normalize", lambda: instance.plugin.normalize(state, view, scores, feasible))
        return self._column(instance, "normalize", found, len(view), WHOLE)

    def reservation(self, instance: Instance, state: object, view: View, row: Row) -> object | None:
        """Ask what placing the pod on a row would take."""
        return self._call(instance, "reservation", lambda: instance.plugin.reservation(state, view, row))

    # -- what is wrong with an answer

    def _call(self, instance: Instance, method: str, call: Callable[[], A]) -> A:
        try:
            return call()
        except Misanswer as problem:
            raise self._fault(instance, method, str(problem)) from problem
        except (Exception, SystemExit) as error:
            raise self._fault(instance, method, raised(error)) from error

    def _is(self, instance: Instance, method: str, found: object, kinds: tuple[type, ...], expected: str) -> None:
        if not isinstance(found, kinds):
            raise self._fault(instance, method, f"expected {expected}, got {described(found)}")

    def _column(self, instance: Instance, method: str, found: object, rows: int, expected: str) -> Scores:
        try:
            return whole_numbers(found, rows, expected)
        except Misanswer as problem:
            raise self._fault(instance, method, str(problem)) from None

    def _fault(self, instance: Instance, method: str, problem: str) -> PluginFault:
        return PluginFault(instance.name, method, self.pod.key, problem)


def raised(error: BaseException) -> str:
    """Say what was raised and on which line of which file."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if frame.filename != __file__), None)
    where = f" ({last.filename.replace(chr(92), '/').rpartition('/')[2]}, line {last.lineno})" if last else ""
    text = short(" ".join(str(error).split()))
    return f"raised {type(error).__name__}: {text}{where}" if text else f"raised {type(error).__name__}{where}"
