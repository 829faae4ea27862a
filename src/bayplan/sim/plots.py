"""Plots: lines over time or share, and bars, as SVG written by hand, with the data for whoever points at them.

Colours are CSS variables of the page, so that a plot is readable in light and dark.  What a pointer shows is written
out here as texts, so that the page's script knows no units.
Invariant: every text that comes from outside is escaped.
Not here: the page around them (page.py) and what is shown (report.py).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

import msgspec

from bayplan.sim.figures import DAY, HOUR, MINUTE, lasting, number, share

WIDTH, HEIGHT = 600, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 28
INNER_X, INNER_Y = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
COLOURS: Final = 8  # of the page; further series begin again
POINTED_MAX: Final = 600
BAR_HEIGHT, BAR_GAP, GROUP_GAP = 14, 3, 14

_SPANS: Final = (
    1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR,
    3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY, 90 * DAY, 180 * DAY,
    365 * DAY,
)  # fmt: skip
_LOG_TICKS: Final = (1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)


class Axis(NamedTuple):
    """A direction: where a value lies, from nought to one, and what is written beside it."""

    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]
    text: Callable[[float], str]


class Series(NamedTuple):
    """A line."""

    label: str
    colour: int
    points: Sequence[tuple[float, float]]


class Plot(NamedTuple):
    """Lines over one axis."""

    title: str
    note: str
    x: Axis
    y: Axis
    lines: Sequence[Series]
    is_stepped: bool = True  # each value holds until the next point


# --- axes ------------------------------------------------------------------------------------------------------------


def times(end_s: float) -> Axis:
    """Return the axis of virtual time."""
    end_s = max(end_s, 1)
    span = next((span for span in _SPANS if end_s / span <= 8), _SPANS[-1] * math.ceil(end_s / 8 / _SPANS[-1]))
    marks = [(mark * span, lasting(mark * span)) for mark in range(int(end_s // span) + 1)]
    return Axis(lambda at: min(at / end_s, 1), marks, lasting)


def waits(longest_s: float) -> Axis:
    """Return an axis of waiting times: by magnitude, whatever is below a second at its beginning."""
    top = math.log10(max(longest_s, 10))
    marks = [(tick, lasting(tick)) for tick in _LOG_TICKS if tick <= longest_s or tick <= 10]
    return Axis(lambda at: min(math.log10(max(at, 1)) / top, 1), marks, lasting)


def shares(highest: float = 1) -> Axis:
    """Return an axis of shares, up to the first round one that holds them all."""
    top = next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if highest <= top), max(1, highest))
    steps = 5 if top in {0.05, 0.5} else 4
    marks = [top * step / steps for step in range(steps + 1)]
    return Axis(lambda at: at / top, [(mark, f"{100 * mark:.3g}%") for mark in marks], share)


def numbers(highest: float) -> Axis:
    """Return an axis of counts."""
    step = max(1, 10 ** math.floor(math.log10(max(highest, 1) / 2)))
    step = next(step * by for by in (1, 2, 5, 10, 20) if highest <= 5 * step * by)
    count = max(1, math.ceil(highest / step))
    top = count * step
    return Axis(lambda at: at / top, [(step * mark, number(step * mark)) for mark in range(count + 1)], number)


# --- drawing ---------------------------------------------------------------------------------------------------------


def lines(plot: Plot) -> str:
    """Draw lines, with what a pointer shows."""
    drawn = [_grid(plot)]
    for place, line in enumerate(plot.lines):
        points = [(_x(plot.x.place(x)), _y(plot.y.place(y))) for x, y in line.points]
        if plot.is_stepped:
            path = _stepped(points)
        else:
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + f"H{WIDTH - RIGHT}"
        colour = f"var(--c{line.colour % COLOURS})"
        if len(plot.lines) == 1:
            end, ground = points[-1][0] if plot.is_stepped else WIDTH - RIGHT, _y(0)
            area = f"{path}L{end:.1f} {ground}L{points[0][0]:.1f} {ground}Z"
            drawn.append(f'<path d="{area}" fill="{colour}" fill-opacity=".13"/>')
        thick = min(1.8 + 1.4 * (len(plot.lines) - 1 - place), 4.6)  # so that equal lines do not hide each other
        drawn.append(f'<path class="line" d="{path}" stroke="{colour}" stroke-width="{thick:.1f}"/>')
    drawn.append(f'<line class="at" x1="0" x2="0" y1="{TOP}" y2="{HEIGHT - BOTTOM}" hidden="hidden"/>')
    data = escape(msgspec.json.encode(_pointed(plot)).decode())
    legend = _legend(plot.lines) if len(plot.lines) > 1 else ""
    return (
        f'<figure data-plot="{data}"><figcaption>{escape(plot.title)}<small>{escape(plot.note)}</small></figcaption>'
        f'{legend}<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(plot.title)}">{"".join(drawn)}'
        "</svg></figure>"
    )


def _grid(plot: Plot) -> str:
    drawn = []
    for value, text in plot.y.ticks:
        y = _y(plot.y.place(value))
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    for value, text in plot.x.ticks:
        x = _x(plot.x.place(value))
        anchor = "end" if x > WIDTH - 30 else "middle"
        drawn.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{escape(text)}</text>')
    return "".join(drawn)


def _stepped(points: Sequence[tuple[float, float]]) -> str:
    """Draw each value as level until the next begins."""
    (x, y), *more = points
    path, last = [f"M{x:.1f} {y:.1f}"], y
    for x, y in more:
        path.append(f"H{x:.1f}")
        if abs(y - last) >= 0.05:
            path.append(f"V{y:.1f}")
            last = y
    return "".join(path)


def _pointed(plot: Plot) -> dict[str, object]:
    """Return what a pointer shows: some places along the axis, and each line's text there."""
    every = sorted({x for line in plot.lines for x, _ in line.points})
    places = every[:: -(-len(every) // POINTED_MAX)]
    return {
        "x": [round(_x(plot.x.place(x)) / WIDTH, 4) for x in places],
        "at": [plot.x.text(x) for x in places],
        "lines": [
            {"label": line.label, "colour": line.colour % COLOURS, "text": _texts(line, places, plot.y)}
            for line in plot.lines
        ],
    }


def _texts(line: Series, places: Iterable[float], axis: Axis) -> list[str]:
    """Write a line's last value up to each place."""
    found, begun = [], [x for x, _ in line.points]
    for place in places:
        at = bisect_right(begun, place) - 1
        found.append(axis.text(line.points[at][1]) if at >= 0 else "")
    return found


def _legend(series: Iterable[Series]) -> str:
    marks = "".join(
        f'<span><i style="background:var(--c{one.colour % COLOURS})"></i>{escape(one.label)}</span>' for one in series
    )
    return f'<div class="legend">{marks}</div>'


class Bars(NamedTuple):
    """Counts side by side: for each row one bar per series."""

    title: str
    note: str
    labels: Sequence[str]  # of the series
    rows: Sequence[tuple[str, Sequence[int]]]


def bars(given: Bars) -> str:
    """Draw horizontal bars under their names."""
    most = max((count for _, counts in given.rows for count in counts), default=0) or 1
    drawn, y = [], 0
    for text, counts in given.rows:
        y += 16
        drawn.append(f'<text class="row" x="0" y="{y}">{escape(text)}</text>')
        y += 7
        for colour, count in enumerate(counts):
            width = (WIDTH - 80) * count / most
            drawn.append(
                f'<rect x="0" y="{y}" width="{max(width, 1):.1f}" height="{BAR_HEIGHT}" rx="2" '
                f'fill="var(--c{colour % COLOURS})"/>'
                f'<text x="{width + 8:.1f}" y="{y + BAR_HEIGHT - 3}">{count:,}</text>'
            )
            y += BAR_HEIGHT + BAR_GAP
        y += GROUP_GAP
    legend = _legend(Series(label, place, ()) for place, label in enumerate(given.labels))
    return (
        f"<figure><figcaption>{escape(given.title)}<small>{escape(given.note)}</small></figcaption>"
        f"{legend if len(given.labels) > 1 else ''}"
        f'<svg viewBox="0 0 {WIDTH} {max(y, 1)}" role="img" aria-label="{escape(given.title)}">{"".join(drawn)}'
        "</svg></figure>"
    )


def _x(place: float) -> float:
    return LEFT + place * INNER_X


def _y(place: float) -> float:
    return TOP + (1 - place) * INNER_Y
