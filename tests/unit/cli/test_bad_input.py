"""Bad input is named with its place and what was expected; the rest is used, and the exit status says so."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.kit import case
from tests.unit.cli.run import NODE, POD, manifests, place, placed

BAD_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: bad, namespace: shop}\n"
CONTAINERS = "spec: {containers: [{name: a}]}"
STEPS = "".join(f"{name}: &{name} [{', '.join(['*' + below] * 10)}]\n" for below, name in pairwise("abcdefgh"))
BOMB = f"a: &a [x, x, x, x, x, x, x, x, x, x]\n{STEPS}kind: Pod\napiVersion: v1\n"


@pytest.mark.parametrize(("document", "refused"), [
    case("malformed YAML", "kind: [Pod\nmetadata: {}",
         "document 3, line 15: expected YAML: while parsing a flow sequence: did not find expected ',' or ']'"),
    case("no kind", "apiVersion: v1\nmetadata: {name: x}",
         "document 3, line 14: kind: expected the kind of an object, got nothing"),
    case("no object", "- just\n- a list",
         "document 3, line 14: expected an object with apiVersion and kind, got a list"),
    case("no quantity", BAD_POD + "spec: {containers: [{name: a, resources: {requests: {memory: 1..5Gi}}}]}",
         'document 3, line 17: spec.containers[0].resources.requests.memory: expected a quantity, got "1..5Gi"'),
    case("a negative quantity", BAD_POD + 'spec: {containers: [{name: a, resources: {requests: {cpu: "-1"}}}]}',
         "document 3, line 17: spec.containers[0].resources.requests.cpu: expected a quantity of nought or more, "
         'got "-1"'),
    case("a text for a list", BAD_POD + "spec: {containers: none}",
         'document 3, line 17: spec.containers: expected a list, got "none"'),
    case("a long label", BAD_POD.replace("}", ', labels: {a: "' + "x" * 10_000_000 + '"}}') + CONTAINERS,
         "document 3, line 16: metadata.labels.a: expected a label value of at most 63 characters, got 10,000,000"),
    case("a second node of one name", NODE,
         "document 3, line 17: metadata.name: expected each Node once, got a second one "
         "(the first: {file}, document 1)"),
    case("a second pod of one name", POD,
         "document 3, line 17: metadata.name: expected each Pod once, got a second shop/web "
         "(the first: {file}, document 2)"),
    case("a pod on no node", BAD_POD + "spec: {nodeName: gone, containers: [{name: a}]}",
         'document 3, line 17: spec.nodeName: expected the name of a Node in the input, got "gone"; '
         "add the node, or leave the pod out"),
    case("a priority class that is not there", BAD_POD + "spec: {priorityClassName: high, containers: [{name: a}]}",
         "document 3, line 17: spec.priorityClassName: expected a PriorityClass that exists; add it to the input, "
         'or give the pod a priority, got "high"'),
    case("a list that is none", "kind: List\napiVersion: v1\nitems: {a: b}",
         "document 3, line 16: items: expected a list, got a map"),
    case("a cycle", "kind: Pod\napiVersion: v1\nmetadata: &m {name: x, labels: *m}",
         "document 3, line 16: expected no cycle, but &m contains itself"),
    case("an anchor that is not there", "kind: Pod\nmetadata: *nobody",
         "document 3, line 15: expected an anchor &nobody before the alias"),
    case("a tag", "kind: !!python/object:os.system Pod",
         "document 3, line 14: expected plain YAML, got the tag tag:yaml.org,2002:python/object:os.system"),
])  # fmt: skip
def test_what_is_refused_is_named_and_the_rest_is_used(tmp_path: Path, document: str, refused: str) -> None:
    """File, document, line, field and what was expected; the good pod is placed."""
    file = manifests(tmp_path, NODE, POD, "\n" + document)

    ran = place("-f", file, "-o", "json")

    assert ran.json["refused"] == [f"{file}, {refused.format(file=file)}"]
    assert f"bayplan: refused: {file}, " in ran.err
    assert placed(ran) == {"shop/web": "one"}
    assert ran.status == 2


def test_an_operator_that_does_not_exist(tmp_path: Path) -> None:
    """A selector's operator is one of those there are."""
    spread = (
        "spec: {containers: [{name: a}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Inn, values: [b]}]}}]}"
    )
    ran = place("-f", manifests(tmp_path, NODE, POD, "\n" + BAD_POD + spread), "-o", "json")

    assert ran.status == 2
    (refused,) = ran.json["refused"]
    assert "labelSelector.matchExpressions[0].operator: expected In or NotIn or Exists or DoesNotExist" in refused
    assert 'got "Inn"' in refused


def test_an_alias_bomb_is_defused(tmp_path: Path) -> None:
    """A document that unfolds to a billion values is refused before it does."""
    ran = place("-f", manifests(tmp_path, NODE, POD, "\n" + BOMB), "-o", "json")

    assert ran.status == 2
    (refused,) = ran.json["refused"]
    assert refused.startswith(
        f"{tmp_path / 'input.yaml'}, document 3, line 18: expected aliases that unfold to at most "
    )
    assert placed(ran) == {"shop/web": "one"}


@pytest.mark.parametrize(("text", "refused"), [
    case("cut off", '{"kind": "Pod", "apiVersion": "v1", ',
         "document 1, line 1: expected JSON: Input data was truncated"),
    case("no UTF-8", '{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "\udcff"}}', "document 1, line 1"),
    case("a list that is none", '{"kind": "PodList", "apiVersion": "v1",\n"items": "none"}',
         'document 1, line 2: items: expected a list, got "none"'),
    case("too deep", '{"a":' * 100_000, "document 1, line 1"),
])  # fmt: skip
def test_broken_json_is_named(tmp_path: Path, text: str, refused: str) -> None:
    """A file that is no JSON is named; other files are used."""
    file = tmp_path / "broken.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    ran = place("-f", file, "-f", manifests(tmp_path, NODE, POD), "-o", "json")

    assert [one.startswith(f"{file}, {refused}") for one in ran.json["refused"]] == [True]
    assert placed(ran) == {"shop/web": "one"}
    assert ran.status == 2


def test_an_item_of_a_list_is_named_by_its_place(tmp_path: Path) -> None:
    """In a list, as kubectl prints it, the field's path begins with the item."""
    text = (
        '{"kind": "List", "apiVersion": "v1", "items": [\n'
        '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "one"}, "status": {"allocatable": {"pods": "1"}}},\n'
        '{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"priority": "high"}},\n'
        '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "one"}}]}'
    )
    file = manifests(tmp_path, text, name="list.json")

    assert place("-f", file, "-o", "json").json["refused"] == [
        f'{file}, document 1, line 3: items[1].spec.priority: expected a whole number, got "high"',
        (
            f"{file}, document 1, line 4: items[2].metadata.name: expected each Node once, got a second one "
            f"(the first: {file}, document 1)"
        ),
    ]


def test_a_unknown_kind_is_counted_and_passed_over(tmp_path: Path) -> None:
    """What does not matter to scheduling is no reason to complain."""
    crd = "apiVersion: example.com/v1\nkind: Ship\nmetadata: {name: x}\n"
    ran = place("-f", manifests(tmp_path, NODE, POD, crd, crd, "kind: ConfigMap\napiVersion: v1\n"), "-o", "json")

    assert ran.json["refused"] == []
    assert "bayplan: passed over: 1 ConfigMap, 2 Ship\n" in ran.err
    assert ran.status == 0


def test_a_kind_of_another_group_is_passed_over_with_its_group(tmp_path: Path) -> None:
    """Whoever mistyped an apiVersion sees it; whoever has a kind of that name from elsewhere is not refused."""
    others = (POD.replace("v1", "v2"), "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: x}\n")
    ran = place("-f", manifests(tmp_path, NODE, *others), "-o", "json")

    assert placed(ran) == {}
    assert "bayplan: passed over: 1 Pod of v2, 1 Service of serving.knative.dev/v1\n" in ran.err
    assert ran.status == 0


def test_a_workload_s_pods_are_refused_where_the_workload_stands(tmp_path: Path) -> None:
    """Five pods of one Deployment are one message, at its template."""
    deployment = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      priorityClassName: high
      containers: [{name: web}]
"""
    file = manifests(tmp_path, NODE, deployment)

    assert place("-f", file, "-o", "json").json["refused"] == [
        (
            f"{file}, document 2, line 17: spec.template.spec.priorityClassName: expected a PriorityClass that exists; "
            'add it to the input, or give the pod a priority, got "high"'
        )
    ]


def test_many_refusals_are_cut_on_the_screen_only(tmp_path: Path) -> None:
    """The first twenty are shown; JSON has them all."""
    bad = [BAD_POD.replace("bad", f"bad-{n}") + "spec: {containers: none}\n" for n in range(30)]
    ran = place("-f", manifests(tmp_path, NODE, *bad), "-o", "json")

    assert len(ran.json["refused"]) == 30
    assert ran.err.count("bayplan: refused: ") == 21
    assert "bayplan: refused: 10 more; -o json lists all" in ran.err


RULES = {
    "raises": ("return 1 // 0", "raised ZeroDivisionError: integer division or modulo by zero (rule.py, line 7)"),
    "dtype": ("return np.ones(len(nodes))", "got 1 values of dtype float64"),
    "length": ("return np.arange(3)", "for each of 1 nodes, got 3 values of dtype int64"),
    "range": ("return np.full(len(nodes), 101)", "expected scores from 0 to 100, got 101"),
}


@pytest.mark.parametrize("wrong", RULES)
def test_a_rule_that_answers_wrongly_is_named(tmp_path: Path, wrong: str) -> None:
    """The pod waits with the message, nothing crashes, and the exit status is that of something refused."""
    body, problem = RULES[wrong]
    rule = tmp_path / "rule.py"
    rule.write_text(f"import bayplan\nimport numpy as np\n\n\n@bayplan.score\ndef mine(pod, nodes):\n    {body}\n")

    ran = place("-f", manifests(tmp_path, NODE, POD), "--plugin", rule, "-o", "json")

    (refused,) = ran.json["refused"]
    assert refused.startswith('plugin "mine" failed at score for pod shop/web: ')
    assert problem in refused
    assert [one["message"] for one in ran.json["decisions"]] == [refused]
    assert ran.status == 2
