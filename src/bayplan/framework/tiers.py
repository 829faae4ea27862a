"""Tiers: what a profile of the batch lane is made of: actions in order, and plugins that vote, tier by tier.

A plugin votes in families (which job first, which victims, ...); each family has a switch at each place where the
plugin stands.  The names are kube-batch's, so that its files work unchanged.
Invariant: every field has its value; nothing is left to be filled in by who reads it.
Not here: reading files (`config/batch.py`), and how votes are counted (the batch lane).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from bayplan.api.durations import Duration

Behaviour: TypeAlias = Literal["bayplan", "kube-batch"]
Form: TypeAlias = Literal["flat", "tiers"]

SCHEDULER_NAME: Final = "kube-batch"  # whose pods, where nobody says it
DEFAULT_QUEUE: Final = "default"
PERIOD: Final = Duration.seconds(1)

ACTIONS: Final = ("reclaim", "allocate", "backfill", "preempt")
PLUGINS: Final = ("gang", "priority", "drf", "proportion", "predicates", "nodeorder", "conformance")
ARGUMENTS: Final[Mapping[str, Mapping[str, type[int | bool]]]] = MappingProxyType(
    {
        "nodeorder": dict.fromkeys(
            (
                "leastrequested.weight",
                "mostrequested.weight",
                "nodeaffinity.weight",
                "podaffinity.weight",
                "balancedresource.weight",
            ),
            int,
        ),
        "predicates": dict.fromkeys(
            ("predicate.MemoryPressureEnable", "predicate.DiskPressureEnable", "predicate.PIDPressureEnable"), bool
        ),
    }
)
_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class TierPlugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plugin where it stands in a tier: in which families it votes there, and its arguments."""

    name: Annotated[str, Meta(description="the plugin's name, or module:Class")]
    enable_job_order: Annotated[bool, Meta(description="which job of a queue comes first")] = True
    enable_job_ready: Annotated[bool, Meta(description="whether a job has enough to start")] = True
    enable_job_pipelined: Annotated[bool, Meta(description="or will have, once room is released")] = True
    enable_task_order: Annotated[bool, Meta(description="which task of a job comes first")] = True
    enable_preemptable: Annotated[bool, Meta(description="who may be evicted within a queue")] = True
    enable_reclaimable: Annotated[bool, Meta(description="who may be evicted for another queue")] = True
    enable_queue_order: Annotated[bool, Meta(description="which queue comes first")] = True
    enable_predicate: Annotated[bool, Meta(description="which nodes are possible")] = True
    enable_node_order: Annotated[bool, Meta(description="which of them is best")] = True
    arguments: Annotated[dict[str, str], Meta(description="what else the plugin is told, as texts")] = {}

    def number(self, argument: str, default: int) -> int:
        """Return an argument that is a whole number; one that is not given is its default."""
        given = self.arguments.get(argument)
        return default if given is None else int(given)

    def truth(self, argument: str, *, default: bool) -> bool:
        """Return an argument that is true or false; one that is not given is its default."""
        given = self.arguments.get(argument)
        found = None if given is None else as_truth(given)
        return default if found is None else found


class Tier(msgspec.Struct, frozen=True):
    """Plugins that vote together, in order."""

    plugins: Annotated[tuple[TierPlugin, ...], Meta(description="who votes here, in the order asked")] = ()


class BatchConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """All that a profile of the batch lane is configured by."""

    scheduler_name: str = SCHEDULER_NAME
    behaviour: Behaviour = "bayplan"
    form: Form = "flat"
    actions: tuple[str, ...]
    tiers: tuple[Tier, ...]
    period: Duration = PERIOD
    default_queue: str = DEFAULT_QUEUE
    namespace_as_queue: bool

    @property
    def plugins(self) -> Iterator[TierPlugin]:
        """Go through the plugins in the order in which they are asked."""
        return (plugin for tier in self.tiers for plugin in tier.plugins)

    @property
    def allocates_empty_pods(self) -> bool:
        """Say whether allocate takes pods that request nothing: in the flat form, where no backfill looks for them."""
        return self.form == "flat" and "backfill" not in self.actions


def as_truth(text: str) -> bool | None:
    """Read true or false as kube-batch does; None is neither.

    >>> as_truth("T"), as_truth("0"), as_truth("yes")
    (True, False, None)
    """
    return _TRUTHS.get(text)
