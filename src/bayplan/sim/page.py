"""The page: reports as one HTML file that needs nothing else: a table, and plots in light and dark.

Invariant: the same reports give the same page, byte for byte.
Not here: drawing (plots.py), the numbers (report.py) and writing files (cli).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from bayplan.sim.figures import NOTHING, facts, lasting, reasons, share, waited
from bayplan.sim.plots import COLOURS, Bars, Plot, Series, bars, lines, numbers, shares, times, waits
from bayplan.sim.report import QUANTILES, Level, Report

REASONS_SHOWN_MAX: Final = 12


class Setting(NamedTuple):
    """What was simulated."""

    cluster: str
    workload: str
    seed: int


def page(reports: Sequence[Report], setting: Setting) -> str:
    """Write the page."""
    title = f"{setting.workload} on {setting.cluster}"
    first, end_s = reports[0], max(report.lasted_s for report in reports)
    told = f"{first.jobs:,} jobs · {first.nodes:,} nodes · {lasting(end_s)} of virtual time · seed {setting.seed}"
    parts = [
        f"<header><h1>{escape(title)}</h1><p>{told}</p></header>",
        _tiles(reports),
        f'<div class="plots">{"".join(_plots(reports, end_s))}</div>',
        _table(reports),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)} · bayplan simulate</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}<footer>Made by <code>bayplan simulate</code>. Time is virtual: "
        "a pod runs from the moment it is placed, and a job waits until its last pod is placed.</footer></main>"
        f'<div id="tip" hidden></div><script>{_SCRIPT}</script></body></html>\n'
    )


def _tiles(reports: Sequence[Report]) -> str:
    """Say the most important of each policy in a line."""
    found = []
    for place, report in enumerate(reports):
        busiest = max(report.uses, key=lambda use: use.used.average, default=None)
        cells = [
            (f"wait, {name}", NOTHING if wait_s is None else lasting(wait_s))
            for name, wait_s in waited(report.waits)
            if name in {"mean", "median", "99% within"}
        ]
        if busiest is not None:
            cells.append((f"{busiest.resource}, mean", share(busiest.used.average)))
        cells.append(("never placed", f"{report.pods - report.pods_placed:,}"))
        shown = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in cells)
        colour = f"var(--c{place % COLOURS})"
        found.append(f'<section class="tiles" style="--own:{colour}"><h2>{escape(report.policy)}</h2>{shown}</section>')
    return "".join(found)


def _plots(reports: Sequence[Report], end_s: float) -> Iterator[str]:
    over = times(end_s)
    for place, use in enumerate(reports[0].uses):
        drawn = [_line(report, at, report.uses[place].used) for at, report in enumerate(reports)]
        highest = max(y for line in drawn for _, y in line.points)
        note = f"share of what all {reports[0].nodes:,} nodes have"
        yield lines(Plot(f"{use.resource} in use", note, over, shares(highest), drawn))
    waiting = [report.waiting for report in reports]
    used = [report.nodes_used for report in reports]
    for title, note, levels in (
        ("Pods waiting", "not placed yet", waiting),
        ("Nodes in use", "with a pod on them", used),
    ):
        drawn = [_line(report, at, level) for at, (report, level) in enumerate(zip(reports, levels, strict=True))]
        yield lines(Plot(title, note, over, numbers(max(y for line in drawn for _, y in line.points)), drawn))
    yield from _waits(reports)
    yield from _turned_down(reports)


def _line(report: Report, colour: int, level: Level) -> Series:
    points = [(place * report.stretch_s, value) for place, value in enumerate(level.course)]
    return Series(report.policy, colour, [*points, (report.lasted_s, points[-1][1])])


def _waits(reports: Sequence[Report]) -> Iterator[str]:
    """Draw which share of the jobs waited no longer than a time."""
    drawn = []
    for at, report in enumerate(reports):
        if report.waits is not None:
            begun = report.jobs_started / report.jobs
            points = [(wait, begun * place / QUANTILES) for place, wait in enumerate(report.waits.quantiles_s)]
            drawn.append(Series(report.policy, at, points))
    if drawn:
        longest = max(report.waits.longest_s for report in reports if report.waits is not None)
        note = "share of all jobs that started within a time"
        yield lines(Plot("Time until a job starts", note, waits(longest), shares(), drawn, is_stepped=False))


def _turned_down(reports: Sequence[Report]) -> Iterator[str]:
    found = reasons(reports)
    if found:
        rows = [(text, [pods for pods, _ in counts]) for text, counts in found[:REASONS_SHOWN_MAX]]
        note = "pods that were told so at least once"
        yield bars(Bars("Why pods were turned down", note, [report.policy for report in reports], rows))


def _table(reports: Sequence[Report]) -> str:
    heads = "".join(f"<th>{escape(report.policy)}</th>" for report in reports)
    rows = [(name, values) for name, values in facts(reports)]
    rows += [
        (f"turned down: {text}", [f"{pods:,}" + (f" ({still:,} still)" if still else "") for pods, still in counts])
        for text, counts in reasons(reports)
    ]
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for name, values in rows
    )
    return f'<div class="scroll"><table><thead><tr><th></th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


_STYLE: Final = """
:root{color-scheme:light dark;--ground:#f7f8fa;--card:#fff;--ink:#17202b;--soft:#5b6776;--rule:#e3e7ec;
--c0:#1769c4;--c1:#d4570c;--c2:#0c8a61;--c3:#9546b8;--c4:#a67c00;--c5:#c2274f;--c6:#2f8fa8;--c7:#66717f}
@media(prefers-color-scheme:dark){:root{--ground:#10151b;--card:#181f28;--ink:#e8edf3;--soft:#98a5b4;--rule:#2a3440;
--c0:#5fa8f5;--c1:#f58a4b;--c2:#3fc795;--c3:#c48ae0;--c4:#dcb43c;--c5:#f26d8d;--c6:#62c3dc;--c7:#a3aebb}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1240px;margin:0 auto;padding:28px 20px 48px}h1{font-size:24px;line-height:1.25;margin:0;
overflow-wrap:anywhere}header p{margin:4px 0 20px;color:var(--soft)}
.tiles{display:flex;flex-wrap:wrap;align-items:center;gap:8px 36px;background:var(--card);border:1px solid var(--rule);
border-left:4px solid var(--own);border-radius:8px;padding:12px 20px;margin-bottom:10px}
.tiles h2{font-size:15px;margin:0;flex:1 1 160px;overflow-wrap:anywhere}.tiles div{min-width:92px}
.tiles b{display:block;font-size:21px;line-height:1.2;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:13px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px;margin:18px 0}
figure{margin:0;padding:14px 16px 8px;background:var(--card);border:1px solid var(--rule);border-radius:8px;
position:relative}figcaption{font-weight:600;margin-bottom:6px}
figcaption small{font-weight:400;font-size:13px;color:var(--soft);margin-left:10px}
svg{display:block;width:100%;height:auto;touch-action:pan-y}svg text{fill:var(--soft);font-size:12px;
font-variant-numeric:tabular-nums}svg text.row{fill:var(--ink);font-size:13px}
.grid{stroke:var(--rule)}.at{stroke:var(--soft);stroke-dasharray:3 3}
.at[hidden]{display:none}
.line{fill:none;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin-bottom:4px}
.legend i,#tip i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:6px 16px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:6px 0 6px 24px;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}
th:first-child{text-align:left;padding-left:0;white-space:normal}tbody th{font-weight:400;color:var(--soft)}
tr:last-child>*{border-bottom:0}footer{margin-top:20px;color:var(--soft);font-size:13px}
#tip{position:fixed;pointer-events:none;background:var(--ink);color:var(--card);border-radius:6px;padding:6px 10px;
font-size:13px;line-height:1.4;max-width:340px;z-index:1}#tip[hidden]{display:none}
#tip b{float:right;margin-left:16px;font-variant-numeric:tabular-nums}#tip div{white-space:nowrap}
@media(max-width:720px){.tiles h2{flex-basis:100%}}
@media print{.tiles,figure,.scroll{break-inside:avoid}}
""".replace("\n", "")

_SCRIPT: Final = """
const tip=document.getElementById("tip");
for(const figure of document.querySelectorAll("[data-plot]")){
const plot=JSON.parse(figure.dataset.plot),svg=figure.querySelector("svg"),at=figure.querySelector(".at");
const hide=()=>{tip.hidden=true;at.setAttribute("hidden","hidden")};
svg.addEventListener("pointerleave",hide);
svg.addEventListener("pointermove",event=>{
const box=svg.getBoundingClientRect(),x=(event.clientX-box.left)/box.width;
let low=0,high=plot.x.length-1;
while(low<high){const half=(low+high+1)>>1;if(plot.x[half]<=x)low=half;else high=half-1}
const place=plot.x[low]*svg.viewBox.baseVal.width;
at.setAttribute("x1",place);at.setAttribute("x2",place);at.removeAttribute("hidden");
tip.replaceChildren();
const head=document.createElement("div");head.textContent=plot.at[low];tip.append(head);
for(const line of plot.lines){
const row=document.createElement("div"),mark=document.createElement("i"),value=document.createElement("b");
mark.style.background=`var(--c${line.colour})`;value.textContent=line.text[Math.min(low,line.text.length-1)];
row.append(value,mark,line.label);tip.append(row)}
tip.hidden=false;
const left=event.clientX+16+tip.offsetWidth>innerWidth?event.clientX-16-tip.offsetWidth:event.clientX+16;
tip.style.left=`${Math.max(left,0)}px`;tip.style.top=`${Math.min(event.clientY+12,innerHeight-tip.offsetHeight)}px`})}
""".replace("\n", "")
