"""`bayplan simulate`: let a workload happen on a cluster, in virtual time, under one policy or several.

Not here: reading traces and our own files, letting them happen and what came of it (the room `sim`).
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import click
import msgspec

from bayplan.answers.snapshot import Snapshot, waits
from bayplan.api.decode import KINDS, MANIFEST_BYTES_MAX
from bayplan.api.objects import Node, Object, Pod
from bayplan.api.wider import Kinds, as_wide
from bayplan.cli import progress, sources, tables
from bayplan.cli.options import with_plugins
from bayplan.cli.rules import Rules, kinds_of, note, policy, refusal
from bayplan.config.complaints import ConfigError
from bayplan.config.ours import API_VERSION
from bayplan.framework.profile import Profile
from bayplan.sim import formats, traces
from bayplan.sim.figures import facts, reasons
from bayplan.sim.page import Setting, page
from bayplan.sim.replay import Replay
from bayplan.sim.report import Report, reported
from bayplan.sim.workloads import Workload

REFUSED: Final = 2
REFUSED_SHOWN_MAX: Final = 20
USUAL: Final = "default"
_ZIPPED: Final = b"\x1f\x8b"

Policies = Mapping[str, Mapping[str, Profile]]


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    files: tuple[str, ...]
    configs: tuple[str, ...]
    plugins: tuple[str, ...]
    jobs: int | None
    seed: int
    output: Literal["table", "json"]
    html: str | None


@click.command(
    epilog="Exit status: 0 all was understood, 2 something of the input was refused, 1 nothing could be done."
)
@click.argument("files", nargs=-1, required=True, metavar="[CLUSTER] WORKLOAD")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE",
    help="As of `bayplan place`; several are compared, with the same arrivals. Repeatable.",
)
@with_plugins
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Only the first N jobs to arrive.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="What is drawn: arrivals and run times that the workload leaves open, and ties between nodes.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the answer.",
)
@click.option("--html", metavar="FILE", help="Also write a page with plots, which needs nothing but a browser.")
def simulate(**given: object) -> int:
    """Let a workload happen on a cluster in virtual time, and say how long jobs waited and why.

    CLUSTER is Kubernetes manifests, a Cluster file, or openb's node list; a Philly trace needs none. WORKLOAD is a
    Workload file, a list of jobs as CSV, or a trace of openb or Philly. Nothing is changed anywhere.
    """
    options = msgspec.convert(given, Options)
    policies = _policies(options)
    scene = _scene(options, kinds_of(profile for profiles in policies.values() for profile in profiles.values()))
    reports, faults = _reports(scene, policies, options.seed)
    click.echo(_answer(reports, scene, options))
    if options.html is not None:
        _write(Path(options.html), page(reports, Setting(scene.names[0], scene.names[1], options.seed)))
    for fault in faults:
        note(f"fault: {fault}")
    return REFUSED if faults or scene.is_partial else 0


# --- what is asked for -----------------------------------------------------------------------------------------------


class Scene(NamedTuple):
    """What is simulated."""

    names: tuple[str, str]  # of the cluster and of the workload
    cluster: Sequence[Object]
    workload: Workload
    is_partial: bool  # something of the cluster was refused


def _policies(options: Options) -> Policies:
    """Return each policy's profiles, by the name it is shown under: the file's own, where that is enough."""
    rules = Rules(options.plugins)
    if not options.configs:
        return {USUAL: policy(None, rules)}
    short = [Path(config).name for config in options.configs]
    names = [config if short.count(name) > 1 else name for config, name in zip(options.configs, short, strict=True)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.ClickException(f"--config {twice} is given twice; there would be nothing to compare")
    return {name: policy(config, rules) for name, config in zip(names, options.configs, strict=True)}


def _scene(options: Options, kinds: Kinds) -> Scene:
    """Read the cluster and the workload."""
    *before, file = options.files
    if len(before) > 1:
        raise click.ClickException(f"expected CLUSTER and WORKLOAD, got {len(options.files)} files")
    try:
        workload = _workload(file, options.seed, kinds)
        cluster, is_partial = _cluster(before[0], kinds) if before else (workload.cluster, False)
    except ConfigError as error:
        raise refusal(error) from None
    if options.jobs is not None:
        workload = workload.first(options.jobs)
    if not workload.jobs:
        raise click.ClickException(f"{file}: has no job")
    if not before and not cluster:
        raise click.ClickException(f"{file}: says nothing of a cluster; give one before it: CLUSTER WORKLOAD")
    if not any(isinstance(thing, Node) for thing in cluster):
        raise click.ClickException(f"{before[0]}: has no node")
    if kinds is not KINDS:
        cluster = [as_wide(thing, kinds) for thing in cluster]
        workload = workload.widened(kinds)
    name = Path(before[0]).name if before else f"{len(cluster):,} nodes"
    return Scene((name, Path(file).name), cluster, workload, is_partial)


def _workload(file: str, seed: int, kinds: Kinds) -> Workload:
    raw = _bytes(file)
    form = traces.form_of(raw)
    if form is not None:
        read = traces.read(file, raw, form)
        if isinstance(read, Workload):
            return read
        raise click.ClickException(f"{file}: is {form.name}, a cluster; the workload comes after it")
    if formats.is_ours(raw):
        return formats.read_workload(file, raw, seed, kinds)
    headers = "; ".join(f"{form.name}: {', '.join(sorted(form.columns))}" for form in traces.FORMS if form.is_workload)
    ours = f"a {formats.WORKLOAD} of {API_VERSION}"
    raise click.ClickException(f"{file}: is no workload: expected {ours}, or CSV with these columns ({headers})")


def _cluster(file: str, kinds: Kinds) -> tuple[Sequence[Object], bool]:
    """Read a cluster; say whether something of it was refused."""
    if file == sources.STDIN or Path(file).is_dir():
        return _manifests(sources.opened([file]), kinds)
    raw = _bytes(file)
    form = traces.form_of(raw)
    if form is not None:
        read = traces.read(file, raw, form)
        if not isinstance(read, Workload):
            return read, False
        raise click.ClickException(f"{file}: is {form.name}, a workload; the cluster comes before it")
    if formats.is_ours(raw):
        return formats.read_cluster(file, raw, kinds), False
    return _manifests([(file, raw)], kinds)


def _manifests(files: Iterable[tuple[str, bytes]], kinds: Kinds) -> tuple[Sequence[Object], bool]:
    """Read a cluster's objects; pods that wait are left out, because what waits is the workload's to say."""
    snapshot = Snapshot(kinds)
    for name, raw in files:
        snapshot.read(name, raw)
    objects = snapshot.cluster().objects
    kept = [thing for thing in objects if not (isinstance(thing, Pod) and waits(thing))]
    if len(kept) < len(objects):
        waiting = tables.counted(len(objects) - len(kept), "waiting pod")
        note(f"passed over: {waiting}; what is to be placed belongs into the workload")
    for problem in snapshot.refused[:REFUSED_SHOWN_MAX]:
        note(f"refused: {problem}")
    if len(snapshot.refused) > REFUSED_SHOWN_MAX:
        note(f"refused: {len(snapshot.refused) - REFUSED_SHOWN_MAX:,} more")
    return kept, bool(snapshot.refused)


def _bytes(file: str) -> bytes:
    """Read a file, unpacked if it is packed."""
    _, raw = next(iter(sources.opened([file])))
    if not raw.startswith(_ZIPPED):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            raw = packed.read(MANIFEST_BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise click.ClickException(f"{file}: cannot be unpacked: {error}") from None
    if len(raw) > MANIFEST_BYTES_MAX:
        raise click.ClickException(f"{file}: is larger than {MANIFEST_BYTES_MAX:,} bytes when unpacked")
    return raw


# --- letting it happen, and showing it -------------------------------------------------------------------------------


def _reports(scene: Scene, policies: Policies, seed: int) -> tuple[list[Report], list[str]]:
    """Replay the workload under each policy; return what came of it, and exceptions of our own."""
    reports, faults = list[Report](), list[str]()
    for name, profiles in policies.items():
        replay = Replay(scene.cluster, scene.workload, profiles, seed=seed)
        for _ in progress.shown(replay.run(), len(scene.workload.jobs), f"simulating {name}"):
            pass
        reports.append(reported(replay, name))
        faults += [f"{name}: {fault}" for fault in replay.faults]
    return reports, faults


def _answer(reports: Sequence[Report], scene: Scene, options: Options) -> str:
    if options.output == "json":
        answer = {"cluster": scene.names[0], "workload": scene.names[1], "seed": options.seed, "runs": reports}
        return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
    columns = range(1, len(reports) + 1)
    rows = [(name, *values) for name, values in facts(reports)]
    lines = tables.table(("", *(report.policy for report in reports)), rows, right=columns)
    told = reasons(reports)
    if told:
        counts = [(text, *(_counted(*count) for count in of_each)) for text, of_each in told]
        lines += ["", *tables.table(("PODS TURNED DOWN FOR", *(one.policy for one in reports)), counts, right=columns)]
    return "\n".join(lines)


def _counted(pods: int, still: int) -> str:
    return f"{pods:,}" + (f" ({still:,} still)" if still else "")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise click.ClickException(f"{path}: cannot be written: {reason}") from None
    note(f"the page is {path}")
