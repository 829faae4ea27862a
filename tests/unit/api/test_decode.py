"""Objects come out of JSON and YAML whole, or are refused by file, line and field."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.api.claims import PersistentVolumeClaim
from bayplan.api.decode import (
    KINDS,
    DecodeError,
    Found,
    Passed,
    Refused,
    UnknownKindError,
    decode,
    decode_pod,
    decode_tree,
    read_manifests,
)
from bayplan.api.objects import Namespace, Node, Object, Pod, uid_of
from bayplan.api.policies import PodDisruptionBudget

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"long": "x" * 100},
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}],
    },
    "spec": {
        "hostUsers": False,
        "containers": [
            {
                "name": "c",
                "image": "app",
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}],
            }
        ],
        "volumes": [
            {"name": "disk", "awsElasticBlockStore": {"volumeID": "v"}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "san", "iscsi": {"iqn": "q", "lun": 1}},
        ],
    },
}


def read(text: str | bytes) -> list[Found]:
    """Read a manifest called pods.yaml."""
    return list(read_manifests("pods.yaml", text.encode() if isinstance(text, str) else text))


def said(text: str | bytes) -> list[str]:
    """Say what of a manifest was refused."""
    return [str(found) for found in read(text) if isinstance(found, Refused)]


# --- one object ------------------------------------------------------------------------------------------------------


def test_a_pod_has_the_fields_that_rules_read() -> None:
    """Odd names included; the rest is passed over."""
    pod = decode_pod(json.dumps(POD).encode())

    assert (pod.key, uid_of(pod)) == ("shop/web", "pod/shop/web")
    assert pod.spec.containers[0].ports[0].host_ip == "10.0.0.1"
    assert pod.spec.containers[0].resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert [
        volume.aws_elastic_block_store and volume.aws_elastic_block_store.volume_id for volume in pod.spec.volumes
    ] == [
        "v",
        None,
        None,
    ]
    assert pod.spec.volumes[2].iscsi is not None
    assert pod.spec.host_users is False
    assert (pod.spec.priority, pod.spec.node_selector, pod.spec.affinity) == (None, None, None)


def test_kind_and_group_choose_the_struct() -> None:
    """The version does not matter within a group."""
    assert decode(json.dumps(POD).encode()) == decode_tree(POD) == decode_pod(json.dumps(POD).encode())
    budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    assert isinstance(decode_tree(budget), PodDisruptionBudget)


def test_a_budget_says_how_many_stay_and_whose_it_is() -> None:
    """A number or a percentage, and the controller that owns it."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    found = [
        decode_tree({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "ownerReferences": [owner]}, "spec": spec,
        })
        for spec in ({"minAvailable": 3}, {"maxUnavailable": "25%"}, {})
    ]  # fmt: skip

    assert all(isinstance(one, PodDisruptionBudget) and one.metadata.owner_references[0].uid == "u" for one in found)
    assert [(one.spec.min_available, one.spec.max_unavailable) for one in found] == [  # type: ignore[attr-defined]
        (3, None), (None, "25%"), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "kind", "told"),
    [
        ("serving.knative.dev/v1", "Service", "Service of serving.knative.dev/v1"),
        ("v1", "Secret", "Secret"),
        ("v2", "Pod", "Pod of v2"),
        ("apps/v1", "Pod", "Pod of apps/v1"),
    ],
)
def test_other_kinds_are_unknown(version: str, kind: str, told: str) -> None:
    """A kind of the same name in another group is another kind."""
    with pytest.raises(UnknownKindError) as error:
        decode(json.dumps({"apiVersion": version, "kind": kind}).encode())

    assert error.value.kind == told


def test_null_is_gos_zero_value() -> None:
    """Except where absent is told from empty."""
    pod = decode_pod(
        b'{"metadata":{"name":"a","labels":{"k":null},"ownerReferences":null},'
        b'"spec":{"priority":null,"hostNetwork":null,"containers":[null,{"name":"c","ports":null,'
        b'"resources":{"requests":{"cpu":null}}}],"tolerations":[{"key":null}],"nodeSelector":null}}'
    )

    assert pod.metadata.labels == {"k": ""}
    assert [container.name for container in pod.spec.containers] == ["", "c"]
    assert pod.spec.containers[1].resources.requests == {"cpu": 0}
    assert (pod.spec.priority, pod.spec.node_selector, pod.spec.host_network) == (None, None, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": 3}, "spec: expected a map, got 3"),
        ({"spec": {"containers": {}}}, "spec.containers: expected a list, got a map"),
        ({"spec": {"containers": [{"name": 1}]}}, "spec.containers[0].name: expected a text, got 1; put it in quotes"),
        ({"spec": {"priority": 2**31}}, "spec.priority: expected a whole number <= 2147483647, got 2147483648"),
        ({"spec": {"overhead": {"a": "1", "cpu": True}}}, "spec.overhead.cpu: expected a quantity, got true"),
        ({"metadata": {"labels": {"a.b/c": 1}}}, "metadata.labels[a.b/c]: expected a text, got 1; put it in quotes"),
        ({"spec": {"hostNetwork": "yes"}}, 'spec.hostNetwork: expected true or false, got "yes"'),
        ({"kind": 3}, "kind: expected the kind of an object, got 3"),
        ({"apiVersion": None}, "apiVersion: expected the apiVersion of an object, got nothing"),
    ],
)
def test_a_wrong_type_is_named_with_its_field(change: dict[str, object], message: str) -> None:
    """With what was expected, and what was there."""
    with pytest.raises(DecodeError) as error:
        decode(json.dumps({**POD, **change}).encode())

    assert str(error.value) == message


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"3", b'"\xff"', b'{"metadata":{"name":"\xff"}}', b"[" * 100_000, b'{"a":' * 100_000, b"{}{}"],
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """Never with another error."""
    for reader in (decode, decode_pod):
        with pytest.raises(DecodeError):
            reader(raw)


# --- manifests -------------------------------------------------------------------------------------------------------


def test_documents_are_read_in_order() -> None:
    """Objects, kinds that do not matter, and what is refused."""
    text = (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\n---\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: north\nspec:\n  unschedulable: maybe\n"
    )

    namespace, secret, refused = read(text)

    assert isinstance(namespace, Namespace)
    assert secret == Passed("Secret")
    assert str(refused) == 'pods.yaml, document 4, line 14: spec.unschedulable: expected true or false, got "maybe"'


def test_lists_are_taken_apart() -> None:
    """Those of kubectl, those of the API server, whose items have no kind, and lists of lists."""
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": POD["spec"]}]}
    both = {"apiVersion": "v1", "kind": "List", "items": [POD, pods, {"apiVersion": "v1", "kind": "Event"}]}

    for text in (json.dumps(both), json.dumps(both, indent=2), f"# YAML\n{json.dumps(both)}"):
        first, second, event = read(text)
        assert isinstance(first, Pod)
        assert isinstance(second, Pod)
        assert (first.metadata.name, second.metadata.name, event) == ("web", "p", Passed("Event"))


def test_a_bad_item_of_a_list_is_found() -> None:
    """By its path from the top, and its line, in YAML and JSON."""
    bad = {**POD, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1..5Gi"}}}]}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, bad, POD]}, indent=1)
    line = text[: text.index("1..5Gi")].count("\n") + 1

    expected = 'items[1].spec.containers[0].resources.requests.cpu: expected a quantity, got "1..5Gi"'
    assert said(text) == [f"pods.yaml, document 1, line {line}: {expected}"]
    assert said(f"# YAML\n{text}") == [f"pods.yaml, document 1, line {line + 1}: {expected}"]
    assert len([found for found in read(text) if isinstance(found, Pod)]) == 2


def test_json_objects_may_follow_each_other() -> None:
    """As `kubectl` takes them; rubbish at the end does not lose what came before."""
    one = '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}'

    found = read(f"{one % 'a'}\n{one % 'b'} {{")

    assert [type(one).__name__ for one in found] == ["Namespace", "Namespace", "Refused"]
    assert str(found[2]) == "pods.yaml, document 3, line 2: expected JSON: Input data was truncated"


def test_yaml_may_begin_with_a_brace() -> None:
    """Not everything with a brace is JSON."""
    (found,) = read("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")

    assert isinstance(found, Namespace)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("3", ["pods.yaml, document 1, line 1: expected an object with apiVersion and kind, got 3"]),
        ("- a", ["pods.yaml, document 1, line 1: expected an object with apiVersion and kind, got a list"]),
        ("a: 1", ["pods.yaml, document 1, line 1: kind: expected the kind of an object, got nothing"]),
        ("a: b: c", ["pods.yaml, document 1, line 1: expected YAML: mapping values are not allowed in this context"]),
        ("a: &a [*a]", ["pods.yaml, document 1, line 1: expected no cycle, but &a contains itself"]),
        ("[" * 5000, ["pods.yaml, document 1, line 1: expected JSON, got brackets nested too deeply"]),
        ("", []),
        ("# nothing\n", []),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(text: str, messages: list[str]) -> None:
    """Each with a message of one line."""
    assert said(text) == messages


def test_a_label_of_ten_megabytes_is_refused_and_not_repeated() -> None:
    """The message stays short."""
    label = "x" * 10_000_000
    expected = "metadata.labels.app: expected a label value of at most 63 characters, got 10,000,000"

    as_yaml = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a, labels: {{app: {label}}}}}\n"
    metadata = {"name": "a", "labels": {"app": label}}
    as_json = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    assert said(as_yaml) == [f"pods.yaml, document 1, line 3: {expected}"]
    assert said(as_json) == [f"pods.yaml, document 1, line 1: {expected}"]


def test_lists_inside_each_other_are_bounded() -> None:
    """Ten deep is deeper than anybody needs."""
    text = '{"apiVersion":"v1","kind":"List","items":[' * 30 + "]}" * 30

    for form in (text, f"# YAML\n{text}"):
        (message,) = said(form)
        assert message.endswith("expected at most 10 lists inside each other")


def test_a_huge_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size alone."""
    monkeypatch.setattr("bayplan.api.decode.MANIFEST_BYTES_MAX", 10)

    assert said("apiVersion: v1") == ["pods.yaml: expected at most 10 bytes, got 14; give it in several files"]


def test_the_samples_are_understood() -> None:
    """All of them, without a complaint."""
    for sample in sorted((Path(__file__).parents[3] / "samples").glob("*.yaml")):
        found = read(sample.read_bytes())

        assert found
        assert all(isinstance(one, Object) for one in found), sample.name


# --- no input breaks it ----------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
FIELD_NAMES = """
    apiVersion kind metadata spec status items name labels containers resources requests limits affinity nodeAffinity
    requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms matchExpressions tolerations volumes ports
    topologySpreadConstraints template replicas selector taints allocatable images drivers claimRef cpu
"""
FIELDS = st.sampled_from(FIELD_NAMES.split())
TREES = st.recursive(
    LEAVES | st.sampled_from([kind for _, kind in KINDS] + ["v1", "List", "apps/v1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)


@given(TREES, st.sampled_from(sorted(KINDS)))
def test_no_tree_breaks_the_decoder(tree: object, known: tuple[str, str]) -> None:
    """It is an object, or a DecodeError."""
    group, kind = known
    whole = {**tree, "apiVersion": f"{group}/v1" if group else "v1", "kind": kind} if isinstance(tree, dict) else tree
    try:
        assert isinstance(decode_tree(whole), Object)
    except DecodeError as error:
        assert str(error)  # noqa: PT017  # either way out is right


@settings(max_examples=200)
@given(TREES.map(json.dumps).map(str.encode) | st.binary(max_size=100), st.booleans())
def test_no_file_breaks_the_reader(text: bytes, as_yaml: bool) -> None:  # noqa: FBT001
    """Objects, passed kinds and refusals that can be printed."""
    for found in read(b"# YAML\n" + text if as_yaml else text):
        assert str(found)


def test_claims_are_read_with_what_they_ask_for() -> None:
    """As an example of the kinds in claims.py."""
    (claim,) = read(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: s}\n"
        "spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1Gi}}}"
    )

    assert isinstance(claim, PersistentVolumeClaim)
    assert (claim.spec.storage_class_name, claim.spec.resources.requests) == ("", {"storage": "1Gi"})
    assert not isinstance(claim, Node)
