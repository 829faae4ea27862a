"""What the watches tell: handed on, and what is wrong with it told to people, once."""

import logging

import pytest

from bayplan.api.messages import Event, Gone, Listed, Record, Seen
from bayplan.api.objects import Object, PodMeta
from bayplan.kube.told import Unread
from bayplan.kube.watch import State
from bayplan.serve.hearing import Hearing
from bayplan.serve.metrics import Metrics
from tests.kit import a_pod, case
from tests.unit.serve.test_driver import Driven
from tests.unit.serve.test_metrics import scraped

ODD = Unread("Pod", "default", "odd", "u1", "7", "spec.nodeSelector: expected a map, got a list")


class Heard:
    """A hearing, and what it tells."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.driver = Driven(("Pod", "Node")).driver
        self.driver.leads = True
        self.records: list[Record] = []
        self.hearing = Hearing(self.driver, self.metrics, self.records.append)

    @property
    def aside(self) -> float:
        """How many pods are set aside."""
        return scraped(self.metrics).get("bayplan_quarantined_objects{'kind': 'Pod'}", 0)


def named(name: str) -> Object:
    """Return a pod of a name."""
    pod = a_pod(name)
    assert isinstance(pod.metadata, PodMeta)
    return pod


def test_what_cannot_be_read_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A log line, a number, an event; the same again is no news."""
    heard = Heard()
    with caplog.at_level(logging.INFO, "bayplan"):
        heard.hearing.set_aside(ODD)
        heard.hearing.set_aside(ODD)

    assert (len(caplog.records), heard.aside) == (1, 1)
    assert [(one.reason, one.name, one.uid) for one in heard.records] == [("FailedScheduling", "odd", "u1")]
    assert "expected a map" in heard.records[0].note


def test_who_does_not_lead_writes_no_event() -> None:
    """One of several copies is enough."""
    heard = Heard()
    heard.driver.leads = False
    heard.hearing.set_aside(ODD)

    assert (heard.records, heard.aside) == ([], 1)


@pytest.mark.parametrize("event", [
    case("it was mended", Seen(thing=named("odd"))),
    case("it is gone", Gone(thing=named("odd"))),
    case("a list has it, and it can be read", Listed(kind="Pod", things=(named("odd"),))),
])  # fmt: skip
def test_what_can_be_read_again_is_forgotten(event: Event) -> None:
    """And the event goes on to the driver."""
    heard = Heard()
    heard.hearing.set_aside(ODD)
    heard.hearing.take([event])

    assert heard.aside == 0
    assert heard.driver.inbox == [event]


def test_a_list_that_still_has_it_forgets_nothing() -> None:
    """It is there, and cannot be read."""
    heard = Heard()
    heard.hearing.set_aside(ODD)
    heard.hearing.take([Listed(kind="Pod", things=(), unread=(("default", "odd"),)), Seen(thing=named("other"))])

    assert heard.aside == 1


def test_a_server_that_is_away_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """Not for every kind and every try; and once more when all is well."""
    heard = Heard()
    with caplog.at_level(logging.INFO, "bayplan"):
        for _ in range(3):
            for kind in ("Pod", "Node"):
                heard.hearing.stands(kind, State.LISTING, "")
                heard.hearing.stands(kind, State.TROUBLED, "no connection")
        for kind in ("Pod", "Node"):
            heard.hearing.stands(kind, State.WATCHING, "")

    assert [record.getMessage() for record in caplog.records] == [
        "not watched; what is known grows old",
        "everything is watched again",
    ]


def test_the_age_of_what_is_known_rises_while_a_kind_is_not_watched() -> None:
    """And is nought while it is."""
    heard = Heard()
    heard.hearing.stands("Pod", State.WATCHING, "")
    found = scraped(heard.metrics)

    assert found["bayplan_table_age_seconds{'kind': 'Pod'}"] == 0
    assert found["bayplan_table_age_seconds{'kind': 'Node'}"] > 0
