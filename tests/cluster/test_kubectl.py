"""The real kubectl against the playground: a scheduler's users do their daily work with it."""

import json
import os
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from bayplan.cli.playground import kubeconfig
from bayplan.playground.kubelets import Pace
from bayplan.playground.nodes import nodes
from bayplan.playground.running import Running, running
from bayplan.playground.server import Server
from tests.cluster.control_plane import Api
from tests.cluster.programs import program
from tests.cluster.sequence import LIVES

pytestmark = pytest.mark.slow

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeName: node-0, containers: [{name: c, image: "nginx:1"}]}
"""
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""


class Kubectl:
    """Types commands."""

    def __init__(self, up: Running, folder: Path) -> None:
        """Reach one server."""
        self.up = up
        self.file = folder / "kubeconfig"
        self.file.write_text(kubeconfig(up.url), encoding="utf-8")
        self.environment = {**os.environ, "KUBECONFIG": str(self.file), "HOME": str(folder)}

    def run(self, line: str, given: str = "", *, fails: bool = False) -> str:
        """Type a command that must succeed, or must fail, and give what it says."""
        done = subprocess.run(
            [str(program("kubectl")), *line.split()],
            input=given,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"kubectl {line}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def bind(self, pod: str, node: str) -> None:
        """Do a scheduler's part."""
        connection = HTTPConnection("127.0.0.1", self.up.server.port)
        body = json.dumps({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}})
        path = f"/api/v1/namespaces/default/pods/{pod}/binding"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        assert connection.getresponse().status == 201
        connection.close()


def stocked(server: Server) -> None:
    """Register three nodes."""
    for node in nodes(3, "plain", "2026-01-01T00:00:00Z"):
        server.verbs.create(server.kinds.core("nodes"), "", node)


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    """Run a playground with three nodes."""
    with running(pace=Pace(start_s=0.05, end_s=0.05)) as up:
        up.call(stocked)
        yield Kubectl(up, tmp_path)


def test_every_kind_can_be_got(kubectl: Kubectl) -> None:
    """In each form that kubectl prints, one object of each."""
    api = Api(kubectl.up.server.port)
    for path, body in LIVES.items():
        assert api.ask("POST", path, body)[0] == 201, path
    listed = kubectl.run("api-resources --verbs=list -o name").split()
    assert len(listed) > 40

    for form in ("wide", "json", "yaml", "name"):
        shown = kubectl.run(f"get {','.join(listed)} -A -o {form}")
        missing = [path for path, body in LIVES.items() if body["metadata"]["name"] not in shown]
        assert not missing, form
    assert kubectl.run("get nodes --sort-by=.metadata.name -o name").split()[0] == "node/n"


def test_a_pod_from_its_creation_to_its_end(kubectl: Kubectl) -> None:
    """Run, bind, wait, describe, change in every way, delete."""
    kubectl.run("run p --image=nginx:1 --labels=app=p")
    assert "Pending" in kubectl.run("get pod p")
    kubectl.bind("p", "node-1")
    kubectl.run("wait --for=condition=Ready pod/p --timeout=20s")
    assert "node-1" in kubectl.run("get pod p -o wide")
    assert "node-1" in kubectl.run("get pods --field-selector spec.nodeName=node-1 --sort-by=.metadata.name -o wide")
    assert "Node:" in kubectl.run("describe pod p")
    kubectl.run("label pod p a=b")
    kubectl.run("annotate pod p c=d")
    kubectl.run('patch pod p -p {"metadata":{"labels":{"s":"1"}}}')
    kubectl.run('patch pod p --type=merge -p {"metadata":{"labels":{"m":"1"}}}')
    kubectl.run('patch pod p --type=json -p [{"op":"add","path":"/metadata/labels/j","value":"1"}]')
    assert "a=b,app=p,j=1,m=1,s=1" in kubectl.run("get pod -l a=b,m --show-labels")
    kubectl.run("delete pod p --timeout=20s")
    assert "NotFound" in kubectl.run("get pod p", fails=True)


def test_a_deployment_is_applied_scaled_and_deleted(kubectl: Kubectl) -> None:
    """Client-side apply, rollout, scale, resources, and what follows from each."""
    kubectl.run("apply -f -", WEB)
    kubectl.run("rollout status deployment/web --timeout=20s")
    assert "2/2" in kubectl.run("get deployment web")
    assert "unchanged" in kubectl.run("apply -f -", WEB)
    assert "configured" in kubectl.run("apply -f -", WEB.replace("nginx:1", "nginx:2"))
    kubectl.run("rollout status deployment/web --timeout=20s")
    kubectl.run("scale deployment web --replicas=3")
    kubectl.run("set resources deployment web --limits=cpu=100m")
    kubectl.run("rollout status deployment/web --timeout=20s")
    assert kubectl.run("get pods -o name --field-selector status.phase=Running").count("pod/web") >= 3
    kubectl.run("delete deployment web --timeout=20s")
    kubectl.run("wait --for=delete pod -l app=web --timeout=20s")


def test_what_is_created_by_flags_arrives(kubectl: Kubectl) -> None:
    """Kubectl sends protobuf for these."""
    for line in (
        "create deployment d --image=nginx:1 --replicas=2 --port=80",
        "create job j --image=busybox:1 -- true",
        "create cronjob cj --image=busybox:1 --schedule=@daily",
        "create configmap c --from-literal=a=b",
        "create secret generic s --from-literal=a=b",
        "create serviceaccount sa",
        "create service clusterip svc --tcp=80:80",
        "create quota q --hard=cpu=1,pods=2",
        "create priorityclass high --value=5",
        "create poddisruptionbudget b --selector=app=d --min-available=50%",
        "create role r --verb=get --resource=pods",
        "create clusterrolebinding rb --clusterrole=r --user=u",
        "create namespace n",
    ):
        assert "created" in kubectl.run(line), line
    assert kubectl.run("get configmap c -o jsonpath={.data.a}") == "b"
    assert kubectl.run("get deployment d -o jsonpath={.spec.replicas}") == "2"
    assert "yes" in kubectl.run("auth can-i create pods")
    kubectl.run("delete namespace n --timeout=20s")


def test_a_node_is_tainted_cordoned_and_drained(kubectl: Kubectl) -> None:
    """A budget in the way keeps the pods; without it they go."""
    kubectl.run("apply -f -", WEB)
    kubectl.run("apply -f -", BUDGET)
    kubectl.run("rollout status deployment/web --timeout=20s")
    kubectl.run("wait --for=jsonpath={.status.currentHealthy}=2 pdb/keep --timeout=20s")
    kubectl.run("taint node node-0 k=v:NoSchedule")
    kubectl.run("cordon node-0")
    assert "SchedulingDisabled" in kubectl.run("get node node-0")
    assert "k=v:NoSchedule" in kubectl.run("describe node node-0")
    refused = kubectl.run("drain node-0 --timeout=3s --ignore-daemonsets", fails=True)
    assert "violate the pod's disruption budget" in refused
    kubectl.run("delete pdb keep")
    kubectl.run("delete deployment web --cascade=orphan")
    kubectl.run("delete replicaset --all --cascade=orphan")
    assert "drained" in kubectl.run("drain node-0 --timeout=20s --force --ignore-daemonsets")
    kubectl.run("uncordon node-0")


def test_a_watch_and_the_events_are_shown(kubectl: Kubectl) -> None:
    """`get -w` prints changes as rows; `events` reads what was written."""
    kubectl.run("run p --image=nginx:1")
    shown = kubectl.run("get pods -w --request-timeout=2s", fails=False)
    assert shown.splitlines()[1].startswith("p ")

    uid = kubectl.run("get pod p -o jsonpath={.metadata.uid}")
    about = {"kind": "Pod", "name": "p", "namespace": "default", "uid": uid}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Scheduled", "type": "Normal"}
    kubectl.run("create -f -", json.dumps({**event, "involvedObject": about, "message": "hello"}))
    assert "hello" in kubectl.run("events")
    assert "hello" in kubectl.run("get events --field-selector involvedObject.name=p")
    assert "hello" in kubectl.run("describe pod p")


def test_server_side_apply_is_told_to_be_missing(kubectl: Kubectl) -> None:
    """The reason reaches the person who typed it."""
    assert "server-side apply is not served" in kubectl.run("apply --server-side -f -", WEB, fails=True)
