"""What the API server would not have let pass is found, field by field."""

import pytest

from bayplan.api.decode import KINDS, decode_tree, in_words
from bayplan.api.validate import faults_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def faults(kind: str, **fields: object) -> list[str]:
    """Say what is wrong with an object of a kind; metadata has a name unless given."""
    group = next(group for group, name in KINDS if name == kind)
    version = f"{group}/v1" if group else "v1"
    thing = decode_tree({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields})
    return [f"{in_words(path)}: {message}" for path, message in faults_of(thing)]


def pod_faults(**spec: object) -> list[str]:
    """Say what is wrong with a pod; it has a container unless given."""
    return faults("Pod", spec={"containers": [{"name": "c"}], **spec})


def test_a_plain_object_is_right() -> None:
    """Of every kind that needs no more than a name."""
    assert pod_faults() == []
    assert [kind for _, kind in KINDS if faults(kind)] == [
        "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job",
    ]  # fmt: skip  # these need containers


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "metadata.name: expected a name, got nothing"),
        ({"name": "a/b"}, 'metadata.name: expected a name without slashes and unprintable characters, got "a/b"'),
        ({"name": "a" * 254}, "metadata.name: expected at most 253 characters, got 254"),
        (
            {"name": "a", "labels": {"-": "v"}},
            'metadata.labels.-: expected a label key such as example.com/name, got "-"',
        ),
        (
            {"name": "a", "labels": {"k": "a b"}},
            "metadata.labels.k: expected a label value of letters, digits, '-', '_' and '.', got \"a b\"",
        ),
    ],
)
def test_names_and_labels(metadata: dict[str, object], message: str) -> None:
    """A name is needed; labels have a form."""
    assert faults("Namespace", metadata=metadata) == [message]


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ({"cpu": "1..5Gi"}, 'expected a quantity, got "1..5Gi"'),
        ({"cpu": "-1"}, 'expected a quantity of nought or more, got "-1"'),
        ({"cpu": -1}, 'expected a quantity of nought or more, got "-1"'),
        ({"cpu": ""}, 'expected a quantity, got ""'),
    ],
)
def test_quantities_are_numbers_of_nought_or_more(requests: dict[str, object], message: str) -> None:
    """Wherever they stand."""
    container = {"name": "c", "resources": {"requests": requests}}
    path = "resources.requests.cpu"

    assert pod_faults(containers=[container]) == [f"spec.containers[0].{path}: {message}"]
    assert pod_faults(initContainers=[container]) == [f"spec.initContainers[0].{path}: {message}"]
    assert pod_faults(overhead=requests) == [f"spec.overhead.cpu: {message}"]
    assert pod_faults(resources={"requests": requests}) == [f"spec.{path}: {message}"]
    assert faults("Node", status={"allocatable": requests}) == [f"status.allocatable.cpu: {message}"]
    assert faults("PersistentVolume", spec={"capacity": requests}) == [f"spec.capacity.cpu: {message}"]
    assert faults("PersistentVolumeClaim", spec={"resources": {"requests": requests}}) == [f"spec.{path}: {message}"]
    assert faults("CSIStorageCapacity", capacity=requests["cpu"]) == [f"capacity: {message}"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"key": "a", "operator": "Near"}, '.operator: expected In or NotIn or Exists or DoesNotExist, got "Near"'),
        ({"key": "a", "operator": "In"}, ".values: expected values for In, got none"),
        ({"key": "a", "operator": "Exists", "values": ["v"]}, ".values: expected no values for Exists, got 1"),
        ({"operator": "Exists"}, ".key: expected a key, got nothing"),
        (
            {"key": "a", "operator": "In", "values": ["v", "x" * 2000]},
            ".values[1]: expected at most 1024 characters, got 2,000",
        ),
    ],
)
def test_label_selectors(line: dict[str, object], message: str) -> None:
    """In spread, in affinity, in budgets; an odd value is kube-scheduler's to refuse."""
    selector = {"matchExpressions": [line]}
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    near = {"podAffinity": {REQUIRED: [{"topologyKey": "z", "labelSelector": selector}]}}
    end = f"matchExpressions[0]{message}"

    assert pod_faults(topologySpreadConstraints=[spread]) == [f"spec.topologySpreadConstraints[0].labelSelector.{end}"]
    assert pod_faults(affinity=near) == [f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.{end}"]
    assert faults("PodDisruptionBudget", spec={"selector": selector}) == [f"spec.selector.{end}"]
    assert faults("PodDisruptionBudget", spec={"selector": {"matchLabels": {"a": "b c"}}}) == []


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Gt"}]},
         "matchExpressions[0].values: expected one value for Gt, got 0"),
        (
            {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]},
            'matchFields[0].operator: expected In or NotIn, got "Exists"',
        ),
    ],
)  # fmt: skip
def test_node_selectors(term: dict[str, object], message: str) -> None:
    """Required, preferred, and those of volumes."""
    required = {"nodeSelectorTerms": [term]}
    wish = {"weight": 1, "preference": term}
    at = "spec.affinity.nodeAffinity"

    assert pod_faults(affinity={"nodeAffinity": {REQUIRED: required}}) == [
        f"{at}.{REQUIRED}.nodeSelectorTerms[0].{message}"
    ]
    assert pod_faults(affinity={"nodeAffinity": {PREFERRED: [wish]}}) == [f"{at}.{PREFERRED}[0].preference.{message}"]
    assert faults("PersistentVolume", spec={"nodeAffinity": {"required": required}}) == [
        f"spec.nodeAffinity.required.nodeSelectorTerms[0].{message}"
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": []}, "spec.containers: expected at least one container, got none"),
        ({"containers": [{}]}, "spec.containers[0].name: expected a name, got nothing"),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 70000}]}]},
            "spec.containers[0].ports[0].hostPort: expected a number from 0 to 65535, got 70000",
        ),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "ICMP"}]}]},
            'spec.containers[0].ports[0].protocol: expected TCP or UDP or SCTP, got "ICMP"',
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: expected a number from 1 to 100, got 101",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 0, "podAffinityTerm": {"topologyKey": "z"}}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: expected a number from 1 to 100, got 0",
        ),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {}}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: expected at least one term, got none",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: expected a label key, got nothing",
        ),
        (
            {"tolerations": [{"operator": "Near", "key": "k"}]},
            'spec.tolerations[0].operator: expected Exists or Equal or Lt or Gt, got "Near"',
        ),
        ({"tolerations": [{}]}, 'spec.tolerations[0].operator: expected Exists without a key, got ""'),
        (
            {"tolerations": [{"operator": "Exists", "effect": "Never"}]},
            'spec.tolerations[0].effect: expected NoSchedule or PreferNoSchedule or NoExecute, got "Never"',
        ),
        (
            {"preemptionPolicy": "Sometimes"},
            'spec.preemptionPolicy: expected Never or PreemptLowerPriority, got "Sometimes"',
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
            "spec.volumes[0].persistentVolumeClaim.claimName: expected the name of a claim, got nothing",
        ),
        ({"schedulingGates": [{}]}, "spec.schedulingGates[0].name: expected a name, got nothing"),
    ],
)
def test_pods(spec: dict[str, object], message: str) -> None:
    """One fault each, and so in the moulds of workloads."""
    whole = {"containers": [{"name": "c"}], **spec}

    assert faults("Pod", spec=whole) == [message]
    assert faults("Deployment", spec={"template": {"spec": whole}}) == [f"spec.template.{message}"]


def test_spread_constraints() -> None:
    """All that is wrong is said."""
    assert pod_faults(topologySpreadConstraints=[{"nodeTaintsPolicy": "Maybe", "minDomains": 0}]) == [
        "spec.topologySpreadConstraints[0].maxSkew: expected a number from 1 to 2147483647, got 0",
        "spec.topologySpreadConstraints[0].topologyKey: expected a label key, got nothing",
        "spec.topologySpreadConstraints[0].whenUnsatisfiable: expected DoNotSchedule or ScheduleAnyway, got nothing",
        "spec.topologySpreadConstraints[0].minDomains: expected a number from 1 to 2147483647, got 0",
        'spec.topologySpreadConstraints[0].nodeTaintsPolicy: expected Honor or Ignore, got "Maybe"',
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("Node", {"spec": {"taints": [{"key": "k", "effect": "No"}]}},
         'spec.taints[0].effect: expected NoSchedule or PreferNoSchedule or NoExecute, got "No"'),
        ("Node", {"status": {"images": [{"sizeBytes": -1}]}},
         "status.images[0].sizeBytes: expected a number from 0 to 9223372036854775807, got -1"),
        ("StorageClass", {"volumeBindingMode": "Later"},
         'volumeBindingMode: expected Immediate or WaitForFirstConsumer, got "Later"'),
        ("CSINode", {"spec": {"drivers": [{"name": "d", "allocatable": {"count": -1}}]}},
         "spec.drivers[0].allocatable.count: expected a number from 0 to 2147483647, got -1"),
        ("PriorityClass", {"preemptionPolicy": "x"},
         'preemptionPolicy: expected Never or PreemptLowerPriority, got "x"'),
        ("RuntimeClass", {"overhead": {"podFixed": {"cpu": "x"}}},
         'overhead.podFixed.cpu: expected a quantity, got "x"'),
        ("Service", {"spec": {"selector": {"a": "x" * 2000}}},
         "spec.selector.a: expected at most 1024 characters, got 2,000"),
        ("ReplicationController", {"spec": {"replicas": -1}},
         "spec.replicas: expected a number from 0 to 2147483647, got -1"),
    ],
)  # fmt: skip
def test_other_kinds(kind: str, fields: dict[str, object], message: str) -> None:
    """One fault each."""
    assert faults(kind, **fields) == [message]


@pytest.mark.parametrize(("field", "value", "message"), [
    ("minAvailable", -1, "expected a number from 0 to 2147483647, got -1"),
    ("maxUnavailable", 2**31, "expected a number from 0 to 2147483647, got 2147483648"),
    ("minAvailable", "half", 'expected a number or a percentage such as "50%", got "half"'),
    ("maxUnavailable", "-5%", 'expected a number or a percentage such as "50%", got "-5%"'),
    ("maxUnavailable", "3", 'expected a number or a percentage such as "50%", got "3"'),
])  # fmt: skip
def test_budgets_are_numbers_or_percentages(field: str, value: object, message: str) -> None:
    """Of pods that must stay, or may go."""
    assert faults("PodDisruptionBudget", spec={field: value}) == [f"spec.{field}: {message}"]
    assert faults("PodDisruptionBudget", spec={field: "50%"}) == faults("PodDisruptionBudget", spec={field: 0}) == []
