"""What turns say, as metrics and log lines."""

import logging

import pytest

from bayplan.api.messages import Bind, Ended, Ending, Seen
from bayplan.config.profiles import profiles
from bayplan.core.scheduler import Core, Turn
from bayplan.framework.registry import Registry
from bayplan.serve import metrics
from bayplan.serve.metrics import Metrics
from bayplan.serve.observer import Observer
from tests.kit import a_pod, node
from tests.unit.serve.test_metrics import scraped


def a_core() -> Core:
    """Return a core with the default profile."""
    return Core(profiles(None, Registry.installed()))


def lived(*, legacy: bool = False) -> tuple[Metrics, Core]:
    """Let one pod be bound on its first attempt and another find no room."""
    numbers, core = Metrics(legacy=legacy), a_core()
    observer = Observer(numbers)
    observer.looks_at(core)
    events = [Seen(thing=thing) for thing in (node("n", cpu=2), a_pod("web", cpu=1), a_pod("whale", cpu=9))]
    turn = core.turn(events, 1000, 10_000)
    observer.turned(turn, events, 4_000_000)
    (bind,) = (effect for effect in turn.effects if isinstance(effect, Bind))
    ended = [Ended(write=bind.write, ending=Ending.DONE)]
    observer.turned(core.turn(ended, 1030, 10_000), ended, 1_000_000)
    return numbers, core


def test_attempts_are_counted_by_what_came_of_them() -> None:
    """With how long each took, from its beginning to its end."""
    found = scraped(lived()[0])
    of = "{'profile': 'default-scheduler', 'result': '%s'}"

    assert found["scheduler_schedule_attempts_total" + of % "scheduled"] == 1
    assert found["scheduler_schedule_attempts_total" + of % "unschedulable"] == 1
    assert found["scheduler_scheduling_attempt_duration_seconds_sum" + of % "scheduled"] == pytest.approx(0.03)
    assert found["scheduler_pod_scheduling_sli_duration_seconds_sum{'attempts': '1'}"] == pytest.approx(0.03)
    assert found["scheduler_pod_scheduling_attempts_count"] == 1
    assert found["scheduler_scheduling_algorithm_duration_seconds_count"] == 2
    assert found["bayplan_turn_duration_seconds_sum"] == pytest.approx(0.005)
    assert found["bayplan_bind_duration_seconds_count"] == 1
    assert found["bayplan_events_total{'event': 'seen'}"] == 3
    assert [found[f"bayplan_plans_total{{'answer': '{answer}'}}"] for answer in ("made", "reused", "given up")] == [
        2, 0, 0,
    ]  # fmt: skip
    assert found["bayplan_plan_bytes"] > 0


def test_who_waits_is_looked_up() -> None:
    """Where, and for which rule."""
    numbers, core = lived()
    found = scraped(numbers)

    assert found["scheduler_pending_pods{'queue': 'unschedulable'}"] == 1
    assert found["scheduler_pending_pods{'queue': 'active'}"] == 0
    of = "{'plugin': 'NodeResourcesFit', 'profile': 'default-scheduler'}"
    assert found["scheduler_unschedulable_pods" + of] == 1
    assert found["scheduler_cache_size{'type': 'nodes'}"] == 1
    assert found["scheduler_cache_size{'type': 'assumed_pods'}"] == 1
    core.turn([Seen(thing=a_pod("gated", gates="later"))], 2000, 1000)

    assert scraped(numbers)["scheduler_pending_pods{'queue': 'gated'}"] == 1


def test_the_oldest_names_are_filled_when_asked_for() -> None:
    """In microseconds."""
    found = scraped(lived(legacy=True)[0])

    assert found["scheduler_e2e_scheduling_latency_microseconds_sum"] == pytest.approx(30_000)
    assert found["scheduler_scheduling_algorithm_latency_microseconds_sum"] == pytest.approx(4000)
    assert found["scheduler_binding_latency_microseconds_count"] == 1
    assert "scheduler_e2e_scheduling_latency_microseconds_count" not in scraped(lived()[0])


def test_an_exception_of_our_own_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Counted, and in the log with where it was."""
    numbers = Metrics()
    turn = Turn(
        number=3, now_ms=0, budget=1, spent=1, effects=(), is_idle=True, wake_at_ms=None, fault="KeyError: 'x'",
        notes=("set aside Node n: no room",),
    )  # fmt: skip
    with caplog.at_level(logging.INFO, "bayplan"):
        Observer(numbers).turned(turn, [], 1000)

    assert numbers.count(metrics.FAULTS) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "an exception of bayplan's own ended a turn; the table is built anew",
        "noted",
    ]
