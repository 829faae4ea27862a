"""Traces: what their rows become, and that nothing in a file raises anything but a message with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.objects import Node
from bayplan.api.requests import allocatable, fit_request
from bayplan.config.complaints import Complaint, ConfigError
from bayplan.sim import traces
from bayplan.sim.workloads import Workload
from tests.kit import case

OPENB_NODES = b"""sn,cpu_milli,memory_mib,gpu,model
node-a,64000,262144,2,P100
node-b,32000,131072,0,
"""
OPENB_TIMES = b"qos,pod_phase,creation_time,deletion_time,scheduled_time"
OPENB_PODS = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,"
    + OPENB_TIMES
    + b"""
pod-a,12000,16384,1,460,,LS,Running,100,400,130
pod-b,4000,8192,2,1000,P100|T4,BE,Running,50,90,50
pod-c,4000,8192,0,0,,BE,Pending,60,95,
"""
)
OPENB_BARE = b"""name,cpu_milli,memory_mib,num_gpu,gpu_milli
pod-a,12000,16384,1,460
"""
PHILLY = b"""timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.5,12,66.0,aa
2017-10-09 07:00:55,100,8,100,bb
2017-10-09 07:00:56,10,1,10,
"""
OURS = b"""at_s,run_s,name,pods,namespace,priority,cpu,memory,example.com/fpga
10,60,train,3,research,5,500m,1Gi,1
5.5,,serve,,,,2,,
"""


def read(raw: bytes) -> traces.Found:
    """Read a trace of whatever form it is."""
    form = traces.form_of(raw)
    assert form is not None
    return traces.read("trace.csv", raw, form)


def jobs(raw: bytes) -> Workload:
    """Read a workload."""
    found = read(raw)
    assert isinstance(found, Workload)
    return found


def test_openb_nodes_have_their_gpus_in_thousandths() -> None:
    """Each GPU is a thousand; a node's model is a label."""
    first, second = read(OPENB_NODES)

    assert isinstance(first, Node)
    assert isinstance(second, Node)
    assert allocatable(first) == {
        "cpu": 64000, "memory": 256 * 2**30, "pods": 110, "bayplan.dev/gpu-milli": 2000,
    }  # fmt: skip
    assert first.metadata.labels == {"kubernetes.io/hostname": "node-a", "gpu.model": "P100"}
    assert "bayplan.dev/gpu-milli" not in second.status.allocatable
    assert "gpu.model" not in second.metadata.labels


def test_openb_pods_run_from_their_start_as_long_as_they_did() -> None:
    """The first to arrive arrives at nought; one that was never scheduled runs from its creation to its end."""
    workload = jobs(OPENB_PODS)

    assert [(job.name, job.at_ms, job.run_ms) for job in workload.jobs] == [
        ("pod-b", 0, 40_000), ("pod-c", 10_000, 35_000), ("pod-a", 50_000, 270_000),
    ]  # fmt: skip


def test_openb_pods_ask_for_num_gpu_times_gpu_milli_on_one_of_their_models() -> None:
    """What stands between bars becomes values of one node affinity."""
    two, none, part = (job.moulds[0] for job in jobs(OPENB_PODS).jobs)

    assert [fit_request(pod).get("bayplan.dev/gpu-milli") for pod in (two, none, part)] == [2000, None, 460]
    assert two.spec.affinity is not None
    assert two.spec.affinity.node_affinity is not None
    required = two.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    (term,) = required.node_selector_terms
    assert [(one.key, one.operator, one.values) for one in term.match_expressions] == [
        ("gpu.model", "In", ("P100", "T4"))
    ]
    assert part.spec.affinity is None


def test_openb_lists_without_times_come_at_once_and_stay() -> None:
    """One of the published lists has no times."""
    (job,) = jobs(OPENB_BARE).jobs

    assert (job.at_ms, job.run_ms) == (0, None)


def test_philly_jobs_are_pods_of_eight_gpus_and_one_of_the_rest() -> None:
    """By arrival, whatever the order of the file; a virtual cluster is a namespace."""
    eight, one, twelve = jobs(PHILLY).jobs

    assert [fit_request(pod)["nvidia.com/gpu"] for pod in twelve.moulds] == [8, 4]
    assert [len(job.moulds) for job in (eight, one)] == [1, 1]
    assert [job.moulds[0].metadata.namespace for job in (eight, one, twelve)] == ["bb", "default", "aa"]
    assert [(job.at_ms, job.run_ms) for job in (eight, one, twelve)] == [(0, 100_000), (1000, 10_000), (60_000, 66_500)]


def test_philly_brings_eighty_nodes_of_eight_gpus() -> None:
    """The trace names no cluster."""
    cluster = jobs(PHILLY).cluster

    assert len({thing.metadata.name for thing in cluster if isinstance(thing, Node)}) == 80
    assert all(allocatable(thing)["nvidia.com/gpu"] == 8 for thing in cluster if isinstance(thing, Node))


def test_our_own_jobs_ask_for_whatever_their_columns_name() -> None:
    """Columns with a slash are resources; empty cells ask for nothing, an empty run time is for ever."""
    serve, train = jobs(OURS).jobs

    assert (serve.name, serve.at_ms, serve.run_ms, len(serve.moulds)) == ("serve", 0, None, 1)
    assert (train.name, train.at_ms, train.run_ms, len(train.moulds)) == ("train", 4500, 60_000, 3)
    assert fit_request(train.moulds[0]) == {"cpu": 500, "memory": 2**30, "example.com/fpga": 1}
    assert fit_request(serve.moulds[0]) == {"cpu": 2000}
    assert train.moulds[0].metadata.namespace == "research"
    assert train.moulds[0].spec.priority == 5


def test_rows_that_ask_alike_share_a_mould() -> None:
    """So a million pods of a thousand kinds are a thousand moulds."""
    rows = b"at_s,run_s,cpu\n" + b"".join(b"%d,1,%d\n" % (row, row % 3) for row in range(30))

    assert len({id(job.moulds[0]) for job in jobs(rows).jobs}) == 3


@pytest.mark.parametrize(("raw", "message"), [
    case("no number", OPENB_NODES.replace(b"32000", b"many"),
         'trace.csv:3: cpu_milli: expected a number of at least 0, got "many"'),
    case("a negative number", OPENB_PODS.replace(b"16384", b"-1"),
         'trace.csv:2: memory_mib: expected a number of at least 0, got "-1"'),
    case("no whole number", PHILLY.replace(b",12,", b",1.5,"),
         'trace.csv:2: num_gpus: expected a whole number, got "1.5"'),
    case("a name twice", OPENB_NODES.replace(b"node-b", b"node-a"),
         'trace.csv:3: sn: expected a name of its own, got "node-a"'),
    case("no time", PHILLY.replace(b"2017-10-09 07:00:55", b"yesterday"),
         'trace.csv:3: timestamp: expected a time such as "2017-10-09 07:01:55", got "yesterday"'),
    case("a cell too few", PHILLY.replace(b",aa", b""),
         "trace.csv:2: expected 5 columns as in the first line, got 4"),
    case("an unknown column", OURS.replace(b"memory", b"memroy"),
         'trace.csv:2: memroy: unknown column "memroy"; did you mean "memory"?'),
    case("a column twice", OURS.replace(b"memory", b"cpu"),
         "trace.csv:1: cpu: expected each column once"),
    case("no quantity", OURS.replace(b"500m", b"500x"),
         'trace.csv:2: cpu: expected a quantity, got "500x"'),
    case("a negative quantity", OURS.replace(b"500m", b"-1"),
         'trace.csv:2: cpu: expected a quantity of at least 0, got "-1"'),
    case("no arrival", OURS.replace(b"5.5", b""),
         "trace.csv:3: at_s: expected a number of at least 0, got nothing"),
    case("infinity", OURS.replace(b"5.5", b"inf"),
         'trace.csv:3: at_s: expected a number of at least 0, got "inf"'),
    case("too many pods", OURS.replace(b"train,3", b"train,5000001"),
         "trace.csv:2: pods: expected at most 5,000,000 pods in all"),
    case("no UTF-8", OURS.replace(b"serve", b"\xff"), "trace.csv:3: expected text in UTF-8"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_file_line_and_column(raw: bytes, message: str) -> None:
    """And nothing of the file is used."""
    with pytest.raises(ConfigError) as raised:
        read(raw)

    assert message in [str(one) for one in raised.value.complaints]


def test_all_that_is_wrong_is_told_at_once_within_bounds() -> None:
    """Up to a hundred complaints, however many there are."""
    rows = b"at_s,run_s\n" + b"x,y\n" * 1000

    with pytest.raises(ConfigError) as raised:
        read(rows)

    assert len(raised.value.complaints) == 100


@given(
    st.sampled_from([OPENB_NODES, OPENB_PODS, OPENB_BARE, PHILLY, OURS]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 20), st.binary(max_size=8)), max_size=4),
)
def test_any_bytes_are_read_or_complained_of(raw: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    """Whatever is done to a trace, it is one still, it is none, or the file is named with what is wrong."""
    for begin, length, put in edits:
        raw = raw[:begin] + put + raw[begin + length :]

    assert all(one.file == "trace.csv" and one.line for one in complaints(raw))


def complaints(raw: bytes) -> list[Complaint]:
    """Return what is wrong with a trace."""
    form = traces.form_of(raw)
    try:
        if form is not None:
            traces.read("trace.csv", raw, form)
    except ConfigError as error:
        return error.complaints
    return []
