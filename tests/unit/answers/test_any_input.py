"""No input crashes reading, the table or the lane: sound manifests with anything anywhere, and bytes of any kind."""

import copy
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.answers.missing import missing
from bayplan.answers.snapshot import Snapshot
from bayplan.api.yamltree import documents
from bayplan.config.profiles import profiles
from bayplan.core.pod_lane import PodLane
from bayplan.framework.registry import Registry
from tests.architecture.files import ROOT

USUAL = profiles(None, Registry.installed())
SOUND: list[Any] = [
    tree
    for file in sorted((ROOT / "samples").glob("*.yaml"))
    for document in documents(file.read_bytes())
    if (tree := getattr(document, "tree", None)) is not None
]
MORE = """
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {storageClassName: disks, capacity:
  {storage: 30Gi}, accessModes: [ReadWriteOnce], csi: {driver: disks.csi.example.com, volumeHandle: x}, nodeAffinity:
  {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}}
- {apiVersion: v1, kind: Pod, metadata: {name: fussy, namespace: shop, uid: abc, labels: {app: fussy}}, spec: {affinity:
  {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, preference: {matchExpressions:
  [{key: zone, operator: Gt, values: ["3"]}]}}]}, podAffinity: {preferredDuringSchedulingIgnoredDuringExecution:
  [{weight: 3, podAffinityTerm: {topologyKey: zone,
  labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}}]}},
  containers: [{name: a, image: b, ports: [{hostPort: 80, containerPort: 80}]}], volumes: [{name: a, ephemeral:
  {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}}], resources: {requests: {cpu: 1}},
  overhead: {cpu: 10m}}, status: {nominatedNodeName: north-1}}
"""
SOUND += msgspec.yaml.decode(MORE)

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
    st.sampled_from(["", "0", "-1", "1..5Gi", "1e400", "9" * 400, "Ki", "Exists", "north-1", "disks", "*"]),
)  # fmt: skip


def paths(tree: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """List every place in a tree but its root."""
    below: list[tuple[str | int, ...]] = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            below += [(*path, key), *paths(value, (*path, key))]
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            below += [(*path, place), *paths(value, (*path, place))]
    return below


def put(tree: Any, path: tuple[str | int, ...], value: object) -> None:  # noqa: ANN401 - any tree
    """Write a value into a tree."""
    for step in path[:-1]:
        tree = tree[step]
    tree[path[-1]] = value


@st.composite
def clusters(draw: st.DrawFn) -> list[object]:
    """Return the samples with a few odd values in them."""
    things = copy.deepcopy(SOUND)
    places = [(number, path) for number, thing in enumerate(things) for path in paths(thing)]
    for number, path in draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        if path in paths(things[number]):
            put(things[number], path, draw(ODD))
    return things


def go_through(raw: bytes) -> None:
    """Read, place and look for what is missing."""
    snapshot = Snapshot()
    snapshot.read("input", raw)
    cluster = snapshot.cluster()
    for decision in PodLane(cluster.table, USUAL).run(cluster.waiting):
        assert decision.node is not None or decision.message
        assert decision.fault is None, decision.message
    assert all(isinstance(note, str) for note in missing(cluster.objects))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_anything_anywhere_is_used_or_refused(things: list[object]) -> None:
    """A manifest with an odd value is read, or refused in words; its neighbours are placed."""
    go_through(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": things}))


@settings(max_examples=100)
@given(st.one_of(st.binary(max_size=200), st.text(alphabet="{}[]:,-&*!|>'\"\n ak1", max_size=80).map(str.encode)))
def test_any_bytes_are_used_or_refused(raw: bytes) -> None:
    """What is no manifest is refused in words."""
    go_through(raw)
