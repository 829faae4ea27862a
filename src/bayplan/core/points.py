"""The points around a placement: what a rule may say before a pod is sent off to its node, and in which order pods go.

A rule that acts at reserve, permit or queueSort has the method of the protocol; what it does elsewhere does not matter.
Invariant: whatever a rule raises or returns here, it costs its pod an error and nothing else.
Not here: filtering and scoring (framework).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from bayplan.api.objects import Pod
from bayplan.framework.guard import PluginFault, raised
from bayplan.framework.plugin import Outcome
from bayplan.framework.profile import Instance, Profile

R = TypeVar("R")


class Wait(NamedTuple):
    """A permit that has not been given yet."""

    seconds: int  # how long it is waited for


class Permitted(NamedTuple):
    """A pod that waits for permission."""

    uid: str
    pod: Pod
    node: str
    rules: tuple[str, ...]  # for whose


class Gatehouse(Protocol):
    """What a permit rule sees of those who wait, and what it may do with them."""

    def waiting(self) -> Iterator[Permitted]: ...
    def allow(self, uid: str, rule: str) -> None: ...
    def reject(self, uid: str, rule: str, text: str) -> None: ...


@runtime_checkable
class Reserves(Protocol):
    """A rule that takes something for a pod, and gives it back when the pod does not go there after all."""

    def reserve(self, pod: Pod, node: str) -> Outcome | None: ...
    def unreserve(self, pod: Pod, node: str) -> None: ...


@runtime_checkable
class Permits(Protocol):
    """A rule that lets a pod go, has it wait, or turns it down."""

    def permit(self, pod: Pod, node: str, gatehouse: Gatehouse) -> Outcome | Wait | None: ...


@runtime_checkable
class Sorts(Protocol):
    """A rule that orders the queue: the smallest key goes first."""

    def queue_key(self, pod: Pod, since: float) -> tuple[float, ...]: ...


class Around:
    """The rules of a profile that have a say around a placement, each list in order; found once."""

    def __init__(self, profile: Profile) -> None:
        reserve, permit = profile.points.get("reserve", ()), profile.points.get("permit", ())
        self.profile = profile
        self.reserving = [(one, one.plugin) for one in reserve if isinstance(one.plugin, Reserves)]
        self.permitting = [(one, one.plugin) for one in permit if isinstance(one.plugin, Permits)]


def sorting(profile: Profile) -> Callable[[Pod, float], tuple[float, ...]]:
    """Return what orders the queue: by priority, then by time, unless a rule says otherwise."""
    for instance in profile.points.get("queueSort", ()):
        if isinstance(instance.plugin, Sorts):
            return instance.plugin.queue_key
    return lambda pod, since: (-(pod.spec.priority or 0), since)


def guarded(instance: Instance, method: str, pod: Pod, call: Callable[[], R]) -> R:
    """Call a rule; whatever it raises becomes a PluginFault."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        raise PluginFault(instance.name, method, pod.key, raised(error)) from error
