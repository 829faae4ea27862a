"""`bayplan place`: what it reads, what it prints, and with which exit status it ends."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.architecture.files import ROOT
from tests.kit import case
from tests.unit.cli.run import NODE, POD, Ran, manifests, place, placed, run

SAMPLES = ROOT / "samples"
Golden = Callable[[str, str], None]


# --- what it prints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "words"), [
    case("a table", "samples.txt", ()),
    case("JSON", "samples.json", ("-o", "json")),
    case("YAML", "samples.yaml", ("-o", "yaml")),
    case("why a pod fits nowhere", "why-whale.txt", ("--why", "shop/whale")),
    case("why a pod goes where it goes", "why-web.txt", ("--why", "web-0")),
    case("why a pod runs where it runs", "why-search.txt", ("--why", "shop/search")),
    case("why, as JSON", "why-whale.json", ("--why", "shop/whale", "-o", "json")),
])  # fmt: skip
def test_the_samples(golden: Golden, name: str, words: tuple[str, ...]) -> None:
    """The README's first command, and what one asks next."""
    ran = place("-f", SAMPLES, *words)

    assert ran.status == 0
    golden(f"place/{name}", ran.out)


def test_json_is_one_object_of_decisions_and_what_was_refused(tmp_path: Path) -> None:
    """The fields are those that are documented, and no others."""
    whale = POD.replace("name: web,", "name: whale,").replace('"1"', '"9"')
    ran = place("-f", manifests(tmp_path, NODE, NODE.replace("one", "two"), POD, whale), "-o", "json")

    score = ran.json["decisions"][0].pop("score")
    assert isinstance(score, int)
    assert ran.json["decisions"][0].keys() == {"pod", "node", "message", "score", "among"}
    assert ran.json == {
        "decisions": [
            {"pod": "shop/web", "node": "one", "message": None, "score": score, "among": 2},
            {
                "pod": "shop/whale",
                "node": None,
                "message": "0/2 nodes are available: 2 Insufficient cpu.",
                "score": None,
                "among": 0,
            },
        ],
        "refused": [],
    }


def test_yaml_says_what_json_says() -> None:
    """Both are the same answer."""
    as_json, as_yaml = (place("-f", SAMPLES, "-o", form, "--why", "web-0") for form in ("json", "yaml"))

    assert msgspec.yaml.decode(as_yaml.out) == as_json.json


def test_answers_and_diagnostics_are_apart(tmp_path: Path) -> None:
    """Standard output has the answer alone, so that it can be piped."""
    ran = place("-f", manifests(tmp_path, NODE, POD, "kind: Ship\napiVersion: v1\n", POD), "-o", "json")

    assert placed(ran) == {"shop/web": "one"}
    assert [line.split(":")[1] for line in ran.err.splitlines()] == [" passed over", " refused"]


def test_nothing_to_place_is_said(tmp_path: Path) -> None:
    """An input without a waiting pod is no error."""
    ran = place("-f", manifests(tmp_path, NODE))

    assert (ran.status, ran.out) == (0, "No pod waits to be placed.\n")


# --- what it reads ---------------------------------------------------------------------------------------------------


def test_files_folders_and_standard_input_are_read_in_order(tmp_path: Path) -> None:
    """Every -f counts; a folder's files come by name, whatever lies below it; pods keep that order."""
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    manifests(folder, POD.replace("web,", "b,"), name="2.yml")
    manifests(folder, POD.replace("web,", "a,"), name="1.yaml")
    manifests(folder / "below", POD.replace("web,", "c,"), name="0.json.yaml")
    manifests(folder, "this is no manifest", name="notes.txt")
    last = msgspec.json.encode(msgspec.yaml.decode(POD.replace("web,", "z,")))

    ran = place("-f", manifests(tmp_path, NODE), "-f", "-", "-f", folder, "-o", "json", stdin=last)

    assert list(placed(ran)) == ["shop/z", "shop/a", "shop/b", "shop/c"]
    assert ran.status == 0


def test_what_kubectl_prints_is_read(tmp_path: Path) -> None:
    """The README's second command: one list of everything, from standard input."""
    items = [msgspec.yaml.decode(text) for text in (NODE, POD)]
    running = msgspec.yaml.decode(POD.replace("web,", "old,"))
    running["spec"]["nodeName"] = "one"
    running["metadata"] |= {"uid": "1", "managedFields": [{"manager": "kubelet"}]}
    done = msgspec.yaml.decode(POD.replace("web,", "done,"))
    done |= {"spec": done["spec"] | {"nodeName": "long-gone"}, "status": {"phase": "Succeeded"}}
    whole = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [*items, running, done]})

    ran = place("-f", "-", "--why", "shop/web", stdin=whole)

    assert ran.status == 0
    assert ran.out.startswith("shop/web goes to one, total ")
    assert "passed over: 1 Pod that has finished" in ran.err


WORKLOAD = """
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web}}]}}
"""


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_workload_counts_as_the_pods_it_would_make(tmp_path: Path, kind: str) -> None:
    """They are named after it, from nought."""
    ran = place("-f", manifests(tmp_path, NODE, WORKLOAD.format(kind=kind)), "-o", "json")

    assert list(placed(ran)) == ["shop/web-0", "shop/web-1", "shop/web-2"]


def test_pods_are_tried_by_priority(tmp_path: Path) -> None:
    """The more important pod takes the last room, though it was read later."""
    small = NODE.replace('cpu: "4"', 'cpu: "1"')
    first = POD.replace("web,", "important,").replace("spec: {", "spec: {priority: 10, ")
    ran = place("-f", manifests(tmp_path, small, POD, first), "-o", "json")

    assert list(placed(ran).items()) == [("shop/important", "one"), ("shop/web", None)]


def test_a_pod_on_its_way_out_does_not_wait(tmp_path: Path) -> None:
    """It is counted, and nothing is decided about it."""
    going = POD.replace("web,", 'web, deletionTimestamp: "2026-01-01T00:00:00Z",')
    ran = place("-f", manifests(tmp_path, NODE, going), "-o", "json")

    assert placed(ran) == {}
    assert "passed over: 1 Pod on its way out" in ran.err


# --- which rules it asks ---------------------------------------------------------------------------------------------


def test_a_configuration_is_obeyed(tmp_path: Path) -> None:
    """A rule that is off does not rule out."""
    cordoned = NODE + "spec: {unschedulable: true}\n"
    config = manifests(
        tmp_path,
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: x, plugins: {filter: {disabled: [{name: NodeUnschedulable}]}}}]",
        name="scheduler.yaml",
    )
    file = manifests(tmp_path, cordoned, POD)

    assert placed(place("-f", file, "-o", "json")) == {"shop/web": None}
    assert placed(place("-f", file, "-o", "json", "--config", config)) == {"shop/web": "one"}


def test_odd_numbers_of_groups_and_queues_are_named(tmp_path: Path) -> None:
    """What they come to is said, and nobody is turned away for it."""
    version = "apiVersion: scheduling.incubator.k8s.io/v1alpha1\n"
    group = f"{version}kind: PodGroup\nmetadata: {{name: train}}\nspec: {{minMember: -1}}\n"
    queue = f"{version}kind: Queue\nmetadata: {{name: q}}\nspec: {{weight: 0}}\n"
    ran = place("-f", manifests(tmp_path, NODE, POD, group, queue))

    assert ran.status == 0
    assert "odd: PodGroup default/train: spec.minMember is -1: its pods are no gang, each starts alone" in ran.err
    assert "odd: Queue q: spec.weight is 0: it is promised nothing and takes what others leave idle" in ran.err


BATCH = {
    "flat": """
actions: "reclaim, allocate, preempt"
plugins: "gang, priority, drf, predicates, proportion"
plugin.gang.jobready: "true"
plugin.gang.joborder: "true"
plugin.gang.preemptable: "true"
plugin.priority.joborder: "true"
plugin.priority.taskorder: "true"
plugin.drf.preemptable: "true"
plugin.drf.joborder: "true"
""",
    "tiers": """
actions: "allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
""",
}
IN_SESSIONS = """
apiVersion: v1
kind: Node
metadata: {name: big}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: scheduling.incubator.k8s.io/v1alpha1
kind: Queue
metadata: {name: default}
spec: {weight: 1}
---
apiVersion: scheduling.incubator.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 2, queue: default}
---
apiVersion: scheduling.incubator.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: large}
spec: {minMember: 5, queue: default}
"""
MEMBER = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {{scheduling.k8s.io/group-name: {group}}}}}
spec:
  schedulerName: kube-batch
  {kind}: [{{name: c, image: i, resources: {{requests: {requests}}}}}]
"""


def members(group: str, number: int, requests: str, kind: str = "containers") -> list[str]:
    """Return the manifests of a gang's pods."""
    made = [MEMBER.format(name=f"{group}-{n}", group=group, kind=kind, requests=requests) for n in range(number)]
    return made if kind == "containers" else [one + "  containers: [{name: d, image: i}]\n" for one in made]


@pytest.mark.parametrize("form", BATCH)
def test_gangs_are_placed_in_sessions_by_both_forms_of_kube_batches_file(tmp_path: Path, form: str) -> None:
    """One gang starts whole, one waits whole and says why; so do pods that ask for nothing, or only to begin with."""
    config = tmp_path / "batch.yaml"
    config.write_text(BATCH[form], encoding="utf-8")
    gangs = [*members("train", 2, "{cpu: 1}"), *members("large", 5, "{cpu: 1}")]
    alone = [*members("free", 1, "{}"), *members("first", 1, "{cpu: 1}", "initContainers")]
    alone = [one.replace("annotations: {scheduling.k8s.io/group-name: free}", "") for one in alone]
    alone = [one.replace("annotations: {scheduling.k8s.io/group-name: first}", "") for one in alone]
    ran = place("-f", manifests(tmp_path, IN_SESSIONS, *gangs, *alone), "--config", config, "-o", "json")
    said = {one["pod"]: one for one in json.loads(ran.out)["decisions"]}

    assert {name.removeprefix("default/"): one["node"] for name, one in said.items()} == {
        **dict.fromkeys(("train-0", "train-1", "free-0", "first-0"), "big"),
        **dict.fromkeys([f"large-{n}" for n in range(5)]),
    }
    assert said["default/large-0"]["message"].startswith("no room on any of 1 nodes for ")


def test_the_seed_says_where_to_begin(tmp_path: Path) -> None:
    """Equals take turns from there, the same every time."""
    file = manifests(tmp_path, NODE, NODE.replace("one", "two"), POD)

    assert [placed(place("-f", file, "--seed", seed, "-o", "json"))["shop/web"] for seed in "0101"] == [
        "one", "two", "one", "two",
    ]  # fmt: skip


def test_a_feature_gate_is_obeyed(tmp_path: Path) -> None:
    """With the gate on, a toleration may compare numbers."""
    tainted = NODE + 'spec: {taints: [{key: level, value: "5", effect: NoSchedule}]}\n'
    pod = POD.replace("spec: {", 'spec: {tolerations: [{key: level, operator: Gt, value: "3"}], ')
    file = manifests(tmp_path, tainted, pod)
    gate = "TaintTolerationComparisonOperators=true"

    assert placed(place("-f", file, "-o", "json", "--feature-gates", gate)) == {"shop/web": "one"}


def test_a_rule_about_each_node_tells_its_cost_once(tmp_path: Path) -> None:
    """Whoever loads it hears that there is a faster way."""
    rule = tmp_path / "lonely.py"
    rule.write_text("import bayplan\n\n\n@bayplan.score_node\ndef lonely(pod, node):\n    return 7\n")
    ran = place("-f", SAMPLES, "--plugin", rule)

    assert ran.err.count("rule lonely is called once for every pod and node") == 1


def test_a_rule_sees_the_fields_that_it_declares(tmp_path: Path) -> None:
    """What our structs do not carry is kept for it: of pods read, of pods made, and of nodes."""
    rule = tmp_path / "teams.py"
    rule.write_text(
        "import bayplan\n\n\n"
        '@bayplan.filter_node(fields=["pod.metadata.annotations", "node.status.nodeInfo"])\n'
        "def same_team(pod, node):\n"
        '    team = (pod.metadata.annotations or {}).get("team", "")\n'
        '    return node.object.status.node_info["osImage"].startswith(team)\n'
    )
    nodes = [NODE.replace("one", team).replace("status: {", f"status: {{nodeInfo: {{osImage: {team}-os}}, ")
             for team in ("blue", "red")]  # fmt: skip
    pod = POD.replace("namespace: shop", "namespace: shop, annotations: {team: red}")
    ran = place(
        "-f", manifests(tmp_path, *nodes, pod, WORKLOAD.format(kind="ReplicaSet")), "--plugin", rule, "-o", "json"
    )

    assert ran.json["refused"] == []
    assert placed(ran)["shop/web"] == "red"
    assert None not in placed(ran).values()


def test_a_field_that_cannot_be_kept_is_refused_with_its_rule(tmp_path: Path) -> None:
    """Before anything is read."""
    rule = tmp_path / "odd.py"
    rule.write_text(
        "import bayplan\n\n\n"
        '@bayplan.score_node(fields=["pod.spec.containers.tty"])\n'
        "def odd(pod, node):\n"
        "    return 1\n"
    )
    ran = place("-f", SAMPLES, "--plugin", rule)

    assert ran.status == 1
    assert "plugin odd: fields: pod.spec.containers: fields inside it cannot be kept one by one" in ran.err


# --- what it cannot do -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "message"), [
    case("no file", ("-f", "{tmp}/none.yaml"), "{tmp}/none.yaml: cannot be read: No such file or directory"),
    case("a folder without manifests", ("-f", "{tmp}/empty"), "{tmp}/empty: no file of it or below is called"),
    case("nothing asked", (), "Missing option '-f'"),
    case("an unknown option", ("-f", "{good}", "--wy", "x"), "No such option"),
    case("an unknown form", ("-f", "{good}", "-o", "xml"), "'xml' is not one of 'table', 'json', 'yaml'"),
    case("no such pod", ("-f", "{good}", "--why", "shop/we"), "no pod shop/we in the input; did you mean shop/web?"),
    case("no pod like it", ("-f", "{good}", "--why", "a/zz"), "no pod a/zz in the input; there are: shop/web"),
    case("no configuration", ("-f", "{good}", "--config", "{tmp}/c.yaml"), "{tmp}/c.yaml: cannot be read: No such"),
    case("no configuration but manifests", ("-f", "{good}", "--config", "{good}"), "expected one document, got 2"),
    case("an unknown gate", ("-f", "{good}", "--feature-gates", "Nope=true"), "Nope: unknown feature gate"),
    case("a gate that is off here", ("-f", "{good}", "--feature-gates", "GenericWorkload=true"),
         "GenericWorkload: only false, its default in Kubernetes 1.37, is supported"),
    case("no plugin", ("-f", "{good}", "--plugin", "{tmp}/p.py"), "{tmp}/p.py"),
    case("a plugin that is none", ("-f", "{good}", "--plugin", "{tmp}/empty.py"), "it defines no rule"),
    case("no such module", ("-f", "{good}", "--plugin", "nowhere:mine"), "No module named 'nowhere'"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    """One message, nothing on standard output, and exit status 1."""
    good = manifests(tmp_path, NODE, POD, name="good.yaml")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.py").write_text("")
    ran = place(*(word.format(tmp=tmp_path, good=good) for word in words))

    assert (ran.status, ran.out) == (1, "")
    assert message.format(tmp=tmp_path) in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_pods_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """A bare name is enough where it is there once."""
    file = manifests(tmp_path, NODE, POD, POD.replace("shop", "dock"))

    assert place("-f", file, "--why", "dock/web").status == 0
    assert "there are 2 pods called web; say which: shop/web, dock/web" in place("-f", file, "--why", "web").err


# --- what it costs ---------------------------------------------------------------------------------------------------


def loaded(*words: str) -> set[str]:
    """Return the modules that a command imports, run in a process of its own."""
    code = "import sys, bayplan.cli\ntry:\n  bayplan.cli.main()\nfinally:\n  print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, *words]
    return set(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stderr.split())


def test_help_imports_nothing_heavy() -> None:
    """`bayplan --help` does not wait for what it does not need."""
    assert not loaded("--help") & {"numpy", "msgspec", "rich", "yaml", "bayplan.cli.place"}


def test_nothing_is_imported_for_a_bar_that_nobody_sees() -> None:
    """In a pipe there is no progress bar."""
    assert not any(name.partition(".")[0] == "rich" for name in loaded("place", "-f", "samples"))


def test_help_explains_exit_statuses(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """The help is the first page of the manual."""
    monkeypatch.setenv("COLUMNS", "80")
    ran: Ran = run("place", "--help")

    assert ran.status == 0
    golden("place/help.txt", ran.out)
    golden("help.txt", run("--help").out)


def test_an_answer_may_be_cut_short_by_whoever_reads_it() -> None:
    """`bayplan place | head` ends quietly."""
    command = f"{sys.executable} -c 'import bayplan.cli; bayplan.cli.main()' place -f samples -o json | head -1"
    ran = subprocess.run(command, cwd=ROOT, shell=True, check=False, capture_output=True, text=True)  # noqa: S602

    assert ran.stdout == "{\n"
    assert "Error" not in ran.stderr
