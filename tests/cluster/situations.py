"""Situations in which a pod fits nowhere: one small cluster with a corner for each rule, and pods that run into them.

Each situation is put to two schedulers by two pods that differ in their name and their scheduler alone; none of them
is ever placed, so they do not stand in each other's way.
Not here: asking (`test_live_reasons.py`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.cluster.live import a_node, a_pod

Json = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WHOLE = {"nodeAffinityPolicy": "Ignore"}  # of a spread: all nodes count
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"
DRIVER = "disks.example.com"


class Situation(NamedTuple):
    """A pod that fits nowhere."""

    sentence: str
    pod: Json  # what is said of it besides its name and scheduler


TEXTS = (
    "node(s) were unschedulable",
    "node(s) had untolerated taint(s)",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't have free ports for the requested pod ports",
    "Too many pods",
    "Insufficient cpu",
    "node(s) had no available disk",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    "absent.example.com CSI driver is not installed on the node",
    "node(s) exceed max volume count",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) had no available volume zone",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "pod has unbound immediate PersistentVolumeClaims",
    'persistentvolumeclaim "nothing" not found',
    'persistentvolume "gone" not found',
    "waiting for ephemeral volume controller to create the persistentvolumeclaim",
)
"""Every reason that a pod on a real API server can get from a rule that is built.

The others: a pod with spec.nodeName is not scheduled ("requested node name"); "scheduler-enforced node affinity" needs
an argument of the plugin; "one or more pvc(s) bound to non-existent pv(s)" is overtaken by the look-up of the volume;
"required features" needs fields of pods behind feature gates; "pod affinity terms conflict" and what cannot be parsed
is refused by the API server; devices are not built.
"""


# --- the cluster -----------------------------------------------------------------------------------------------------


def nodes() -> Iterator[Json]:
    """Give the nodes, each with its peculiarity."""
    yield a_node("small", labels={ZONE: "a", "rank": "1"}, room={"cpu": "1", "memory": "1Gi"})
    yield a_node("full", labels={ZONE: "a", "rank": "2"}, room={"pods": "1"})
    yield a_node("tainted", labels={ZONE: "b"}, taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])
    yield a_node("leaving", labels={ZONE: "b"}, taints=[{"key": "leaving", "effect": "NoExecute"}])
    yield a_node("cordoned", labels={ZONE: "c"}, unschedulable=True)
    yield a_node("bare")
    yield a_node("ssd", labels={ZONE: "b", "disk": "ssd", "rank": "7"})
    yield a_node("gpu", labels={ZONE: "c", "disk": "hdd"}, room={"example.com/gpu": "2", "hugepages-2Mi": "4Mi"})


def running() -> Iterator[Json]:
    """Give the pods that run."""
    yield on("full", a_pod("filler", "nobody"))
    yield on("small", a_pod("web-1", "nobody", labels={"app": "web"}))
    yield on("small", a_pod("web-2", "nobody", labels={"app": "web"}))
    yield on("ssd", a_pod("web-3", "nobody", labels={"app": "web"}))
    port = {"containerPort": 80, "hostPort": 8080}
    yield on("ssd", a_pod("port", "nobody", container={"ports": [port]}, labels={"app": "port"}))
    at = {"containerPort": 81, "hostPort": 9090, "hostIP": "127.0.0.1", "protocol": "UDP"}
    yield on("gpu", a_pod("port-at", "nobody", container={"ports": [at]}))
    for zone, node in (("a", "small"), ("b", "ssd"), ("c", "gpu")):
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "lonely"}}}
        alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        yield on(node, a_pod(f"alone-{zone}", "nobody", affinity=alone))
    host = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "hermit"}}}
    hermit = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [host]}}
    yield on("gpu", a_pod("hermit", "nobody", affinity=hermit, requests={"example.com/gpu": "1"}))
    yield on("ssd", a_pod("holder", "nobody", volumes=[claimed("once")]))
    yield on("gpu", a_pod("attached", "nobody", volumes=[claimed("attached")]))
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "shared"}}
    yield on("gpu", a_pod("disk", "nobody", volumes=[disk]))
    lun = {"name": "d", "iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:s", "lun": 0}}
    yield on("gpu", a_pod("lun", "nobody", volumes=[lun]))
    rbd = {"name": "d", "rbd": {"monitors": ["10.0.0.1:6789"], "image": "i", "pool": "p"}}
    yield on("gpu", a_pod("rbd", "nobody", volumes=[rbd]))


def on(node: str, pod: Json) -> Json:
    """Put a pod on a node."""
    pod["spec"]["nodeName"] = node
    return pod


def claimed(name: str) -> Json:
    """Give a volume of a claim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


def storage() -> Iterator[tuple[str, Json]]:
    """Give classes, drivers, volumes and claims, each with its path."""
    late = "WaitForFirstConsumer"
    for name, provisioner, mode in (
        ("now", "kubernetes.io/no-provisioner", "Immediate"),
        ("late", "kubernetes.io/no-provisioner", late),
        ("made", DRIVER, late),
    ):
        yield (
            f"{STORAGE}/storageclasses",
            {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode},
        )
    here = [{"matchLabelExpressions": [{"key": ZONE, "values": ["nowhere"]}]}]
    yield f"{STORAGE}/storageclasses", {
        "metadata": {"name": "elsewhere"}, "provisioner": DRIVER, "volumeBindingMode": late, "allowedTopologies": here,
    }  # fmt: skip
    yield (
        f"{STORAGE}/csidrivers",
        {"metadata": {"name": DRIVER}, "spec": {"attachRequired": True, "storageCapacity": True}},
    )
    yield (
        f"{STORAGE}/csidrivers",
        {
            "metadata": {"name": "absent.example.com"},
            "spec": {"preventPodSchedulingIfMissing": True},
        },
    )
    drivers = [{"name": "limited.example.com", "nodeID": "gpu", "topologyKeys": [], "allocatable": {"count": 1}}]
    yield f"{STORAGE}/csinodes", {"metadata": {"name": "gpu"}, "spec": {"drivers": drivers}}
    plain: Json = {"hostPath": {"path": "/none"}}
    limited: Json = {"csi": {"driver": "limited.example.com", "volumeHandle": "one"}}
    another: Json = {"csi": {"driver": "limited.example.com", "volumeHandle": "two"}}
    absent: Json = {"csi": {"driver": "absent.example.com", "volumeHandle": "three"}}
    only_bare = affine(HOST, "bare-metal")
    yield from bound("once", plain, modes=["ReadWriteOncePod"])
    yield from bound("attached", limited)
    yield from bound("second", another, affinity=affine(HOST, "gpu"))
    yield from bound("absent", absent)
    third: Json = {"csi": {"driver": "limited.example.com", "volumeHandle": "third"}}
    yield from bound("third", third)
    yield from bound("near", plain, affinity=affine(HOST, "ssd"))
    yield from bound("in-b", plain, labels={ZONE: "b"})
    yield from bound("far", plain, affinity=only_bare)
    yield from bound("zoned", plain, labels={ZONE: "nowhere"})
    yield CLAIMS, claim("lost", "", volume="gone")
    yield CLAIMS, claim("unbound", "now")
    yield CLAIMS, claim("classless", "no-such-class")
    yield CLAIMS, claim("later", "late")
    yield CLAIMS, claim("large", "made", size="100Gi")
    yield CLAIMS, claim("elsewhere", "elsewhere")
    yield VOLUMES, volume("too-small", plain, storage_class="late", size="1Mi")


def affine(key: str, value: str) -> Json:
    """Give the affinity of a volume."""
    return {
        "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}
    }


def bound(name: str, source: Json, **changes: Any) -> Iterator[tuple[str, Json]]:  # noqa: ANN401 - JSON
    """Give a claim and its volume, bound to each other."""
    modes = changes.pop("modes", ["ReadWriteOnce"])
    made = volume(name, source, modes=modes, **changes)
    made["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    yield VOLUMES, made
    yield CLAIMS, claim(name, "", volume=name, modes=modes)


def volume(name: str, source: Json, **changes: Any) -> Json:  # noqa: ANN401 - JSON
    """Give a volume."""
    spec = {
        "accessModes": changes.get("modes", ["ReadWriteOnce"]),
        "capacity": {"storage": changes.get("size", "1Gi")},
        "storageClassName": changes.get("storage_class", ""),
        **source,
    }
    if "affinity" in changes:
        spec["nodeAffinity"] = changes["affinity"]
    return {"metadata": {"name": name, "labels": changes.get("labels", {})}, "spec": spec}


def claim(name: str, storage_class: str, **changes: Any) -> Json:  # noqa: ANN401 - JSON
    """Give a claim; one with a volume is bound to it."""
    spec = {
        "accessModes": changes.get("modes", ["ReadWriteOnce"]),
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": changes.get("size", "1Gi")}},
    }
    notes = {}
    if "volume" in changes:
        spec["volumeName"] = changes["volume"]
        notes = {"pv.kubernetes.io/bind-completed": "yes"}
    return {"metadata": {"name": name, "annotations": notes}, "spec": spec}


# --- the situations --------------------------------------------------------------------------------------------------


def at(node: str) -> Json:
    """Ask for one node by its label."""
    return {"nodeSelector": {HOST: node}}


def required(*expressions: Json, fields: bool = False) -> Json:
    """Ask for nodes by an affinity."""
    key = "matchFields" if fields else "matchExpressions"
    terms = {"nodeSelectorTerms": [{key: list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def says(key: str, operator: str, *values: str) -> Json:
    """Give one expression."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def near(labels: Json, key: str = ZONE, *, kind: str = "podAffinity", **more: Any) -> Json:  # noqa: ANN401 - JSON
    """Ask to be near some pods, or far from them."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}, **more}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def far(labels: Json, key: str = ZONE, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """Ask to be far from some pods."""
    return near(labels, key, kind="podAntiAffinity", **more)


def spread(key: str, labels: Json, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """Ask to be spread, whatever it costs."""
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "topologyKey": key, **more}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": labels}}], "labels": labels}


def bears(key: str, **more: str) -> Json:
    """Tolerate a taint."""
    return {"tolerations": [{"key": key, **({"operator": "Exists"} if not more else {}), **more}]}


def ports(host_port: int, **more: str) -> Json:
    """Ask for a host port."""
    return {"container": {"ports": [{"containerPort": 80, "hostPort": host_port, **more}]}}


def _resources() -> Iterator[Situation]:
    for sentence, requests in (
        ("more CPU than anybody has", {"cpu": "100"}),
        ("more memory", {"memory": "100Gi"}),
        ("more of both", {"cpu": "100", "memory": "100Gi"}),
        ("more ephemeral storage", {"ephemeral-storage": "1Ti"}),
        ("more of a device than is left", {"example.com/gpu": "2"}),
        ("more of a device than there is", {"example.com/gpu": "3"}),
        ("a device that nobody has", {"example.com/tpu": "1"}),
        ("two such devices", {"example.com/tpu": "1", "example.com/npu": "1"}),
        ("CPU, memory and a device", {"cpu": "100", "memory": "100Gi", "example.com/gpu": "9"}),
    ):
        yield Situation(sentence, {"requests": requests})
    pages = {"cpu": "1m", "hugepages-2Mi": "8Mi"}
    yield Situation(
        "more huge pages",
        {
            "requests": {"cpu": "1m"},
            "container": {"resources": {"requests": pages, "limits": {"hugepages-2Mi": "8Mi"}}},
        },
    )
    big = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "50"}}}
    yield Situation("an init container that is too large", {"initContainers": [big]})
    yield Situation("a sidecar that is too large", {"initContainers": [{**big, "restartPolicy": "Always"}]})
    yield Situation("a pod that is too large as a whole", {"resources": {"requests": {"cpu": "50"}}})
    yield Situation("more than one node has", {"requests": {"cpu": "2"}, **at("small")})
    yield Situation("a node that has as many pods as it may", at("full"))
    yield Situation("that, and too much CPU", {"requests": {"cpu": "50"}, **at("full")})


def _nodes() -> Iterator[Situation]:
    yield Situation("a label that nobody has", {"nodeSelector": {"disk": "tape"}})
    yield Situation("two labels that nobody has together", {"nodeSelector": {"disk": "ssd", ZONE: "a"}})
    yield Situation("an affinity to a value", required(says(ZONE, "In", "x", "y")))
    yield Situation("an affinity away from all", required(says(HOST, "DoesNotExist")))
    yield Situation("an affinity to a key", required(says("no-such-key", "Exists")))
    yield Situation("an affinity above a number", required(says("rank", "Gt", "9")))
    yield Situation("an affinity below a number", required(says("rank", "Lt", "1")))
    yield Situation("an affinity between zones", required(says(ZONE, "NotIn", "a", "b", "c"), says(ZONE, "Exists")))
    yield Situation("a node by a name that is nobody's", required(says("metadata.name", "In", "nowhere"), fields=True))
    yield Situation("a node by its name, cordoned", required(says("metadata.name", "In", "cordoned"), fields=True))
    yield Situation(
        "not by its name",
        {**required(says("metadata.name", "NotIn", "ssd"), fields=True), "nodeSelector": {"disk": "ssd"}},
    )
    yield Situation(
        "a selector and an affinity that disagree", {**required(says(ZONE, "In", "a")), "nodeSelector": {"disk": "ssd"}}
    )
    yield Situation("a cordoned node", at("cordoned"))
    yield Situation("a tainted node", at("tainted"))
    yield Situation("a node that drives pods away", at("leaving"))
    yield Situation(
        "a tainted node, with a toleration of another value",
        {**at("tainted"), **bears("dedicated", value="web", operator="Equal")},
    )
    yield Situation(
        "a tainted node, with one of another effect",
        {**at("tainted"), **bears("dedicated", effect="NoExecute", operator="Exists")},
    )
    yield Situation("a tainted node, with one of another key", {**at("tainted"), **bears("other")})
    yield Situation(
        "a node that drives away, with a toleration of NoSchedule",
        {**at("leaving"), **bears("leaving", effect="NoSchedule", operator="Exists")},
    )
    yield Situation(
        "too much CPU for a node whose taint it bears",
        {**at("tainted"), **bears("dedicated"), "requests": {"cpu": "50"}},
    )
    yield Situation("a host port that is taken", {**at("ssd"), **ports(8080)})
    yield Situation("a host port at one address, taken at all", {**at("ssd"), **ports(8080, hostIP="127.0.0.1")})
    yield Situation("a host port at all addresses, taken at one", {**at("gpu"), **ports(9090, protocol="UDP")})
    yield Situation(
        "a host port that is taken, and too much CPU elsewhere",
        {"requests": {"cpu": "3"}, **ports(8080), "nodeSelector": {ZONE: "b"}},
    )


def _neighbours() -> Iterator[Situation]:
    web = {"app": "web"}
    yield Situation("pods that are nowhere", near({"app": "nobody"}))
    yield Situation("pods of another namespace", near(web, namespaces=["kube-system"]))
    yield Situation("pods of namespaces with a label", near(web, namespaceSelector={"matchLabels": {"team": "none"}}))
    yield Situation("pods by a key that no node has", near(web, "example.com/rack"))
    yield Situation("near some, on a node of another zone", {**near(web), **at("gpu")})
    yield Situation("near some, on the same node, which is too small", {**near(web, HOST), "requests": {"cpu": "5"}})
    yield Situation("far from pods that are in every zone", {**far({"app": "port"}), "nodeSelector": {ZONE: "b"}})
    yield Situation("far from some on their nodes", {**far(web, HOST), "nodeSelector": {"rank": "7"}})
    yield Situation(
        "pods that want to be alone in each zone", {"labels": {"app": "lonely"}, **required(says(ZONE, "Exists"))}
    )
    yield Situation("a pod that wants to be alone on its node", {"labels": {"app": "hermit"}, **at("gpu")})
    yield Situation(
        "near and far from the same",
        {**near(web), "affinity": {**near(web)["affinity"], **far(web)["affinity"]}, "nodeSelector": {ZONE: "b"}},
    )
    yield Situation("spread over a key that no node has", spread("example.com/rack", web))
    yield Situation("spread over zones, one of which is full", {**spread(ZONE, web, **WHOLE), **at("small")})
    yield Situation(
        "spread over more zones than there are",
        {**spread(ZONE, {"app": "wide"}, minDomains=9), "requests": {"cpu": "3"}, "nodeSelector": {ZONE: "a"}},
    )
    yield Situation("spread over hosts", {**spread(HOST, web, **WHOLE), **at("small")})
    yield Situation("spread over zones, where it may not go", {**spread(ZONE, web), "nodeSelector": {"disk": "tape"}})
    yield Situation("spread, on a node without the key", {**spread(ZONE, web), **at("bare")})
    yield Situation(
        "spread that counts tainted nodes",
        {**spread(ZONE, web, nodeTaintsPolicy="Honor", **WHOLE), **at("small")},
    )


def _storage() -> Iterator[Situation]:
    for sentence, name, more in (
        ("a claim that is not there", "nothing", {}),
        ("a claim that waits to be bound at once", "unbound", {}),
        ("a claim of a class that is not there", "classless", {}),
        ("a claim for which there is no volume", "later", {}),
        ("a claim for which there is not enough room", "large", {}),
        ("a claim of a class for other zones", "elsewhere", {}),
        ("a claim whose volume is gone", "lost", {}),
        ("a claim that one pod alone may use", "once", {}),
        ("a volume that is elsewhere", "far", {}),
        ("a volume of another zone", "zoned", required(says(ZONE, "Exists"))),
        ("a volume too many", "second", {}),
        ("a volume of a driver that is not there", "absent", at("ssd")),
        ("a volume of a driver that is on another node", "absent", at("gpu")),
    ):
        yield Situation(sentence, {"volumes": [claimed(name)], **more})
    yield Situation("two claims, one not there", {"volumes": [claimed("nothing"), claimed("far")]})
    made = {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": claim("", "late")["spec"]}}}
    yield Situation("a volume of its own that nobody has made", {"volumes": [made]})
    for sentence, source in (
        ("a disk that is used", {"gcePersistentDisk": {"pdName": "shared"}}),
        (
            "a LUN that is used",
            {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:s", "lun": 0}},
        ),
        ("an image that is used", {"rbd": {"monitors": ["10.0.0.1:6789"], "image": "i", "pool": "p"}}),
    ):
        yield Situation(sentence, {"volumes": [{"name": "d", **source}], **at("gpu")})


SITUATIONS = (*_resources(), *_nodes(), *_neighbours(), *_storage())


def choices() -> Iterator[tuple[str, str, Json]]:
    """Give for each rule a pod that it leaves one node: the rule, the node, the pod."""
    zoned = required(says(ZONE, "Exists"))
    disk: Json = {"name": "d", "gcePersistentDisk": {"pdName": "shared"}}
    yield "NodeUnschedulable", "cordoned", {**at("cordoned"), **bears("node.kubernetes.io/unschedulable")}
    yield "TaintToleration", "tainted", {**at("tainted"), **bears("dedicated")}
    yield "NodeAffinity", "ssd", required(says("rank", "Gt", "5"))
    yield "NodePorts", "tainted", {**ports(8080), **bears("dedicated"), "nodeSelector": {ZONE: "b"}}
    yield "NodeResourcesFit", "gpu", {"requests": {"example.com/gpu": "1"}}
    yield "VolumeRestrictions", "ssd", {**required(says("disk", "Exists")), "volumes": [disk]}
    yield "NodeVolumeLimits", "ssd", {**required(says("disk", "Exists")), "volumes": [claimed("third")]}
    yield "VolumeBinding", "ssd", {"volumes": [claimed("near")]}
    yield "VolumeZone", "ssd", {**zoned, "volumes": [claimed("in-b")]}
    yield "PodTopologySpread", "gpu", spread(ZONE, {"app": "web"})
    yield "InterPodAffinity", "ssd", near({"app": "port"})


def asking(situation: Situation, number: int, scheduler: str) -> Json:
    """Give the pod that puts a situation to a scheduler."""
    return a_pod(f"s{number}-{scheduler}", scheduler, **situation.pod)
