"""One sequence of requests: every verb, selector, patch, conflict, precondition and watch, on every kind.

Nothing in it is refused for a field's value alone: what a kind finds valid is not what is compared.
Not here: putting it to servers (`differences.py`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

NS = "/api/v1/namespaces/default"
MAPS, PODS = f"{NS}/configmaps", f"{NS}/pods"
APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
STORAGE = "/apis/storage.k8s.io/v1"
DEVICES = "/apis/resource.k8s.io/v1"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/shop.example.com/v1/namespaces/default/widgets"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, YAML = "application/json-patch+json", "application/yaml"


class Step(NamedTuple):
    """One request; `{name}` in its path is the revision that an earlier step kept under that name."""

    method: str
    path: str
    body: Any = None
    media: str = "application/json"
    keeps: str = ""


def named(name: str, **fields: object) -> dict[str, Any]:
    """Give an object of that name."""
    return {"metadata": {"name": name}, **fields}


def pod(name: str, **spec: object) -> dict[str, Any]:
    """Give a pod."""
    return named(name, spec={"containers": [{"name": "c", "image": "i:1"}], **spec})


def bound(name: str, node: str, **meta: str) -> Step:
    """Bind a pod."""
    body = {"metadata": {"name": name, **meta}, "target": {"kind": "Node", "name": node}}
    return Step("POST", f"{PODS}/{name}/binding", body)


def workload(selects: str) -> dict[str, Any]:
    """Give the spec of something with replicas."""
    inside = {"metadata": {"labels": {"app": "x"}}, "spec": pod("p")["spec"]}
    return {"replicas": 1, "selector": {"matchLabels": {"app": selects}}, "template": inside}


def watched(path: str, query: str = "") -> Step:
    """Watch for a second."""
    return Step("GET", f"{path}?watch=1&timeoutSeconds=1{query}")


OBJECTS = [
    *(Step("GET", f"{MAPS}/a"), Step("POST", MAPS, named("a", data={"k": "v"})), Step("POST", MAPS, named("a"))),
    *(Step("GET", f"{MAPS}/a"), Step("GET", MAPS), Step("GET", "/api/v1/configmaps"), Step("POST", MAPS, {})),
    *(Step("POST", MAPS, named("Bad_Name")), Step("POST", MAPS, {"metadata": {"generateName": "g-"}})),
    Step("POST", MAPS, {"metadata": {"name": "b", "namespace": "other"}}),
    Step("POST", MAPS, {"kind": "Secret", "apiVersion": "v1", **named("b")}),
    Step("POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v2", **named("b")}),
    *(Step("POST", MAPS, b"{"), Step("POST", MAPS, b""), Step("POST", MAPS, b"x", "image/png")),
    *(Step("POST", MAPS, b"[]"), Step("POST", MAPS, b"5"), Step("POST", MAPS, b'"a"'), Step("POST", MAPS, b"\xff")),
    Step("POST", MAPS, b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: yaml}\ndata: {k: 'v'}\n", YAML),
    *(Step("POST", MAPS, b"a: [", YAML), Step("POST", MAPS, b"k8s\0\xff", "application/vnd.kubernetes.protobuf")),
    *(Step("PUT", f"{MAPS}/a", named("a", data={"k": "w"})), Step("PUT", f"{MAPS}/a", named("b"))),
    *(Step("PUT", f"{MAPS}/a", b"{"), Step("PUT", f"{MAPS}/none", named("none")), Step("PUT", f"{MAPS}/a", {})),
    Step("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}}),
    Step("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "uid": "other"}}),
    *(Step("PATCH", f"{MAPS}/a", {"data": {"m": "1"}}, MERGE), Step("PATCH", f"{MAPS}/a", {"data": None}, STRATEGIC)),
    Step("PATCH", f"{MAPS}/a", [{"op": "add", "path": "/data", "value": {"j": "1"}}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "test", "path": "/data/j", "value": "2"}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "remove", "path": "/data/no"}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "copy", "from": "/data/j", "path": "/data/k"}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "move", "from": "/data/k", "path": "/data/l"}], JSON_PATCH),
    Step("PATCH", f"{MAPS}/a", [{"op": "replace", "path": "/data/l", "value": "r"}], JSON_PATCH),
    *(Step("PATCH", f"{MAPS}/a", b"{", each) for each in (MERGE, STRATEGIC, JSON_PATCH)),
    *(Step("PATCH", f"{MAPS}/none", {}, MERGE), Step("PATCH", f"{MAPS}/a", {}, "application/json")),
    Step("PATCH", f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
    Step("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"a": "b", "t": "1"}}}, MERGE),
    *(Step("GET", f"{MAPS}?labelSelector=a%3Db"), Step("GET", f"{MAPS}?labelSelector=a%20in%20(")),
    *(
        Step("GET", f"{MAPS}?labelSelector={each}")
        for each in ("a!%3Db", "a", "!a", "a%20in%20(b,c)", "a%20notin%20(b)")
    ),
    *(
        Step("GET", f"{MAPS}?labelSelector={each}")
        for each in ("t%3E0", "t%3C1", "a%3D%3Db,t", "-%3Db", "a%3Db,,", "a%3Eb")
    ),
    *(Step("GET", f"{MAPS}?fieldSelector=metadata.name%3Da"), Step("GET", f"{MAPS}?fieldSelector=spec.x%3Da")),
    *(Step("GET", f"{MAPS}?fieldSelector=metadata.name!%3Da"), Step("GET", f"{MAPS}?fieldSelector=nonsense")),
    *(Step("GET", f"{MAPS}?limit=1"), Step("GET", f"{MAPS}?continue=nonsense"), Step("GET", f"{MAPS}?limit=x")),
    *(Step("GET", f"{MAPS}?resourceVersionMatch=Exact"), Step("GET", f"{MAPS}?resourceVersion=0")),
    *(Step("GET", f"{MAPS}?resourceVersion=x"), Step("GET", f"{MAPS}?resourceVersion=0&resourceVersionMatch=Exact")),
    *(Step("GET", f"{MAPS}?resourceVersion=1&resourceVersionMatch=Sideways"),),
    *(Step("POST", f"{MAPS}?dryRun=All", named("dry")), Step("GET", f"{MAPS}/dry")),
    *(Step("POST", f"{MAPS}?dryRun=Some", named("dry")), Step("PUT", f"{MAPS}/a?dryRun=All", named("a"))),
    Step("PATCH", f"{MAPS}/a?dryRun=All", {"data": None}, MERGE),
    Step("DELETE", f"{MAPS}/a", {"preconditions": {"uid": "other"}}),
    Step("DELETE", f"{MAPS}/a", {"preconditions": {"resourceVersion": "1"}}),
    *(Step("DELETE", f"{MAPS}/a", b"{"), Step("DELETE", f"{MAPS}/a?gracePeriodSeconds=x")),
    *(Step("DELETE", f"{MAPS}/a"), Step("DELETE", f"{MAPS}/a"), Step("DELETE", MAPS)),
    *(Step("POST", MAPS, {"metadata": {"name": "f", "finalizers": ["x.y/z"]}}), Step("DELETE", f"{MAPS}/f")),
    *(Step("PUT", f"{MAPS}/f", named("f")), Step("GET", f"{MAPS}/f")),
    *(Step("POST", MAPS, {"metadata": {"name": "f", "finalizers": ["x.y/z"]}}), Step("DELETE", f"{MAPS}/f")),
    *(Step("PATCH", f"{MAPS}/f", {"metadata": {"finalizers": None}}, MERGE), Step("GET", f"{MAPS}/f")),
    *(Step("POST", MAPS, named("owner")), Step("DELETE", f"{MAPS}/owner?propagationPolicy=Foreground")),
    *(Step("POST", MAPS, named("owner")), Step("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Orphan"})),
    *(Step("GET", "/api/v1/nothings"), Step("GET", "/apis/no.such/v1/x"), Step("PATCH", MAPS, {}, MERGE)),
    *(Step("POST", f"{MAPS}/a", named("a")), Step("PUT", MAPS, named("a"))),
    *(Step("GET", f"{MAPS}/a/status"), Step("PUT", f"{MAPS}/a/scale", {})),
    Step("POST", "/api/v1/namespaces/none/configmaps", named("a")),
    *(Step("GET", "/api/v1/namespaces/none/configmaps"), Step("DELETE", "/api/v1/namespaces/none/configmaps")),
]
SCHEDULING = [
    *(Step("POST", "/api/v1/nodes", named("n1")), Step("POST", "/api/v1/nodes", named("n1"))),
    Step("PATCH", "/api/v1/nodes/n1/status", {"status": {"capacity": {"cpu": "4"}}}, STRATEGIC),
    Step(
        "PATCH", "/api/v1/nodes/n1/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STRATEGIC
    ),
    Step(
        "PATCH", "/api/v1/nodes/n1/status", {"status": {"conditions": [{"type": "Other", "status": "True"}]}}, STRATEGIC
    ),
    Step("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, STRATEGIC),
    Step("PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True, "taints": None}}, MERGE),
    *(Step("GET", "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue"), Step("GET", "/api/v1/nodes/n1")),
    *(Step("POST", PODS, pod("p")), bound("p", "n1", uid="other"), bound("p", "n1"), bound("p", "n2")),
    *(bound("none", "n1"), Step("POST", PODS, pod("gated", schedulingGates=[{"name": "g"}])), bound("gated", "n1")),
    *(
        Step("GET", f"{PODS}/p"),
        Step("POST", f"{NS}/bindings", {**named("p"), "target": {"kind": "Node", "name": "n1"}}),
    ),
    *(Step("POST", f"{PODS}/gated/binding", {**named("other"), "target": {"kind": "Node", "name": "n1"}}),),
    Step("POST", PODS, pod("q", priorityClassName="none")),
    Step("POST", CLASSES, named("high", value=5)),
    *(Step("POST", PODS, pod("q", priorityClassName="high")), Step("POST", PODS, pod("r", priority=7))),
    Step("POST", PODS, pod("critical", priorityClassName="system-node-critical")),
    Step("PATCH", f"{PODS}/p", {"spec": {"nodeName": "n2"}}, STRATEGIC),
    Step("PATCH", f"{PODS}/p", {"spec": {"schedulerName": "x"}}, MERGE),
    Step("PATCH", f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 100}}, MERGE),
    Step("PATCH", f"{PODS}/p", {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, STRATEGIC),
    Step("PATCH", f"{PODS}/p", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}, STRATEGIC),
    Step("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": [{"name": "h"}]}}, MERGE),
    Step("PATCH", f"{PODS}/gated", {"spec": {"nodeSelector": {"a": "b"}}}, MERGE),
    Step("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": None}}, MERGE),
    Step("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, STRATEGIC),
    Step(
        "PATCH",
        f"{PODS}/q/status",
        {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}},
        STRATEGIC,
    ),
    Step(
        "PATCH",
        f"{PODS}/q/status",
        {"status": {"conditions": [{"type": "Ready", "status": "False"}], "nominatedNodeName": "n1"}},
        STRATEGIC,
    ),
    Step("PATCH", f"{PODS}/q/status", {"status": {"$setElementOrder/conditions": [{"type": "Ready"}]}}, STRATEGIC),
    Step("PATCH", f"{PODS}/q/status", {"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}}, STRATEGIC),
    *(Step("GET", f"{PODS}/q/status"), Step("GET", f"{PODS}?fieldSelector=status.nominatedNodeName%3Dn1")),
    *(Step("GET", f"{PODS}?fieldSelector=spec.nodeName%3Dn1"), Step("GET", "/api/v1/pods?fieldSelector=status.x%3D1")),
    Step("GET", f"{PODS}?fieldSelector=spec.schedulerName%3Ddefault-scheduler,status.phase!%3DRunning"),
    *(Step("DELETE", f"{PODS}/p"), bound("p", "n1"), Step("DELETE", f"{PODS}/p?gracePeriodSeconds=0")),
    *(Step("GET", f"{PODS}/p"), Step("DELETE", f"{PODS}/q"), Step("GET", f"{PODS}/q")),
    *(Step("POST", f"{PODS}/gated/eviction", named("gated")), Step("POST", f"{PODS}/none/eviction", named("none"))),
    *(Step("POST", f"{APPS}/deployments", named("d", spec=workload("x"))),),
    *(Step("POST", f"{APPS}/deployments", named("e", spec=workload("y"))),),
    *(Step("GET", f"{APPS}/deployments/d/scale"), Step("GET", f"{APPS}/deployments/e/scale")),
    Step("PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": 3}}, MERGE),
    Step("PUT", f"{APPS}/deployments/d/scale", named("d", spec={"replicas": 2})),
    Step("PUT", f"{APPS}/deployments/d/scale", {**named("d", spec={"replicas": 2}), "kind": "Scale"}),
    Step("PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": -3}}, MERGE),
    Step("DELETE", f"{APPS}/deployments/d", {"propagationPolicy": "Sideways"}),
    Step("DELETE", f"{APPS}/deployments/d", {"propagationPolicy": "Background"}),
    Step("POST", BUDGETS, named("b", spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}})),
    Step("POST", PODS, {**pod("kept", nodeName="n1"), "metadata": {"name": "kept", "labels": {"a": "b"}}}),
    Step("PATCH", f"{PODS}/kept/status", {"status": {"phase": "Running"}}, STRATEGIC),
    Step("POST", f"{PODS}/kept/eviction", named("kept")),
    Step("PATCH", f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1}}, MERGE),
    Step("POST", f"{PODS}/kept/eviction", named("kept")),
    Step("PATCH", f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1, "observedGeneration": 1}}, MERGE),
    *(
        Step("POST", f"{PODS}/kept/eviction", named("kept")),
        Step("GET", f"{BUDGETS}/b"),
        Step("DELETE", f"{BUDGETS}/b"),
    ),
    Step("DELETE", f"{PODS}/kept?gracePeriodSeconds=0"),
    *(Step("POST", LEASES, named("l", spec={"holderIdentity": "me"})), Step("PUT", f"{LEASES}/l", named("l"))),
    Step("PUT", f"{LEASES}/l", {"metadata": {"name": "l", "resourceVersion": "1"}}),
    Step("PATCH", f"{LEASES}/l", {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 2}}, MERGE),
    *(Step("DELETE", LEASES), Step("GET", LEASES)),
    Step("DELETE", "/api/v1/namespaces/kube-system"),
    *(Step("POST", "/api/v1/namespaces", named("gone")), Step("DELETE", "/api/v1/namespaces/gone")),
    *(Step("POST", "/api/v1/namespaces/gone/configmaps", named("a")), Step("DELETE", "/api/v1/namespaces")),
    Step("PUT", "/api/v1/namespaces/gone/finalize", named("gone", spec={"finalizers": []})),
    Step("GET", "/api/v1/namespaces/gone"),
    Step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {}}}),
    Step("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    *(Step("GET", "/version"), Step("GET", "/readyz"), Step("POST", "/version", {})),
]
WATCHES = [
    Step("POST", MAPS, {"metadata": {"name": "w", "labels": {"a": "b"}}}, keeps="made"),
    Step("PATCH", f"{MAPS}/w", {"data": {"k": "1"}}, MERGE, keeps="changed"),
    Step("PATCH", f"{MAPS}/w", {"metadata": {"labels": {"a": "c"}}}, MERGE),
    Step("POST", MAPS, named("v")),
    *(watched(MAPS), watched(MAPS, "&resourceVersion=0"), watched(MAPS, "&resourceVersion={made}")),
    *(watched(MAPS, "&resourceVersion={changed}"), watched(MAPS, "&resourceVersion={made}&labelSelector=a%3Db")),
    watched(MAPS, "&resourceVersion={made}&labelSelector=a%3Dc"),
    watched(MAPS, "&resourceVersion={made}&fieldSelector=metadata.name%3Dw"),
    watched(MAPS, "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"),
    watched(MAPS, "&sendInitialEvents=true&allowWatchBookmarks=true"),
    watched(
        MAPS,
        "&sendInitialEvents=false&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion={made}",
    ),
    *(watched(MAPS, "&sendInitialEvents=true"), watched(MAPS, "&resourceVersionMatch=NotOlderThan")),
    watched(MAPS, "&labelSelector=a%20in%20("),
    *(watched(MAPS, "&fieldSelector=x%3Dy"), watched("/api/v1/nothings"), watched(f"{MAPS}/w")),
    Step("GET", f"{MAPS}?resourceVersion={{made}}&resourceVersionMatch=Exact"),
    Step("GET", f"{MAPS}?resourceVersion={{changed}}&resourceVersionMatch=NotOlderThan"),
    Step("GET", f"{MAPS}/w?resourceVersion={{made}}"),
    Step("DELETE", f"{MAPS}/w"),
    watched(MAPS, "&resourceVersion={changed}"),
    Step("DELETE", f"{MAPS}/v"),
]

ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
TIME = "2026-01-01T00:00:00.000000Z"
ABOUT = {"kind": "Pod", "namespace": "default", "name": "p", "apiVersion": "v1"}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEVICE = {"devices": {"requests": [{"name": "d", "exactly": {"deviceClassName": "c"}}]}}
SLICE = {"driver": "d.x.y", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION = {
    "group": "shop.example.com",
    "scope": "Namespaced",
    "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA, "subresources": {"status": {}}}],
}
FULL = {  # a pod's spec with most of what a scheduler reads
    "initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
    "containers": [
        {
            "name": "c",
            "image": "i:latest",
            "ports": [{"containerPort": 80, "hostPort": 80}],
            "resources": {"requests": {"cpu": "0.5"}, "limits": {"cpu": "1000m", "memory": "1Gi", "x.y/gpu": "1"}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "volumes": [
        {"name": "v", "configMap": {"name": "m"}},
        {"name": "e", "emptyDir": {}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "c"}},
    ],
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {}},
        }
    ],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        }
    },
}
LIVES: dict[str, dict[str, Any]] = {  # a collection, and an object that a real server takes
    PODS: named("full", spec=FULL),
    "/api/v1/nodes": named("n", spec={"podCIDR": "10.1.0.0/24"}),
    "/api/v1/namespaces": named("n"),
    f"{NS}/events": named("e", involvedObject=ABOUT, reason="R", message="m", type="Normal"),
    f"{NS}/secrets": named("s", data={"k": "dg=="}),
    f"{NS}/serviceaccounts": named("s"),
    f"{NS}/resourcequotas": named("q", spec={"hard": {"cpu": "1"}}),
    f"{NS}/limitranges": named("l", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]}),
    f"{NS}/services": named("s", spec={"ports": [{"port": 80}]}),
    f"{NS}/endpoints": named("e", subsets=[]),
    f"{NS}/configmaps": named("m", data={"a": "b"}),
    f"{NS}/persistentvolumeclaims": named("c", spec=CLAIM),
    "/api/v1/persistentvolumes": named("v", spec=VOLUME),
    f"{NS}/replicationcontrollers": named("r", spec={**workload("x"), "selector": {"app": "x"}}),
    f"{APPS}/deployments": named("d", spec=workload("x")),
    f"{APPS}/replicasets": named("r", spec=workload("x")),
    f"{APPS}/statefulsets": named("s", spec=workload("x")),
    f"{APPS}/daemonsets": named("d", spec={key: value for key, value in workload("x").items() if key != "replicas"}),
    f"{APPS}/controllerrevisions": named("c", revision=1, data={"a": "b"}),
    f"{BATCH}/jobs": named("j", spec={"template": {"spec": {**pod("p")["spec"], "restartPolicy": "Never"}}}),
    f"{BATCH}/cronjobs": named(
        "c",
        spec={
            "schedule": "@daily",
            "jobTemplate": {"spec": {"template": {"spec": {**pod("p")["spec"], "restartPolicy": "Never"}}}},
        },
    ),
    "/apis/events.k8s.io/v1/namespaces/default/events": named(
        "n",
        regarding=ABOUT,
        reason="R",
        note="m",
        type="Normal",
        eventTime=TIME,
        action="A",
        reportingController="x.y/z",
        reportingInstance="i",
    ),
    LEASES: named("l", spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    CLASSES: named("p", value=1),
    f"{GROUPS}/podgroups": named("g", spec={"schedulingPolicy": {"basic": {}}}),
    f"{GROUPS}/workloads": named(
        "w", spec={"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"gang": {"minCount": 2}}}]}
    ),
    BUDGETS: named("b", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"x": "y"}}}),
    f"{STORAGE}/storageclasses": named("s", provisioner="x.y/z"),
    f"{STORAGE}/csidrivers": named("d.x.y", spec={}),
    f"{STORAGE}/csinodes": named("n", spec={"drivers": []}),
    f"{STORAGE}/namespaces/default/csistoragecapacities": named("c", storageClassName="s"),
    f"{STORAGE}/volumeattachments": named(
        "a", spec={"attacher": "x.y", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    ),
    f"{DEVICES}/namespaces/default/resourceclaims": named("c", spec=DEVICE),
    f"{DEVICES}/namespaces/default/resourceclaimtemplates": named("t", spec={"spec": DEVICE}),
    f"{DEVICES}/resourceslices": named("s", spec={**SLICE, "devices": [{"name": "d"}]}),
    f"{DEVICES}/deviceclasses": named("c", spec={}),
    f"{DEVICES}/devicetaintrules": named(
        "r", spec={"deviceSelector": {"driver": "d.x.y"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    ),
    "/apis/node.k8s.io/v1/runtimeclasses": named("r", handler="h"),
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": named("e", addressType="IPv4", endpoints=[]),
    f"{RBAC}/namespaces/default/roles": named("r", rules=[]),
    f"{RBAC}/namespaces/default/rolebindings": named("b", roleRef=ROLE_REF),
    f"{RBAC}/clusterroles": named("r", rules=[]),
    f"{RBAC}/clusterrolebindings": named("b", roleRef=ROLE_REF),
}
REVIEWS = [
    Step(
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": "u", "resourceAttributes": {"verb": "get"}}},
    ),
    Step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t"}}),
]


def life(path: str, body: dict[str, Any]) -> Iterator[Step]:
    """Give the requests that one object of a kind goes through."""
    name = body["metadata"]["name"]
    one = f"{path}/{name}"
    yield from (
        Step("POST", path, body, keeps=_made(path)),
        Step("POST", path, body),
        Step("GET", path),
        Step("GET", one),
    )
    if not path.endswith(("events", "controllerrevisions")):  # both are told of other fields that those may not change
        yield Step("PATCH", one, {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}}, STRATEGIC)
        yield Step("PATCH", one, [{"op": "remove", "path": "/metadata/annotations/x"}], JSON_PATCH)
    yield Step("PATCH", one, {"metadata": {"labels": {"c": "d"}, "resourceVersion": "1"}}, MERGE)
    yield Step("PATCH", one, [{"op": "test", "path": "/metadata/name", "value": "other"}], JSON_PATCH)
    yield Step("PUT", one, {**body, "metadata": {"name": name, "resourceVersion": "1"}})
    yield Step("PUT", one, {**body, "metadata": {"name": name, "uid": "other"}})
    if "jobs" not in path:  # a job's labels are its own, which an update must bring along
        yield Step("PUT", one, {**body, "metadata": {"name": name, "labels": {"a": "b"}}})
    if not path.endswith("events"):
        yield Step("PUT", f"{path}/none", {**body, "metadata": {"name": "none"}})
    yield from (Step("GET", f"{path}?labelSelector=a%3Db&limit=2"), Step("GET", f"{path}?fieldSelector=x%3Dy"))
    yield Step("DELETE", one, {"preconditions": {"uid": "other"}})
    yield from (Step("DELETE", f"{one}?dryRun=All"), Step("DELETE", one), Step("GET", one), Step("DELETE", one))
    yield from (Step("POST", path, {"metadata": 5}), Step("POST", path, b"{"), Step("GET", f"{one}/nothing"))


def _made(path: str) -> str:
    """Give the name under which the revision is kept at which a kind's object was made."""
    return "made_" + "".join(letter if letter.isalnum() else "_" for letter in path)


BEGINNING = [Step("GET", path) for path in LIVES]
EVERY_KIND = [
    *(step for path, body in LIVES.items() for step in life(path, body)),
    *(watched(path, f"&resourceVersion={{{_made(path)}}}") for path in LIVES),
]
CUSTOM = [
    Step("POST", DEFINITIONS, named("widgets.shop.example.com", spec=DEFINITION)),
    *(Step("POST", WIDGETS, {**named("w", size=5), "kind": "Widget", "apiVersion": "shop.example.com/v1"}),),
    *(Step("GET", WIDGETS), Step("GET", f"{WIDGETS}/w"), Step("PATCH", f"{WIDGETS}/w", {"size": 6}, MERGE)),
    Step("GET", f"{DEFINITIONS}/widgets.shop.example.com"),
    Step("PATCH", f"{WIDGETS}/w", {"size": 7}, STRATEGIC),
    Step("PUT", f"{WIDGETS}/w", {**named("w", size=8), "kind": "Widget", "apiVersion": "shop.example.com/v1"}),
    Step("PATCH", f"{WIDGETS}/w/status", {"status": {"ok": True}}, MERGE),
    *(Step("DELETE", f"{WIDGETS}/w"), Step("GET", f"{WIDGETS}/w")),
    Step("DELETE", f"{DEFINITIONS}/widgets.shop.example.com"),
]
SEQUENCE = [*BEGINNING, *OBJECTS, *SCHEDULING, *WATCHES, *REVIEWS, *EVERY_KIND, *CUSTOM]
