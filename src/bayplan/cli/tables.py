"""Answers as text for people: aligned columns, nothing cut.

Invariant: the same answer gives the same text, terminal or not.
Not here: JSON and YAML, which are the answers themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bayplan.answers.why import Why
from bayplan.framework.detail import OfNode, Said
from bayplan.framework.plugin import Code
from bayplan.framework.reasons import Kind, Reason

NOWHERE: Final = "-"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Align columns; the last one is as long as it likes.

    >>> table(("POD", "AMONG"), [("web", "10")], right=[1])
    ['POD  AMONG', 'web     10']
    """
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    numbers = set(right)
    return [
        "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def placements(decisions: Sequence[dict[str, object]]) -> list[str]:
    """Show where pods go, and why some go nowhere."""
    rows = [
        (str(one["pod"]), str(one["node"] or NOWHERE), "" if one["score"] is None else str(one["score"]))
        for one in decisions
    ]
    if all(one["message"] is None for one in decisions):
        return table(("POD", "NODE", "SCORE"), rows, right=(2,))
    messages = (str(one["message"] or "") for one in decisions)
    wide = [(*row, message) for row, message in zip(rows, messages, strict=True)]
    return table(("POD", "NODE", "SCORE", "MESSAGE"), wide, right=(2,))


def summary(decisions: Sequence[dict[str, object]], nodes: int) -> str:
    """Say in a line what became of all."""
    placed = [one for one in decisions if one["node"] is not None]
    used = len({one["node"] for one in placed})
    left = len(decisions) - len(placed)
    return (
        f"{len(placed):,} of {counted(len(decisions), 'pod')} placed, on {used:,} of {counted(nodes, 'node')}"
        + (f"; {left:,} not" if left else "")
        + "."
    )


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "pod"), counted(1200, "pod")
    ('1 pod', '1,200 pods')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- why -------------------------------------------------------------------------------------------------------------


def explanation(why: Why) -> list[str]:
    """Show why a pod goes where it goes: the summary, the reasons, then node by node."""
    lines = [*_headline(why), ""]
    if why.held_by is not None:
        return [*lines, f"HELD BY  {why.held_by}: no node is asked about before that is settled"]
    lines += [f"NODES  {why.nodes_fit:,} of {len(why.nodes):,} fit", *_reasons(why.reasons), ""]
    for node in why.nodes:
        lines += [*_node(node, why), ""]
    return [*lines, *_silent(why)]


def _headline(why: Why) -> Iterator[str]:
    facts = f"priority {why.priority:,} · profile {why.profile}"
    if why.runs_on is not None:
        yield f"{why.pod} runs on {why.runs_on} · {facts}"
        lead = "if it did not run yet, it would"
    else:
        lead = ""
    if why.node is not None:
        others = "no other is as good" if why.among <= 1 else f"as good as {why.among - 1:,} other"
        others += "s" if why.among > 2 else ""
        yield f"{lead or why.pod} {'go' if lead else 'goes'} to {why.node}, total {why.score}: {others}" + (
            "" if lead else f" · {facts}"
        )
    else:
        yield f"{lead or why.pod} {'wait' if lead else 'waits'}" + ("" if lead else f" · {facts}")
        yield why.message or ""


def _reasons(reasons: Sequence[Reason]) -> list[str]:
    rows = [(f"{reason.nodes:,}", reason.text, _short(reason), reason.plugin) for reason in reasons]
    return [f"  {line}" for line in table(("", "", "", ""), rows, right=(0,))[1:]] if rows else []


def _short(reason: Reason) -> str:
    short = reason.short
    if short is None:
        return ""
    span = short.least if short.least == short.most else f"{short.least} to {short.most}"
    return f"short by {span}, least on {short.nearest}"


def _node(node: OfNode, why: Why) -> list[str]:
    chosen = node.name == why.node
    marks = ", the best" * node.is_best + ", chosen" * chosen
    head = f"{node.name}  " + (f"fits, total {node.total}{marks}" if node.fits else "does not fit")
    lines = [head + (f" ({node.note})" if node.note else "")]
    fine = [said.plugin for said in node.filters if said.verdict is Code.SUCCESS]
    if fine:
        lines.append(f"  yes  {', '.join(fine)}")
    lines += [
        f"  {'err' if said.verdict is Code.ERROR else 'no '}  {_said(said, node)}"
        for said in node.filters
        if said.verdict is not Code.SUCCESS
    ]
    weights = {one.plugin: one.weight for one in why.weights}
    rows = [
        (score.plugin, f"raw {score.raw}", f"{score.weighted}", f"of {100 * weights.get(score.plugin, 1)}")
        for score in node.scores
    ]
    return lines + [f"    {line}" for line in table(("", "", "", ""), rows, right=(2,))[1:]]


def _said(said: Said, node: OfNode) -> str:
    texts = []
    for remark in said.reasons:
        more = f": short by {remark.short}" if remark.short else ""
        if remark.kind is Kind.UNTOLERATED_TAINT:
            more = f": of {', '.join(node.taints)}"
        texts.append(remark.text + more)
    return f"{said.plugin or 'PreFilter'}: {'; '.join(texts)}"


def _silent(why: Why) -> Iterator[str]:
    if why.skipped:
        yield f"nothing to filter for this pod:  {', '.join(why.skipped)}"
    if why.unscored:
        yield f"nothing to score for this pod:   {', '.join(why.unscored)}"
