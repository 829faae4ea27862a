"""Traces: recorded workloads and clusters as CSV, ours and those that others have published.

A file is told apart by the columns that it has.  Openb is Alibaba's GPU-sharing cluster of 2023: its nodes, and its
pods, which ask for thousandths of GPUs.  Philly is Microsoft's cluster of 2017: jobs that ask for whole GPUs.
Invariant: any bytes come to a cluster, a workload, or a ConfigError that names file, line and column.
Not here: what is written in YAML (formats.py), and letting it happen (replay.py).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from bayplan.api.objects import (
    Affinity,
    Container,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodMeta,
    PodSpec,
    Quantities,
    Requirement,
    ResourceRequirements,
)
from bayplan.api.quantity import QuantityError, nanos
from bayplan.config.complaints import Complaint, ConfigError, meant, shown
from bayplan.framework.profile import DEFAULT_SCHEDULER
from bayplan.sim.formats import HOSTNAME, PODS_PER_NODE
from bayplan.sim.workloads import PODS_MAX, Job, Workload, in_order, mould

GPU: Final = "nvidia.com/gpu"
GPU_MILLI: Final = "bayplan.dev/gpu-milli"
GPU_MODEL: Final = "gpu.model"
PHILLY_NODES: Final = 80  # the trace names none; with these, jobs wait
PHILLY_NODE_GPUS: Final = 8
AMOUNT_MAX: Final = 2**53
COMPLAINTS_MAX: Final = 100

Found: TypeAlias = Workload | tuple[Node, ...]


class Reading:
    """One file being read: what is wrong with it, and how many pods it has so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Complaint] = []
        self.pods = 0

    def complain(self, line: int, column: str, message: str) -> None:
        """Say what is wrong on a line; when there is too much, no further line is read."""
        self.found.append(Complaint(self.file, line, 0, column, message))


class Row:
    """A row by its columns."""

    def __init__(self, reading: Reading, line: int, values: Mapping[str, str]) -> None:
        self.values = values
        self._reading = reading
        self._line = line

    def complain(self, column: str, message: str) -> None:
        """Say what is wrong with a value."""
        self._reading.complain(self._line, column, message)

    def pods(self, column: str, number: int) -> int:
        """Count pods that a job has; return how many of them may be made."""
        self._reading.pods += number
        if self._reading.pods <= PODS_MAX:
            return number
        self.complain(column, f"expected at most {PODS_MAX:,} pods in all")
        return 1

    def number(self, column: str, *, least: float = 0, most: float = AMOUNT_MAX, absent: float | None = None) -> float:
        """Read a number; where there is none, what `absent` says."""
        text = self.values.get(column, "").strip()
        if not text and absent is not None:
            return absent
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if least <= number <= most:
            return number
        self.complain(column, f"expected a number of at least {least:g}, got {shown(text) if text else 'nothing'}")
        return least

    def whole(self, column: str, *, least: int = 0, most: int = AMOUNT_MAX, absent: int | None = None) -> int:
        """Read a whole number."""
        number = self.number(column, least=least, most=most, absent=absent)
        if number != int(number):
            self.complain(column, f"expected a whole number, got {shown(self.values[column])}")
        return int(number)

    def name(self, column: str, seen: set[str]) -> str:
        """Read a name that no other row has."""
        name = self.values.get(column, "").strip()
        if not name or name in seen:
            self.complain(column, f"expected a name of its own, got {shown(name) if name else 'nothing'}")
        seen.add(name)
        return name


# --- openb -----------------------------------------------------------------------------------------------------------


def _openb_nodes(rows: Iterator[Row]) -> tuple[Node, ...]:
    nodes, seen = [], set[str]()
    for row in rows:
        name, gpus, model = row.name("sn", seen), row.whole("gpu", most=10_000), row.values.get("model", "").strip()
        room: Quantities = {
            "cpu": f"{row.whole('cpu_milli')}m",
            "memory": f"{row.whole('memory_mib')}Mi",
            "pods": PODS_PER_NODE,
        }
        if gpus:
            room[GPU_MILLI] = str(1000 * gpus)
        labels = {HOSTNAME: name} | ({GPU_MODEL: model} if model else {})
        nodes.append(Node(metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=room)))
    return tuple(nodes)


class _OpenbAsk(NamedTuple):
    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    models: str


def _openb_pods(rows: Iterator[Row]) -> Workload:
    """Read pods: each runs as long as it did, from its start; without times they all come at once and stay."""
    moulds, jobs, seen = dict[_OpenbAsk, Pod](), list[Job](), set[str]()
    for row in rows:
        ask = _OpenbAsk(
            row.whole("cpu_milli"),
            row.whole("memory_mib"),
            row.whole("num_gpu", most=10_000) * row.whole("gpu_milli", most=1000),
            row.values.get("gpu_spec", "").strip(),
        )
        if ask not in moulds:
            moulds[ask] = _openb_mould(f"openb-{len(moulds)}", ask)
        at_s = row.number("creation_time", absent=0)
        start_s = row.number("scheduled_time", absent=at_s)
        end_s = row.number("deletion_time", absent=-1, least=-1)
        run_ms = None if end_s < 0 else _milli(max(end_s - start_s, 0))
        jobs.append(Job(row.name("name", seen), _milli(at_s), run_ms, (moulds[ask],)))
    return in_order(jobs)


def _openb_mould(name: str, ask: _OpenbAsk) -> Pod:
    requests: Quantities = {"cpu": f"{ask.cpu_milli}m", "memory": f"{ask.memory_mib}Mi"}
    if ask.gpu_milli:
        requests[GPU_MILLI] = str(ask.gpu_milli)
    affinity = None
    if ask.models:
        of_model = Requirement(key=GPU_MODEL, operator="In", values=tuple(ask.models.split("|")))
        terms = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(of_model,)),))
        affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=terms))
    return _mould(name, requests, affinity=affinity)


# --- Philly ----------------------------------------------------------------------------------------------------------


def _philly(rows: Iterator[Row]) -> Workload:
    """Read jobs: as many pods of eight GPUs as there are, and one of the rest; virtual clusters are namespaces."""
    moulds, jobs = dict[tuple[str, int], Pod](), list[Job]()
    for number, row in enumerate(rows):
        full, rest = divmod(row.whole("num_gpus", least=1), PHILLY_NODE_GPUS)
        full = row.pods("num_gpus", full)
        namespace = row.values.get("cluster", "").strip() or "default"
        pods = []
        for gpus in [PHILLY_NODE_GPUS] * full + [rest] * (rest > 0):
            if (namespace, gpus) not in moulds:
                moulds[namespace, gpus] = _mould(f"{namespace}-{gpus}", {GPU: str(gpus)}, namespace=namespace)
            pods.append(moulds[namespace, gpus])
        run_ms = _milli(row.number("duration"))
        jobs.append(Job(f"philly-{number:06}", _moment(row, "timestamp"), run_ms, tuple(pods)))
    return in_order(jobs, [_philly_node(f"philly-{number:02}") for number in range(PHILLY_NODES)])


def _philly_node(name: str) -> Node:
    room: Quantities = {GPU: str(PHILLY_NODE_GPUS), "pods": PODS_PER_NODE}
    return Node(metadata=ObjectMeta(name=name, labels={HOSTNAME: name}), status=NodeStatus(allocatable=room))


def _moment(row: Row, column: str) -> int:
    text = row.values.get(column, "").strip()
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        row.complain(column, f'expected a time such as "2017-10-09 07:01:55", got {shown(text) if text else "nothing"}')
        return 0


# --- ours ------------------------------------------------------------------------------------------------------------

OURS: Final = ("at_s", "run_s", "name", "pods", "namespace", "priority", "cpu", "memory", "ephemeral-storage")


def _jobs(rows: Iterator[Row]) -> Workload:
    """Read jobs in our own form: when they arrive, how long they run, what each pod asks for."""
    moulds, jobs, seen = dict[tuple[str, ...], Pod](), list[Job](), set[str]()
    for number, row in enumerate(rows):
        resources = [column for column in row.values if column in OURS[6:] or _is_resource(column)]
        if not number:
            for column in row.values.keys() - resources - set(OURS):
                row.complain(column, f"unknown column {shown(column)}; {meant(column, OURS)}")
        key = tuple(row.values.get(column, "") for column in (*OURS[4:6], *resources))
        if key not in moulds:
            requests: Quantities = {name: row.values[name].strip() for name in resources if row.values[name].strip()}
            moulds[key] = _mould(
                f"job-{len(moulds)}",
                _checked(row, requests),
                namespace=row.values.get("namespace", "").strip() or "default",
                priority=row.whole("priority", least=-(2**31), most=2**31 - 1, absent=0),
            )
        name = row.name("name", seen) if "name" in row.values else f"job-{number:06}"
        run_s = row.number("run_s", absent=-1, least=-1)
        pods = row.pods("pods", row.whole("pods", least=1, absent=1))
        run_ms = None if run_s < 0 else _milli(run_s)
        jobs.append(Job(name, _milli(row.number("at_s")), run_ms, (moulds[key],) * pods))
    return in_order(jobs)


def _is_resource(column: str) -> bool:
    return "/" in column or column.startswith("hugepages-")


def _checked(row: Row, requests: Quantities) -> Quantities:
    for column, text in requests.items():
        try:
            problem = f"expected a quantity of at least 0, got {shown(text)}" if nanos(text) < 0 else ""
        except QuantityError as error:
            problem = str(error)
        if problem:
            row.complain(column, problem)
    return requests


def _mould(
    name: str, requests: Quantities, *, namespace: str = "default", priority: int = 0, affinity: Affinity | None = None
) -> Pod:
    spec = PodSpec(
        scheduler_name=DEFAULT_SCHEDULER,
        priority=priority,
        affinity=affinity,
        containers=(Container(name="main", resources=ResourceRequirements(requests=requests)),),
    )
    return mould(name, Pod(metadata=PodMeta(namespace=namespace), spec=spec))


def _milli(seconds: float) -> int:
    return round(seconds * 1000)


# --- files -----------------------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A kind of file: the columns by which it is known, and who reads it."""

    name: str
    columns: frozenset[str]
    read: Callable[[Iterator[Row]], Found]  # who need not come to the end, where too much is wrong
    is_workload: bool = True


FORMS: Final = (
    Form("openb's nodes", frozenset({"sn", "cpu_milli", "memory_mib", "gpu"}), _openb_nodes, is_workload=False),
    Form("openb's pods", frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}), _openb_pods),
    Form("Philly's jobs", frozenset({"timestamp", "duration", "num_gpus"}), _philly),
    Form("jobs", frozenset({"at_s", "run_s"}), _jobs),
)


def form_of(raw: bytes) -> Form | None:
    """Tell a trace by the columns in its first line; None when it is none."""
    first = raw.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    columns = {column.strip().strip('"') for column in first.split(",")}
    return next((form for form in FORMS if form.columns <= columns), None)


def read(file: str, raw: bytes, form: Form) -> Found:
    """Read a trace; raise a ConfigError with all that is wrong."""
    reading = Reading(file)
    made: Found = ()
    try:
        made = form.read(_rows(reading, raw.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        reading.complain(raw[: error.start].count(b"\n") + 1, "", "expected text in UTF-8")
    if reading.found:
        raise ConfigError(reading.found[:COMPLAINTS_MAX])
    return made


def _rows(reading: Reading, text: str) -> Iterator[Row]:
    """Return the rows of a CSV text; one that has not the columns of the first is complained of and left out."""
    lines = csv.reader(text.splitlines(keepends=True), strict=True)
    columns: Sequence[str] = ()
    try:
        for cells in lines:
            if not columns:
                columns = [cell.strip() for cell in cells]
                twice = next((one for one in columns if columns.count(one) > 1), None)
                if twice is not None:
                    reading.complain(1, twice, "expected each column once")
                    return
            elif len(cells) == len(columns):
                yield Row(reading, lines.line_num, dict(zip(columns, cells, strict=True)))
            elif cells:
                problem = f"expected {len(columns)} columns as in the first line, got {len(cells)}"
                reading.complain(lines.line_num, "", problem)
            if len(reading.found) >= COMPLAINTS_MAX:
                return
    except csv.Error as error:
        reading.complain(lines.line_num, "", f"expected CSV: {error}")
