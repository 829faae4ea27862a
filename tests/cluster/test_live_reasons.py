"""Why a pod waits: bayplan and kube-scheduler side by side on one cluster, under two names, in the same situations.

Condition and event are compared word for word.  kube-scheduler goes on to say what preemption would do; bayplan does
not preempt yet, so that part is left out of the comparison.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cluster.control_plane import ControlPlane, awaited, control_plane, kube_scheduler
from tests.cluster.live import (
    BAYPLAN,
    NAME,
    NODES,
    PODS,
    a_pod,
    await_bound,
    bayplan,
    condition_of,
    create,
    events_of,
    install,
    node_of,
    pods_of,
    refereed,
)
from tests.cluster.situations import SITUATIONS, TEXTS, asking, choices, nodes, running, storage

pytestmark = pytest.mark.slow

THEIRS = "theirs"
LEAST = 60
PREEMPTION = re.compile(r"(?<=\.) (preemption: .*|not found)$", re.DOTALL)


class Said(NamedTuple):
    """What a scheduler says of a pod."""

    node: str
    condition: tuple[str, str, str]
    events: frozenset[tuple[str, str, str]]


@pytest.fixture(name="plane", scope="module")
def _plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run both schedulers on one cluster."""
    folder: Path = tmp_path_factory.mktemp("reasons")
    with control_plane(folder, (BAYPLAN,)) as plane:
        install(plane)
        for node in nodes():
            create(plane, NODES, node)
        for path, thing in storage():
            create(plane, path, thing)
        for pod in running():
            create(plane, PODS, pod)
        with refereed(plane), kube_scheduler(plane, THEIRS), bayplan(plane):
            yield plane


@pytest.fixture(name="said", scope="module")
def _said(plane: ControlPlane) -> dict[tuple[int, str], Said]:
    """Put every situation to both, and keep what they say."""
    names = [
        (number, scheduler, create(plane, PODS, asking(situation, number, scheduler))["metadata"]["name"])
        for number, situation in enumerate(SITUATIONS)
        for scheduler in (NAME, THEIRS)
    ]

    def silent() -> list[str]:
        there = pods_of(plane)
        return [name for *_, name in names if not there[name]["status"].get("conditions")]

    awaited(lambda: not silent(), "each scheduler says something of each of its pods", 120)
    awaited(lambda: all(events_of(plane, name) for *_, name in names[-4:]), "events are there")
    return {
        (number, scheduler): Said(
            node_of(plane, name),
            _cut(condition_of(plane, name), name),
            frozenset(_cut(event, name) for event in events_of(plane, name)),
        )
        for number, scheduler, name in names
    }


def _cut(said: tuple[str, str, str], name: str) -> tuple[str, str, str]:
    """Leave out what preemption would do, and the pod's own name."""
    return said[0], said[1], PREEMPTION.sub("", said[2]).replace(name, "the-pod")


def test_there_are_enough_situations() -> None:
    """Each has a sentence of its own."""
    assert len({one.sentence for one in SITUATIONS}) == len(SITUATIONS) >= LEAST


@pytest.mark.parametrize("number", [pytest.param(number, id=one.sentence) for number, one in enumerate(SITUATIONS)])
def test_both_say_the_same(number: int, said: dict[tuple[int, str], Said]) -> None:
    """The pod is nowhere, and condition and event carry the same words."""
    ours, theirs = said[number, NAME], said[number, THEIRS]

    assert theirs.node == "", "kube-scheduler places it: this is no such situation"
    assert ours.condition == theirs.condition
    assert ours.events == theirs.events


def test_every_reason_is_met(said: dict[tuple[int, str], Said]) -> None:
    """Each that a pod can get at all, in at least one situation."""
    conditions = [one.condition[2] for one in said.values()]

    assert [text for text in TEXTS if not any(text in condition for condition in conditions)] == []


@pytest.mark.parametrize(("node", "pod"), [pytest.param(node, pod, id=rule) for rule, node, pod in choices()])
def test_each_rule_has_a_say(
    node: str, pod: dict[str, Any], plane: ControlPlane, said: dict[tuple[int, str], Said]
) -> None:
    """It leaves one node, and there the pod goes."""
    assert said, "every situation was put before a pod was placed"
    name = create(plane, PODS, a_pod(f"to-{node}-{len(pods_of(plane))}", **pod))["metadata"]["name"]
    await_bound(plane, name)

    assert node_of(plane, name) == node
