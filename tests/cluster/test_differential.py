"""One sequence of requests put to the playground and to the real kube-apiserver: the same codes, the same reasons."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bayplan.playground.running import running
from tests.cluster.control_plane import Api, control_plane

pytestmark = pytest.mark.slow

NS = "/api/v1/namespaces/default"
MAPS, PODS = f"{NS}/configmaps", f"{NS}/pods"
APPS = "/apis/apps/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


class Step(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = None
    media: str = "application/json"


def named(name: str, **fields: object) -> dict[str, object]:
    """Give an object of that name."""
    return {"metadata": {"name": name}, **fields}


def pod(name: str, **spec: object) -> dict[str, object]:
    """Give a pod."""
    return named(name, spec={"containers": [{"name": "c", "image": "i:1"}], **spec})


def bound(name: str, node: str, **meta: str) -> Step:
    """Bind a pod."""
    body = {"metadata": {"name": name, **meta}, "target": {"kind": "Node", "name": node}}
    return Step("POST", f"{PODS}/{name}/binding", body)


def workload(selects: str) -> dict[str, object]:
    """Give the spec of something with replicas."""
    inside = {"metadata": {"labels": {"app": "x"}}, "spec": pod("p")["spec"]}
    return {"replicas": 1, "selector": {"matchLabels": {"app": selects}}, "template": inside}


OBJECTS = [
    *(Step("GET", f"{MAPS}/a"), Step("POST", MAPS, named("a", data={"k": "v"})), Step("POST", MAPS, named("a"))),
    *(Step("GET", f"{MAPS}/a"), Step("GET", MAPS), Step("GET", "/api/v1/configmaps"), Step("POST", MAPS, {})),
    *(Step("POST", MAPS, named("Bad_Name")), Step("POST", MAPS, {"metadata": {"generateName": "g-"}})),
    Step("POST", MAPS, {"metadata": {"name": "b", "namespace": "other"}}),
    Step("POST", MAPS, {"kind": "Secret", "apiVersion": "v1", **named("b")}),
    Step("POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v2", **named("b")}),
    *(Step("POST", MAPS, b"{"), Step("POST", MAPS, b""), Step("POST", MAPS, b"x", "image/png")),
    *(Step("PUT", f"{MAPS}/a", named("a", data={"k": "w"})), Step("PUT", f"{MAPS}/a", named("b"))),
    Step("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}}),
    Step("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "uid": "other"}}),
    *(Step("PATCH", f"{MAPS}/a", {"data": {"m": "1"}}, MERGE), Step("PATCH", f"{MAPS}/a", {"data": None}, STRATEGIC)),
    Step("PATCH", f"{MAPS}/a", [{"op": "add", "path": "/data", "value": {"j": "1"}}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "test", "path": "/data/j", "value": "2"}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "remove", "path": "/data/no"}], JSON_PATCH),
    *(Step("PATCH", f"{MAPS}/none", {}, MERGE), Step("PATCH", f"{MAPS}/a", {}, "application/json")),
    Step("PATCH", f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
    *(Step("GET", f"{MAPS}?labelSelector=a%3Db"), Step("GET", f"{MAPS}?labelSelector=a%20in%20(")),
    *(Step("GET", f"{MAPS}?fieldSelector=metadata.name%3Da"), Step("GET", f"{MAPS}?fieldSelector=spec.x%3Da")),
    *(Step("GET", f"{MAPS}?limit=1"), Step("GET", f"{MAPS}?continue=nonsense")),
    Step("GET", f"{MAPS}?resourceVersionMatch=Exact"),
    *(Step("POST", f"{MAPS}?dryRun=All", named("dry")), Step("GET", f"{MAPS}/dry")),
    Step("DELETE", f"{MAPS}/a", {"preconditions": {"uid": "other"}}),
    *(Step("DELETE", f"{MAPS}/a"), Step("DELETE", f"{MAPS}/a"), Step("DELETE", MAPS)),
    *(Step("POST", MAPS, {"metadata": {"name": "f", "finalizers": ["x.y/z"]}}), Step("DELETE", f"{MAPS}/f")),
    *(Step("PATCH", f"{MAPS}/f", {"metadata": {"finalizers": None}}, MERGE), Step("GET", f"{MAPS}/f")),
    *(Step("GET", "/api/v1/nothings"), Step("GET", "/apis/no.such/v1/x"), Step("PATCH", MAPS, {}, MERGE)),
    *(Step("POST", f"{MAPS}/a", named("a")), Step("PUT", MAPS, named("a"))),
    Step("POST", "/api/v1/namespaces/none/configmaps", named("a")),
]
SCHEDULING = [
    *(Step("POST", "/api/v1/nodes", named("n1")), Step("POST", "/api/v1/nodes", named("n1"))),
    Step("PATCH", "/api/v1/nodes/n1/status", {"status": {"capacity": {"cpu": "4"}}}, STRATEGIC),
    *(Step("POST", PODS, pod("p")), bound("p", "n1", uid="other"), bound("p", ""), bound("p", "n1"), bound("p", "n2")),
    *(bound("none", "n1"), Step("POST", PODS, pod("gated", schedulingGates=[{"name": "g"}])), bound("gated", "n1")),
    Step("POST", PODS, pod("q", priorityClassName="none")),
    Step("POST", CLASSES, named("high", value=5)),
    *(Step("POST", PODS, pod("q", priorityClassName="high")), Step("POST", PODS, pod("r", priority=7))),
    Step("PATCH", f"{PODS}/p", {"spec": {"nodeName": "n2"}}, STRATEGIC),
    Step("PATCH", f"{PODS}/p", {"spec": {"schedulerName": "x"}}, MERGE),
    Step("PATCH", f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 100}}, MERGE),
    Step("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": [{"name": "h"}]}}, MERGE),
    Step("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, STRATEGIC),
    *(Step("GET", f"{PODS}?fieldSelector=spec.nodeName%3Dn1"), Step("GET", "/api/v1/pods?fieldSelector=status.x%3D1")),
    *(Step("DELETE", f"{PODS}/p"), bound("p", "n1"), Step("DELETE", f"{PODS}/p?gracePeriodSeconds=0")),
    *(Step("GET", f"{PODS}/p"), Step("DELETE", f"{PODS}/q"), Step("GET", f"{PODS}/q")),
    *(Step("POST", f"{PODS}/gated/eviction", named("gated")), Step("POST", f"{PODS}/none/eviction", named("none"))),
    *(Step("POST", f"{APPS}/deployments", named("d", spec=workload("x"))),),
    *(Step("POST", f"{APPS}/deployments", named("e", spec=workload("y"))),),
    *(Step("GET", f"{APPS}/deployments/d/scale"), Step("GET", f"{APPS}/deployments/e/scale")),
    Step("PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": 3}}, MERGE),
    Step("PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": -3}}, MERGE),
    Step("DELETE", f"{APPS}/deployments/d", {"propagationPolicy": "Sideways"}),
    Step("DELETE", f"{APPS}/deployments/d", {"propagationPolicy": "Background"}),
    Step("POST", BUDGETS, named("b", spec={"minAvailable": 1, "selector": {}})),
    *(Step("GET", f"{BUDGETS}/b"), Step("DELETE", f"{BUDGETS}/b")),
    *(Step("POST", LEASES, named("l", spec={"holderIdentity": "me"})), Step("DELETE", LEASES), Step("GET", LEASES)),
    Step("DELETE", "/api/v1/namespaces/kube-system"),
    *(Step("POST", "/api/v1/namespaces", named("gone")), Step("DELETE", "/api/v1/namespaces/gone")),
    *(Step("POST", "/api/v1/namespaces/gone/configmaps", named("a")), Step("DELETE", "/api/v1/namespaces")),
    Step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {}}}),
    *(Step("GET", "/version"), Step("GET", "/readyz"), Step("POST", "/version", {})),
]


RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
LIVES = {  # a collection, and an object that a real server takes
    f"{NS}/secrets": named("s", data={"k": "dg=="}),
    f"{NS}/serviceaccounts": named("s"),
    f"{NS}/resourcequotas": named("q", spec={"hard": {"cpu": "1"}}),
    f"{NS}/limitranges": named("l", spec={"limits": []}),
    f"{NS}/services": named("s", spec={"ports": [{"port": 80}]}),
    f"{NS}/replicationcontrollers": named("r", spec={**workload("x"), "selector": {"app": "x"}}),
    f"{APPS}/replicasets": named("r", spec=workload("x")),
    f"{APPS}/statefulsets": named("s", spec=workload("x")),
    f"{APPS}/daemonsets": named("d", spec={key: value for key, value in workload("x").items() if key != "replicas"}),
    "/apis/storage.k8s.io/v1/storageclasses": named("s", provisioner="x.y/z"),
    "/apis/storage.k8s.io/v1/csidrivers": named("d.x.y", spec={}),
    "/apis/storage.k8s.io/v1/csinodes": named("n", spec={"drivers": []}),
    "/apis/node.k8s.io/v1/runtimeclasses": named("r", handler="h"),
    CLASSES: named("p", value=1),
    f"{RBAC}/clusterroles": named("r", rules=[]),
    f"{RBAC}/clusterrolebindings": named("b", roleRef=ROLE_REF),
}
EVERY_KIND = [
    step
    for path, body in LIVES.items()
    for name in [dict(body["metadata"])["name"]]  # type: ignore[call-overload]
    for step in (
        *(Step("POST", path, body), Step("POST", path, body), Step("GET", path), Step("GET", f"{path}/{name}")),
        Step("PATCH", f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC),
        Step("PATCH", f"{path}/{name}", {"metadata": {"labels": {"c": "d"}, "resourceVersion": "1"}}, MERGE),
        Step("PATCH", f"{path}/{name}", [{"op": "remove", "path": "/metadata/labels/a"}], JSON_PATCH),
        *(Step("GET", f"{path}?labelSelector=a%3Db&limit=2"), Step("DELETE", f"{path}/{name}?dryRun=All")),
        *(Step("DELETE", f"{path}/{name}"), Step("GET", f"{path}/{name}"), Step("DELETE", f"{path}/{name}")),
        *(Step("POST", path, {"metadata": {}}), Step("GET", f"{path}?fieldSelector=x%3Dy")),
    )
]
MEANT = [  # where the playground answers with a Status of its own, on purpose; docs/playground.md names them
    ("GET", "/apis/no.such/v1/x"),  # there a plain text, not a Status
    ("POST", f"{PODS}/p/binding"),  # to a node without a name: there a 500
]


def asked(api: Api, steps: list[Step]) -> list[tuple[int, str]]:
    """Put the steps to a server; give each code and reason."""
    told = [api.ask(*step) for step in steps]
    return [(code, str(body.get("reason", "")) if body.get("kind") == "Status" else "") for code, body in told]


def test_codes_and_reasons_are_those_of_the_real_one(tmp_path: Path) -> None:
    """Every step is answered alike."""
    steps = [*OBJECTS, *SCHEDULING, *EVERY_KIND]
    with running() as up:
        ours = asked(Api(up.server.port), steps)
    with control_plane(tmp_path) as real:
        theirs = asked(real.api, steps)

    wrong = [
        f"{step.method} {step.path} {step.body}: {mine}, the real one {other}"
        for step, mine, other in zip(steps, ours, theirs, strict=True)
        if mine != other and (step[:2] not in MEANT or other[1])
    ]
    assert not wrong, "\n".join(wrong)
