"""Metrics: kube-scheduler's names, types, labels and buckets, and what a scraper reads."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bayplan.serve import metrics
from bayplan.serve.metrics import METRICS, Labels, Metrics, exponential
from tests.architecture.files import ROOT
from tests.kit import case

PAGE = ROOT / "docs" / "metrics.md"
MARK = "-->\n\n"


def scraped(numbers: Metrics) -> dict[str, float]:
    """Return what a scraper reads, by name and labels."""
    text = numbers.page()[0].decode()
    return {
        f"{sample.name}{dict(sorted(sample.labels.items())) or ''}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize(("name", "kind", "labels", "buckets"), [
    case("attempts", "scheduler_schedule_attempts_total", "counter", ("result", "profile"), ()),
    case("attempt", "scheduler_scheduling_attempt_duration_seconds", "histogram", ("result", "profile"),
         exponential(0.001, 2, 15)),
    case("algorithm", "scheduler_scheduling_algorithm_duration_seconds", "histogram", (), exponential(0.001, 2, 15)),
    case("sli", "scheduler_pod_scheduling_sli_duration_seconds", "histogram", ("attempts",), exponential(0.01, 2, 20)),
    case("pod's attempts", "scheduler_pod_scheduling_attempts", "histogram", (), (1, 2, 4, 8, 16)),
    case("pending", "scheduler_pending_pods", "gauge", ("queue",), ()),
    case("unschedulable", "scheduler_unschedulable_pods", "gauge", ("plugin", "profile"), ()),
    case("cache", "scheduler_cache_size", "gauge", ("type",), ()),
    case("leader", "leader_election_master_status", "gauge", ("name",), ()),
    case("oldest, all", "scheduler_e2e_scheduling_latency_microseconds", "histogram", (), exponential(1000, 2, 15)),
    case("oldest, algorithm", "scheduler_scheduling_algorithm_latency_microseconds", "histogram", (),
         exponential(1000, 2, 15)),
    case("oldest, binding", "scheduler_binding_latency_microseconds", "histogram", (), exponential(1000, 2, 15)),
])  # fmt: skip
def test_a_name_of_kube_scheduler_s_means_what_it_means_there(
    name: str, kind: str, labels: tuple[str, ...], buckets: tuple[float, ...]
) -> None:
    """A dashboard made for kube-scheduler shows bayplan."""
    one = next(metric for metric in METRICS if metric.name == name)

    assert (one.kind, one.labels, one.buckets) == (kind, labels, buckets)


def test_a_scraper_reads_what_was_taken_in() -> None:
    """Counts add up, histograms are cumulative, gauges are looked up when asked."""
    numbers = Metrics()
    numbers.add(metrics.ATTEMPTS, ("scheduled", "bayplan"), 2)
    numbers.histogram(metrics.POD_ATTEMPTS).observe(1)
    numbers.histogram(metrics.POD_ATTEMPTS).observe(3, times=2)
    pending: dict[Labels, float] = {("active",): 1.0}
    numbers.read(metrics.PENDING, lambda: pending)
    pending["active",] = 5.0
    found = scraped(numbers)

    assert found["scheduler_schedule_attempts_total{'profile': 'bayplan', 'result': 'scheduled'}"] == 2
    assert [found[f"scheduler_pod_scheduling_attempts_bucket{{'le': '{bound}'}}"] for bound in
            ("1.0", "2.0", "4.0", "+Inf")] == [1, 1, 3, 3]  # fmt: skip
    assert (found["scheduler_pod_scheduling_attempts_count"], found["scheduler_pod_scheduling_attempts_sum"]) == (3, 7)
    assert found["scheduler_pending_pods{'queue': 'active'}"] == 5
    assert numbers.count(metrics.ATTEMPTS, ("scheduled", "bayplan")) == 2
    assert found["process_resident_memory_bytes"] > 0


@pytest.mark.parametrize("legacy", [True, False])
def test_the_oldest_names_are_there_when_asked_for(*, legacy: bool) -> None:
    """All three, with nothing in them yet; and none without the flag."""
    found = scraped(Metrics(legacy=legacy))

    assert {name for name in found if name.endswith("latency_microseconds_count")} == (
        {f"{one.name}_count" for one in metrics.LEGACY} if legacy else set()
    )


def test_openmetrics_is_spoken_to_who_asks() -> None:
    """By the Accept header."""
    body, content_type = Metrics().page("application/openmetrics-text; version=1.0.0")

    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_no_metric_is_declared_twice() -> None:
    """And each says what it means."""
    assert len({one.name for one in METRICS}) == len(METRICS)
    assert all(one.meaning.endswith(".") for one in METRICS)


def test_the_page_lists_every_metric(request: pytest.FixtureRequest) -> None:
    """The table is the code's; `make golden` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    head = text.partition(MARK)[0] + MARK
    if request.config.getoption("--golden"):
        PAGE.write_text(head + metrics.reference(), encoding="utf-8")
        text = head + metrics.reference()

    assert text == head + metrics.reference(), "docs/metrics.md is behind the code: make golden"
