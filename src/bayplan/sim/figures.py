"""Figures: how the numbers of reports are written for people, policy beside policy.

Not here: the numbers (report.py), tables (cli) and plots (plots.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bayplan.sim.report import Report, Waits

MINUTE, HOUR, DAY = 60, 3600, 86400
NOTHING: Final = "-"


def facts(reports: Sequence[Report]) -> list[tuple[str, list[str]]]:
    """Return a table's rows: what is told, and each policy's value."""
    columns = [list(_facts(report)) for report in reports]
    return [(rows[0][0], [value for _, value in rows]) for rows in zip(*columns, strict=True)]


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield "jobs", f"{report.jobs:,}"
    yield "jobs that started", f"{report.jobs_started:,}"
    if report.pods != report.jobs:
        yield "pods", f"{report.pods:,}"
        yield "pods placed", f"{report.pods_placed:,}"
    for name, wait_s in waited(report.waits):
        yield f"wait, {name}", NOTHING if wait_s is None else lasting(wait_s)
    yield "pods waiting, at most", number(report.waiting.peak)
    for use in report.uses:
        yield f"{use.resource} used, mean", share(use.used.average)
        yield f"{use.resource} used, at most", share(use.used.peak)
    yield f"nodes used of {report.nodes:,}, mean", number(report.nodes_used.average)
    yield f"nodes used of {report.nodes:,}, at most", number(report.nodes_used.peak)
    yield "attempts without a node", f"{report.attempts_failed:,}"
    yield "it took, in virtual time", lasting(report.lasted_s)


def waited(waits: Waits | None) -> list[tuple[str, float | None]]:
    """Name each figure of how long jobs waited."""
    names = ("mean", "median", "90% within", "95% within", "99% within", "longest")
    if waits is None:
        return [(name, None) for name in names]
    found = (waits.mean_s, waits.p50_s, waits.p90_s, waits.p95_s, waits.p99_s, waits.longest_s)
    return list(zip(names, found, strict=True))


def reasons(reports: Sequence[Report]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return for each reason how many pods each policy turned down for it, and how many still waited at the end."""
    told = [{reason.text: (reason.pods, reason.still) for reason in report.reasons} for report in reports]
    texts = {text: sum(one.get(text, (0, 0))[0] for one in told) for one in told for text in one}
    ordered = sorted(texts, key=lambda text: (-texts[text], text))
    return [(text, [one.get(text, (0, 0)) for one in told]) for text in ordered]


def lasting(seconds: float) -> str:
    """Write a length of time, to two of its units.

    >>> lasting(0), lasting(0.25), lasting(47), lasting(723), lasting(13147), lasting(5944512)
    ('0s', '0.25s', '47s', '12m 3s', '3h 39m', '68d 19h')
    """
    if 0 < seconds < 10 and seconds != int(seconds):
        return f"{seconds:.2g}s"
    whole = round(seconds)
    for size, unit, small, smaller in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "m"), (MINUTE, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size}{unit}" + (f" {rest}{smaller}" if rest else "")
    return f"{whole}s"


def share(part: float) -> str:
    """Write a share.

    >>> share(0.2416), share(1), share(0.00031)
    ('24.2%', '100.0%', '0.031%')
    """
    return f"{100 * part:.2g}%" if 0 < part < 0.001 else f"{100 * part:.1f}%"


def number(value: float) -> str:
    """Write a number.

    >>> number(12345.6), number(3.25), number(7)
    ('12,346', '3.2', '7')
    """
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
