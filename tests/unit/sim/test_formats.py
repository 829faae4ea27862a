"""Our own files: what they become, and what is said of one that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.requests import fit_request
from bayplan.config.complaints import Complaint, ConfigError
from bayplan.sim.formats import is_ours, read_cluster, read_workload
from tests.kit import ZONE, case

CLUSTER = b"""apiVersion: bayplan.dev/v1alpha1
kind: Cluster
nodes:
- name: plain
  count: 12
  zones: [north, south]
  template:
    status: {allocatable: {cpu: "32", memory: 128Gi}}
- name: gpu
  count: 1
  template:
    metadata: {labels: {model: A100}}
    spec: {taints: [{key: gpu, effect: NoSchedule}]}
    status: {capacity: {cpu: "8"}}
"""
WORKLOAD = b"""apiVersion: bayplan.dev/v1alpha1
kind: Workload
templates:
  web:
    metadata: {namespace: shop, labels: {app: web}}
    spec: {containers: [{name: main, resources: {requests: {cpu: 500m}}}]}
jobs:
- {name: web, template: web, pods: 3, at: 10m}
- {name: batch, template: web, count: 4, at: 5m, within: 2m, runs: 90s}
- {name: drawn, template: web, count: 50, within: 1h, arrivals: random, runs: 10m, runTimes: exponential}
"""


def test_a_pool_is_nodes_that_are_alike() -> None:
    """Each has its name as hostname; zones are dealt out in turn; room is capacity where nothing is allocatable."""
    found = read_cluster("c.yaml", CLUSTER)

    assert [node.metadata.name for node in found[:3]] == ["plain-00", "plain-01", "plain-02"]
    assert [node.metadata.labels[ZONE] for node in found[:3]] == ["north", "south", "north"]
    assert found[12].metadata.labels == {"model": "A100", "kubernetes.io/hostname": "gpu-0"}
    assert found[12].spec.taints[0].key == "gpu"
    assert found[12].status.allocatable == {"cpu": "8", "pods": "110"}
    assert len(found) == 13


def test_jobs_arrive_evenly_or_as_drawn() -> None:
    """The first of all arrives at nought; a stream's jobs are spread over the time in which they arrive."""
    workload = read_workload("w.yaml", WORKLOAD, seed=1)
    begin = min(job.at_ms for job in workload.jobs)
    named = {job.name: job for job in workload.jobs}
    steps = [named[f"batch-{number}"].at_ms - named["batch-0"].at_ms for number in range(4)]

    assert begin == 0
    assert steps == [0, 30_000, 60_000, 90_000]
    assert named["web"].at_ms - named["batch-0"].at_ms == 300_000
    assert (named["web"].run_ms, len(named["web"].moulds)) == (None, 3)
    assert named["batch-2"].run_ms == 90_000
    assert workload.pods == 57
    assert [job.at_ms for job in workload.jobs] == sorted(job.at_ms for job in workload.jobs)


def test_templates_become_what_the_api_server_would_store() -> None:
    """Defaults are filled in once, and all pods of a template share them."""
    first, *others = read_workload("w.yaml", WORKLOAD, seed=1).jobs

    assert first.moulds[0].spec.scheduler_name == "default-scheduler"
    assert first.moulds[0].metadata.namespace == "shop"
    assert fit_request(first.moulds[0]) == {"cpu": 500}
    assert all(pod is first.moulds[0] for job in others for pod in job.moulds)


def test_the_seed_draws_the_same_jobs_again() -> None:
    """And another draws others; a stream's draws depend on no other stream."""
    one, same, other = (read_workload("w.yaml", WORKLOAD, seed).jobs for seed in (1, 1, 2))
    alone = read_workload("w.yaml", WORKLOAD.replace(b"- {name: batch", b"- {name: shift"), 1).jobs

    assert one == same
    assert one != other
    assert [job.run_ms for job in alone if "drawn" in job.name] == [job.run_ms for job in one if "drawn" in job.name]


@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_drawn_run_times_have_the_mean_that_was_asked_for(kind: str) -> None:
    """Of many draws, to within a tenth."""
    text = WORKLOAD.replace(b"count: 50", b"count: 20000").replace(b"exponential", kind.encode())
    drawn = [job.run_ms or 0 for job in read_workload("w.yaml", text, 3).jobs if job.name.startswith("drawn")]

    assert 0.9 < sum(drawn) / len(drawn) / 600_000 < 1.1


@pytest.mark.parametrize(("raw", "message"), [
    case("another kind", CLUSTER.replace(b"Cluster", b"Clutter"),
         'f.yaml:2:1: kind: expected "Cluster", got "Clutter"'),
    case("another version", CLUSTER.replace(b"v1alpha1", b"v9"),
         'f.yaml:1:1: apiVersion: expected "bayplan.dev/v1alpha1", got "bayplan.dev/v9"'),
    case("no node at all", CLUSTER.replace(b"count: 12", b"count: 0"),
         "f.yaml:5:3: nodes[0].count: expected a number of at least 1 and at most 100000, got 0"),
    case("a typing error", CLUSTER.replace(b"zones", b"zoned"),
         'f.yaml:6:3: nodes[0].zoned: unknown field "zoned"; did you mean "zones"?'),
    case("no quantity", CLUSTER.replace(b"128Gi", b"128Gb"),
         'f.yaml:8:39: nodes[0].template.status.allocatable.memory: expected a quantity, got "128Gb"'),
    case("a name twice", CLUSTER.replace(b"name: gpu", b"name: plain"),
         'f.yaml:9:3: nodes[1].name: expected a name of its own, got "plain" a second time'),
    case("too many nodes", CLUSTER.replace(b"count: 12", b"count: 100000"),
         "f.yaml:3:1: nodes: expected at most 100,000 nodes in all"),
    case("no map", b"- 1", "f.yaml:1:1: expected a map with apiVersion and kind"),
])  # fmt: skip
def test_what_is_wrong_with_a_cluster_is_named_with_its_place(raw: bytes, message: str) -> None:
    """File, line, column, field, and what was expected there."""
    with pytest.raises(ConfigError) as raised:
        read_cluster("f.yaml", raw)

    assert message in [str(one) for one in raised.value.complaints]


@pytest.mark.parametrize(("raw", "message"), [
    case("a template that is not there", WORKLOAD.replace(b"template: web, pods", b"template: wob, pods"),
         'f.yaml:8:15: jobs[0].template: expected a template of this file, got "wob"; did you mean "web"?'),
    case("no duration", WORKLOAD.replace(b"runs: 90s", b"runs: soon"),
         """f.yaml:9:62: jobs[1].runs: must be a length of time such as "15s", "1m30s" or "500ms", not 'soon'"""),
    case("a negative duration", WORKLOAD.replace(b"runs: 90s", b"runs: -90s"),
         'f.yaml:9:62: jobs[1].runs: expected a length of time of at least 0, got "-1m30s"'),
    case("a pod that is bound", WORKLOAD.replace(b"spec: {", b"spec: {nodeName: n0, "),
         "f.yaml:6:12: templates.web.spec.nodeName: expected none: where a pod goes is what is simulated"),
    case("no quantity", WORKLOAD.replace(b"500m", b"half"),
         'f.yaml:6:61: templates.web.spec.containers[0].resources.requests.cpu: expected a quantity, got "half"'),
    case("a class that is not there", WORKLOAD.replace(b"spec: {", b"spec: {priorityClassName: high, "),
         "f.yaml:6:12: templates.web.spec.priorityClassName: expected a PriorityClass that exists; add it to the "
         'input, or give the pod a priority, got "high"'),
    case("too many pods", WORKLOAD.replace(b"pods: 3", b"pods: 5000000"),
         "f.yaml:7:1: jobs: expected at most 5,000,000 pods in all"),
    case("another way to arrive", WORKLOAD.replace(b"random", b"randomly"),
         'f.yaml:10:55: jobs[2].arrivals: unknown value "randomly"; did you mean "random"?'),
    case("nothing", b"", "f.yaml: is empty; expected a map with apiVersion and kind"),
])  # fmt: skip
def test_what_is_wrong_with_a_workload_is_named_with_its_place(raw: bytes, message: str) -> None:
    """File, line, column, field, and what was expected there."""
    with pytest.raises(ConfigError) as raised:
        read_workload("f.yaml", raw, 0)

    assert message in [str(one) for one in raised.value.complaints]


@given(
    st.sampled_from([CLUSTER, WORKLOAD]),
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 20), st.binary(max_size=8)), max_size=4),
)
def test_any_bytes_are_read_or_complained_of(raw: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    """Whatever is done to a file, it is read, or it is named with what is wrong."""
    for begin, length, put in edits:
        raw = raw[:begin] + put + raw[begin + length :]

    assert {one.file for one in complaints(raw)} <= {"f.yaml"}


def complaints(raw: bytes) -> list[Complaint]:
    """Return what is wrong with a file."""
    try:
        if b"Cluster" in raw:
            read_cluster("f.yaml", raw)
        else:
            read_workload("f.yaml", raw, 0)
    except ConfigError as error:
        return error.complaints
    return []


def test_ours_is_told_from_manifests() -> None:
    """By the group of its apiVersion, as YAML and as JSON."""
    assert is_ours(CLUSTER)
    assert is_ours(b'{"apiVersion": "bayplan.dev/v1alpha1", "kind": "Cluster"}')
    assert not is_ours(b"apiVersion: v1\nkind: Node\n")
