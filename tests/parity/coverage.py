"""Coverage: what a case and kube-scheduler's answer to it exercise, by name, so that a run can say what it reached.

Names of pods, claims, drivers and the like are taken out of texts first.  EXPECTED lists what plugins of the default
set can be made to say, skip, score and read; docs/parity.md lists what cannot be reached this way, and why.
"""

import re
from collections.abc import Iterator

from tests.parity.case import Case, Manifest, Result

LEAST = 50
"""In how many cases of a long run everything expected comes up."""
LONG_RUN = 20_000

BLANKS = [
    (re.compile(r'(running )?"?(\w+)"? filter plugin: '), r"\1\2 filter plugin: "),
    (re.compile(r'"[^"]*"'), '"…"'),
    (re.compile(r"PVC \S+ was not created for pod \S+ "), "PVC … was not created for pod … "),
    (re.compile(r"looking up PVC \S+:"), "looking up PVC …:"),
    (re.compile(r"^\S+ CSI driver is not"), "… CSI driver is not"),
    (re.compile(r"gates: \[.*\]$"), "gates: […]"),
    (re.compile(r"^parsing pod: .*$", re.DOTALL), "parsing pod: …"),
    (re.compile(r"(topology spread constraints): .*$", re.DOTALL), r"\1: …"),
    (re.compile(r"(running PreScore plugin \S+): \[.*$", re.DOTALL), r"\1: …"),
    (re.compile(r"hugepages-\w+"), "hugepages-…"),
    (re.compile(r"Insufficient attachable-volumes-\S+"), "Insufficient attachable-volumes-…"),
    (re.compile(r"Insufficient \S*kubernetes\.io/\S+"), "Insufficient …kubernetes.io/…"),
    (re.compile(r"Insufficient (?!…)[a-z.]+/\S+"), "Insufficient …/…"),
]


def countables(case: Case, result: Result) -> set[str]:
    """Return the names of everything that the case exercises."""
    return {*_texts(result), *_skips(result), *_scores(result), *_settings(case)}


def plain(text: str) -> str:
    """Return a reason's text without the names in it."""
    for pattern, blank in BLANKS:
        text = pattern.sub(blank, text)
    return text


def _texts(result: Result) -> Iterator[str]:
    for reason in (result.get("preEnqueue") or {}).get("reasons", ()):
        yield f"pre-enqueue: {plain(reason)}"
    prefilter = result.get("prefilter") or {}
    if prefilter.get("status") not in {None, "Success", "Error"}:
        for reason in prefilter.get("reasons", ()):
            yield f"prefilter: {prefilter.get('plugin', 'framework')}: {plain(reason)}"
    for node in (result.get("nodes") or {}).values():
        if node.get("code") == "Error" or (node.get("notTried") and prefilter.get("status") != "Success"):
            continue  # an error's text, or PreFilter's, is counted as such
        for reason in node.get("reasons", ()):
            yield f"filter: {node.get('plugin', 'framework')}: {plain(reason)}"
    if result.get("scheduler_error"):
        yield f"error: {plain(result['scheduler_error'])}"
    if result.get("fit_error") and not result.get("nodes"):
        yield f"no nodes: {result['fit_error']}"


def _skips(result: Result) -> Iterator[str]:
    for plugin in (result.get("prefilter") or {}).get("skipped", ()):
        yield f"filter skipped: {plugin}"
    for plugin in result.get("skippedScore", ()):
        yield f"score skipped: {plugin}"


def _scores(result: Result) -> Iterator[str]:
    """Yield the plugins whose scores tell nodes apart."""
    seen: dict[str, set[int]] = {}
    for node in (result.get("nodes") or {}).values():
        for plugin, score in (node.get("raw") or {}).items():
            seen.setdefault(plugin, set()).add(score)
        if node.get("volumes"):
            yield from (f"volumes: {what}" for what in node["volumes"])
    for plugin, scores in seen.items():
        if len(scores) > 1:
            yield f"score differs: {plugin}"


def _settings(case: Case) -> Iterator[str]:
    for gate, on in case.get("featureGates", {}).items():
        yield f"gate: {gate}={on}"
    profiles = (case.get("config") or {}).get("profiles", ())
    if len(profiles) > 1:
        yield "profiles: several"
    for profile in profiles:
        for one in profile.get("pluginConfig", ()):
            yield from _arguments(one["name"], one["args"])
        for point, changes in profile.get("plugins", {}).items():
            yield from (f"plugins: {point}.{change}" for change in changes)


def _arguments(plugin: str, args: Manifest) -> Iterator[str]:
    for name, value in args.items():
        if name == "defaultingType":
            yield f"argument: {plugin}.{name}={value}"
        elif name == "scoringStrategy":
            yield f"strategy: {value['type']}"
            yield from (f"argument: {plugin}.{name}.{part}" for part in value if part != "type")
        elif name == "addedAffinity":
            yield from (f"argument: {plugin}.{name}.{part}" for part in value)
        else:
            yield f"argument: {plugin}.{name}"
