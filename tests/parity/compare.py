"""Comparing: what differs between kube-scheduler's result and ours, field by field.

Everything that decides where a pod goes, or that a user reads, is compared exactly; lists that stand for sets are
compared as sets.  A field that the expected result has and ours lacks is a difference, whatever its value.
Not here: `preemption` and `error_message`, which is `fit_error` and what preemption adds to it.
"""

from collections.abc import Iterable, Iterator

from tests.parity.case import Case, Manifest, Result

TOP_SETS = ("best", "choice", "skippedScore", "unschedulablePlugins")
TOP_FIELDS = ("preEnqueue", "prefilter", "nodes", *TOP_SETS, "fit_error", "scheduler_error")
PREFILTER_SETS = ("nodeNames", "skipped")
PREFILTER_FIELDS = ("status", "plugin", "reasons", *PREFILTER_SETS)
SCORE_FIELDS = ("raw", "norm")
NODE_FIELDS = ("fit", "code", "plugin", "reasons", *SCORE_FIELDS, "total", "volumes", "allocations")


def differences(case: Case, got: Result) -> list[str]:
    """Return what differs between the case's result and `got`, one sentence each; none when they are equal."""
    want: Result = case["result"]
    return [
        *_lacking("", want, got, TOP_FIELDS),
        *_status("preEnqueue", want.get("preEnqueue") or {}, got.get("preEnqueue") or {}),
        *_prefilter(want.get("prefilter") or {}, got.get("prefilter") or {}),
        *_nodes(want.get("nodes") or {}, got.get("nodes") or {}),
        *_sets("", want, got, TOP_SETS),
        *_scheduler_error(want, got),
        *_text("fit_error", want, got),
    ]


def kind_of(difference: str) -> str:
    """Return what sort of difference it is: its place without the node's name."""
    place = difference.split(": ", 1)[0]
    if not place.startswith("nodes["):
        return place
    return "nodes" + place[place.index("]") + 1 :]


def _lacking(where: str, want: Manifest, got: Manifest, fields: Iterable[str]) -> Iterator[str]:
    for name in fields:
        if name in want and name not in got:
            yield f"{where}{name}: want {want[name]!r}, got a result without it"


def _status(where: str, want: Manifest, got: Manifest, code: str = "code") -> Iterator[str]:
    for name in (code, "plugin", "reasons"):
        empty: object = [] if name == "reasons" else ""
        if (want.get(name) or empty) != (got.get(name) or empty):
            yield f"{where}.{name}: want {want.get(name)!r}, got {got.get(name)!r}"


def _sets(where: str, want: Manifest, got: Manifest, fields: Iterable[str]) -> Iterator[str]:
    for name in fields:
        if sorted(want.get(name) or []) != sorted(got.get(name) or []):
            yield f"{where}{name}: want {want.get(name)!r}, got {got.get(name)!r}"


def _prefilter(want: Manifest, got: Manifest) -> Iterator[str]:
    yield from _lacking("prefilter.", want, got, PREFILTER_FIELDS)
    yield from _status("prefilter", want, got, code="status")
    yield from _sets("prefilter.", want, got, PREFILTER_SETS)


def _nodes(want: Manifest, got: Manifest) -> Iterator[str]:
    errors = _error_count(want)
    for name in sorted(want.keys() | got.keys()):
        if name not in got:
            yield f"nodes[{name}]: missing"
        elif name not in want:
            yield f"nodes[{name}]: not expected"
        else:
            yield from _node(f"nodes[{name}].", want[name], got[name], errors)


def _node(where: str, want: Manifest, got: Manifest, errors: int) -> Iterator[str]:
    yield from _lacking(where, want, got, NODE_FIELDS)
    if bool(want.get("fit")) != bool(got.get("fit")):
        yield f"{where}fit: want {want.get('fit')!r}, got {got.get('fit')!r}"
    if errors > 1 and want.get("code") == got.get("code") == "Error":
        return  # any of them may be the one that kube-scheduler reports
    yield from _status(where[:-1], want, got)
    for name in SCORE_FIELDS:
        yield from _scores(f"{where}{name}", want.get(name) or {}, got.get(name) or {})
    for name in ("total", "allocations"):
        if want.get(name) != got.get(name):
            yield f"{where}{name}: want {want.get(name)!r}, got {got.get(name)!r}"
    # Absent where the choice among volumes is random: then ours is as good as any.
    if "volumes" in want and want["volumes"] != got.get("volumes"):
        yield f"{where}volumes: want {want['volumes']!r}, got {got.get('volumes')!r}"


def _scores(where: str, want: Manifest, got: Manifest) -> Iterator[str]:
    for plugin in sorted(want.keys() | got.keys()):
        if want.get(plugin) != got.get(plugin):
            yield f"{where}[{plugin}]: want {want.get(plugin)!r}, got {got.get(plugin)!r}"


def _scheduler_error(want: Result, got: Result) -> Iterator[str]:
    text, ours = want.get("scheduler_error") or "", got.get("scheduler_error") or ""
    one = _error_count(want.get("nodes") or {}) <= 1
    if bool(text) != bool(ours) or (one and text != ours):
        yield f"scheduler_error: want {text!r}, got {ours!r}"


def _text(name: str, want: Result, got: Result) -> Iterator[str]:
    if (want.get(name) or "") != (got.get(name) or ""):
        yield f"{name}: want {want.get(name)!r}, got {got.get(name)!r}"


def _error_count(nodes: Manifest) -> int:
    return sum(node.get("code") == "Error" for node in nodes.values())
