"""Metrics: what is counted and measured, under kube-scheduler's names where the meaning is the same.

METRICS is the one list, and `docs/metrics.md` is written from it.  What changes with every pod is kept in plain numbers
here and turned into prometheus_client's families when somebody asks; what can be looked up is looked up then.
Invariant: nothing is counted or shown that is not in the list.
Not here: who may ask (health.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

Labels: TypeAlias = tuple[str, ...]
Reading: TypeAlias = Callable[[], Mapping[Labels, float]]
Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

NONE: Final[Labels] = ()


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Return buckets that grow by a factor.

    >>> exponential(0.001, 2, 4)
    (0.001, 0.002, 0.004, 0.008)
    """
    return tuple(first * factor**place for place in range(count))


class Metric(NamedTuple):
    """Something that is counted or measured."""

    name: str
    kind: Kind
    meaning: str
    labels: Labels = ()
    buckets: tuple[float, ...] = ()


ATTEMPTS: Final = Metric(
    "scheduler_schedule_attempts_total",
    "counter",
    "Attempts to place a pod, by what came of them.",
    ("result", "profile"),
)
ATTEMPT_SECONDS: Final = Metric(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "From when a pod is taken out of the queue until its binding is done, or the attempt has failed.",
    ("result", "profile"),
    exponential(0.001, 2, 15),
)
ALGORITHM_SECONDS: Final = Metric(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "Choosing a node: the time of a turn, shared among the attempts that it made.",
    (),
    exponential(0.001, 2, 15),
)
SLI_SECONDS: Final = Metric(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "From when a pod could first be tried until it is bound, by how many attempts that took.",
    ("attempts",),
    exponential(0.01, 2, 20),
)
POD_ATTEMPTS: Final = Metric(
    "scheduler_pod_scheduling_attempts", "histogram", "Attempts that a bound pod took.", (), exponential(1, 2, 5)
)
PENDING: Final = Metric("scheduler_pending_pods", "gauge", "Pods that wait, by where.", ("queue",))
UNSCHEDULABLE: Final = Metric(
    "scheduler_unschedulable_pods",
    "gauge",
    "Pods that wait for a change, by each plugin that turned them down.",
    ("plugin", "profile"),
)
CACHE: Final = Metric("scheduler_cache_size", "gauge", "What the table holds.", ("type",))
LEADS: Final = Metric(
    "leader_election_master_status", "gauge", "1 while the lease is held, by the lease's name.", ("name",)
)
TURN_SECONDS: Final = Metric(
    "bayplan_turn_duration_seconds",
    "histogram",
    "The thread's own time for a turn; no request is answered meanwhile.",
    (),
    exponential(0.0005, 2, 12),
)
TURN_UNITS: Final = Metric("bayplan_turn_units_total", "counter", "Units of work done in turns.")
BUDGET: Final = Metric("bayplan_turn_budget_units", "gauge", "Units of work that the next turn gets at most.")
INBOX: Final = Metric("bayplan_inbox_events", "gauge", "Events that were heard and wait for a turn.")
EVENTS: Final = Metric("bayplan_events_total", "counter", "Events taken in, by what they are.", ("event",))
AGE: Final = Metric(
    "bayplan_table_age_seconds", "gauge", "How long a kind has not been watched; 0 while it is.", ("kind",)
)
PLANS: Final = Metric(
    "bayplan_plans_total",
    "counter",
    "Answers from a plan: made anew, or reused; and plans given up for want of room.",
    ("answer",),
)
PLAN_BYTES: Final = Metric("bayplan_plan_bytes", "gauge", "Memory that plans take.")
WRITES: Final = Metric(
    "bayplan_writes_total", "counter", "Bindings and other writes that ended, by how.", ("write", "ending")
)
WRITES_WAITING: Final = Metric("bayplan_writes_waiting", "gauge", "Writes that are asked for and have not ended.")
BIND_SECONDS: Final = Metric(
    "bayplan_bind_duration_seconds",
    "histogram",
    "From when a binding is asked for until its answer.",
    (),
    exponential(0.001, 2, 15),
)
QUARANTINED: Final = Metric(
    "bayplan_quarantined_objects", "gauge", "Objects that could not be read, and are left out.", ("kind",)
)
FAULTS: Final = Metric("bayplan_faults_total", "counter", "Turns that an exception of bayplan's own has ended.")
LINES_LOST: Final = Metric("bayplan_log_lines_lost_total", "counter", "Log lines that could not be written.")
EVENTS_LOST: Final = Metric(
    "bayplan_recorded_events_lost_total", "counter", "Events for users that could not be written, or were too many."
)

_LEGACY_BUCKETS: Final = exponential(1000, 2, 15)
E2E_MICROSECONDS: Final = Metric(
    "scheduler_e2e_scheduling_latency_microseconds",
    "histogram",
    "From when a pod is taken out of the queue until it is bound; with --legacy-metrics.",
    (),
    _LEGACY_BUCKETS,
)
ALGORITHM_MICROSECONDS: Final = Metric(
    "scheduler_scheduling_algorithm_latency_microseconds",
    "histogram",
    "Choosing a node; with --legacy-metrics.",
    (),
    _LEGACY_BUCKETS,
)
BINDING_MICROSECONDS: Final = Metric(
    "scheduler_binding_latency_microseconds",
    "histogram",
    "From when a binding is asked for until its answer; with --legacy-metrics.",
    (),
    _LEGACY_BUCKETS,
)

LEGACY: Final = (E2E_MICROSECONDS, ALGORITHM_MICROSECONDS, BINDING_MICROSECONDS)
METRICS: Final = (
    ATTEMPTS,
    ATTEMPT_SECONDS,
    ALGORITHM_SECONDS,
    SLI_SECONDS,
    POD_ATTEMPTS,
    PENDING,
    UNSCHEDULABLE,
    CACHE,
    LEADS,
    TURN_SECONDS,
    TURN_UNITS,
    BUDGET,
    INBOX,
    EVENTS,
    AGE,
    PLANS,
    PLAN_BYTES,
    WRITES,
    WRITES_WAITING,
    BIND_SECONDS,
    QUARANTINED,
    FAULTS,
    LINES_LOST,
    EVENTS_LOST,
    *LEGACY,
)


class Histogram:
    """How often which bucket was met, and the sum."""

    __slots__ = ("buckets", "counts", "sum")

    def __init__(self, buckets: Sequence[float]) -> None:
        self.buckets = buckets
        self.counts = [0] * (len(buckets) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Take in a value, once or more often."""
        self.counts[bisect_left(self.buckets, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    def cumulative(self) -> Iterator[tuple[str, float]]:
        """Return each bucket's bound and how many values are not above it."""
        total = 0
        for bound, count in zip((*self.buckets, float("inf")), self.counts, strict=True):
            total += count
            yield str(floatToGoString(bound)), total  # type: ignore[no-untyped-call]  # it is not annotated


class Metrics(Collector):
    """All of a daemon's numbers."""

    def __init__(self, *, legacy: bool = False) -> None:
        self.legacy = legacy
        self._counts: dict[Metric, dict[Labels, float]] = {}
        self._histograms: dict[Metric, dict[Labels, Histogram]] = {}
        self._readings: dict[Metric, Reading] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        for one in METRICS:
            if one.kind == "histogram" and not one.labels and (legacy or one not in LEGACY):
                self.histogram(one)  # shown from the start, with nothing in it
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(self)

    # -- taking in

    def add(self, metric: Metric, labels: Labels = NONE, amount: float = 1) -> None:
        """Count something."""
        counts = self._counts.setdefault(metric, {})
        counts[labels] = counts.get(labels, 0) + amount

    def histogram(self, metric: Metric, labels: Labels = NONE) -> Histogram:
        """Return where a metric's values go."""
        there = self._histograms.setdefault(metric, {})
        found = there.get(labels)
        if found is None:
            found = there[labels] = Histogram(metric.buckets)
        return found

    def read(self, metric: Metric, reading: Reading) -> None:
        """Have a metric looked up when somebody asks."""
        self._readings[metric] = reading

    def count(self, metric: Metric, labels: Labels = NONE) -> float:
        """Return how much was counted."""
        return self._counts.get(metric, {}).get(labels, 0)

    # -- giving out

    def collect(self) -> Iterator[Family]:
        """Give every metric that has a value, in the order of the list."""
        for metric in METRICS:
            reading = self._readings.get(metric)
            values = self._counts.get(metric, {}) if reading is None else reading()
            if metric.kind == "histogram":
                yield from self._histogram_family(metric)
            elif metric.kind == "counter":
                counter = CounterMetricFamily(metric.name.removesuffix("_total"), metric.meaning, labels=metric.labels)
                for labels, value in values.items():
                    counter.add_metric(labels, value)
                yield counter
            else:
                gauge = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
                for labels, value in values.items():
                    gauge.add_metric(labels, value)
                yield gauge

    def _histogram_family(self, metric: Metric) -> Iterator[Family]:
        there = self._histograms.get(metric)
        if there is None:
            return
        family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        for labels, histogram in there.items():
            family.add_metric(labels, list(histogram.cumulative()), histogram.sum)
        yield family

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """Write all numbers in the form that is asked for; return them and their content type."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self._registry), content_type


def reference() -> str:
    """Write the table of all metrics."""
    lines = ["| metric | type | labels | buckets | meaning |", "|---|---|---|---|---|"]
    for one in METRICS:
        buckets = f"{one.buckets[0]:g} to {one.buckets[-1]:g}, {len(one.buckets)}" if one.buckets else ""
        lines.append(f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {buckets} | {one.meaning} |")
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines) + "\n"
