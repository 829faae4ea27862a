"""Figures: reports side by side, as people read them."""

from bayplan.sim.figures import facts, reasons
from bayplan.sim.report import reported
from tests.unit.sim.worlds import asking, job, nodes, replayed


def test_reports_stand_side_by_side() -> None:
    """A row for each figure, a column for each policy; pods are named where jobs have several."""
    jobs = [job("pair", 0, 60, asking(4), asking(4)), job("whale", 0, 1, asking(99))]
    small, large = (reported(replayed(nodes(count, cpu=4), jobs), "policy") for count in (1, 2))
    rows = dict(facts([small, large]))

    assert rows["jobs"] == ["2", "2"]
    assert rows["jobs that started"] == ["1", "1"]
    assert rows["pods placed"] == ["2", "2"]
    assert rows["wait, mean"] == rows["wait, longest"] == ["1m", "0s"]
    assert rows["cpu used, at most"] == ["100.0%", "100.0%"]


def test_a_wait_that_nobody_has_is_no_number() -> None:
    """Where no job started there is nothing to tell."""
    report = reported(replayed(nodes(1, cpu=4), [job("whale", 0, 1, asking(99))]), "policy")

    assert report.waits is None
    assert dict(facts([report]))["wait, median"] == ["-"]


def test_a_reason_that_one_policy_never_gave_is_nought_there() -> None:
    """Reasons are joined by their text, the commonest first."""
    jobs = [job("large", 0, 60, asking(8)), job("whale", 0, 1, asking(99))]
    small, large = (reported(replayed(nodes(1, cpu=cpu), jobs), "policy") for cpu in (4, 128))

    assert reasons([small, large]) == [("Insufficient cpu", [(2, 2), (0, 0)])]


def test_waits_within_are_waits_that_somebody_had() -> None:
    """Of three jobs that wait 0, 10 and 20 seconds: half within 10, 90% within 20."""
    jobs = [job(name, 0, 10, asking(4)) for name in "abc"]
    waits = reported(replayed(nodes(1, cpu=4), jobs), "policy").waits

    assert waits is not None
    assert (waits.mean_s, waits.p50_s, waits.p90_s, waits.longest_s) == (10, 10, 20, 20)
    assert (waits.quantiles_s[0], waits.quantiles_s[-1]) == (0, 20)
