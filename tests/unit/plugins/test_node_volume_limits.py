"""NodeVolumeLimits: how many volumes of a driver a node can take."""

import pytest
from msgspec.structs import replace

from bayplan.api.disks import AWSElasticBlockStore
from bayplan.api.objects import Object, Pod
from bayplan.cluster.table import Table
from bayplan.framework.plugin import Code, Gates
from bayplan.plugins.node_volume_limits import NodeVolumeLimits
from tests.kit import Judged, a_cluster, a_pod, case, judged, node
from tests.storage import DRIVER, attachment, claim, csi_driver, csi_node, mounting, storage_class, volume

FULL = ("node(s) exceed max volume count",)


def with_volumes(*names: str, limit: int = 2) -> list[Object]:
    """Return a node with a limit, and claims bound to CSI volumes."""
    return [
        node("n"),
        csi_node("n", disk=limit),
        storage_class(),
        *(claim(name, volume=f"pv-{name}") for name in names),
        *(volume(f"pv-{name}", handle=name) for name in names),
    ]


def ask(pod: Pod, cluster: Table, gates: Gates = Gates()) -> Judged:  # noqa: B008 frozen
    """Put the rule to a pod."""
    return judged(NodeVolumeLimits(None, gates), pod, cluster)


@pytest.mark.parametrize(
    ("resident", "mine", "fits"),
    [
        case("room for one more", ["a"], ["b"], True),
        case("no room for two more", ["a"], ["b", "c"], False),
        case("a volume that is there already takes no room", ["a", "b"], ["a"], True),
        case("a claim that waits takes room", ["a", "b"], ["later"], False),
        case("one named twice takes it once", ["a"], ["later", "later"], True),
        case("two of them take it twice", ["a"], ["later", "later-too"], False),
        case("what is no volume takes none", ["a", "b"], ["empty:"], True),
    ],
)
def test_volumes_are_counted_once_each(resident: list[str], mine: list[str], *, fits: bool) -> None:
    """Whoever has them."""
    things = with_volumes("a", "b", "c")
    cluster = a_cluster(*things, claim("later"), claim("later-too"), mounting(a_pod("resident", on="n"), *resident))
    found = ask(mounting(a_pod(), *mine), cluster)

    assert found.fits["n"] is fits
    assert found.why == ({} if fits else {"n": FULL})
    assert set(found.code.values()) <= {Code.UNSCHEDULABLE}


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        case("for no pod that is there", [attachment("va", to="n", of="pv-c")], False),
        case("for a pod that is there", [attachment("va", to="n", of="pv-a")], True),
        case("to another node", [attachment("va", to="m", of="pv-c")], True),
        case("of a volume that nobody knows", [attachment("va", to="n", of="gone")], True),
        case("of a volume given in a pod", [attachment("va", to="n", of=None)], True),
        case("by nobody", [attachment("va", to="n", of="pv-c", driver="")], True),
    ],
)
def test_attached_volumes_count(more: list[Object], *, fits: bool) -> None:
    """A volume may be attached before its pod comes, or after it went."""
    cluster = a_cluster(*with_volumes("a", "b", "c"), mounting(a_pod("resident", on="n"), "a"), *more)

    assert ask(mounting(a_pod(), "b"), cluster).fits["n"] is fits


def test_a_node_without_a_limit_takes_any_number() -> None:
    """No CSINode, no such driver on it, or no count."""
    things = with_volumes("a", limit=0)[2:]
    cluster = a_cluster(
        node("unknown"),
        node("other"),
        node("countless"),
        csi_node("other", tape=0),
        csi_node("countless", disk=None),
        *things,
    )

    assert ask(mounting(a_pod(), "a"), cluster).names_that_fit == ["unknown", "other", "countless"]


def test_a_driver_can_keep_pods_off_nodes_where_it_does_not_run() -> None:
    """Unless the gate is off, or the driver does not ask for it."""
    cluster = a_cluster(
        node("with"),
        csi_node("with", disk=None),
        node("without"),
        node("other"),
        csi_node("other", tape=9),
        *with_volumes("a")[2:],
        csi_driver(must_run=True),
    )
    pod = mounting(a_pod(), "a")
    found = ask(pod, cluster)

    assert found.names_that_fit == ["with"]
    assert found.why["without"] == (f"{DRIVER} CSI driver is not installed on the node",)
    assert len(ask(pod, cluster, Gates(volume_limit_scaling=False)).names_that_fit) == 3
    cluster.volumes.put(csi_driver())
    assert len(ask(pod, cluster).names_that_fit) == 3


def test_in_tree_volumes_count_as_their_drivers() -> None:
    """Where the node has a CSINode, and whether a pod names them itself or by a claim."""
    ebs = volume("pv", aws_elastic_block_store=AWSElasticBlockStore(volume_id="vol-1"))
    limits = replace(
        csi_node("n", disk=1),
        spec=replace(
            csi_node("n", disk=1).spec,
            drivers=(replace(csi_node("n", disk=1).spec.drivers[0], name="ebs.csi.aws.com"),),
        ),
    )
    cluster = a_cluster(
        node("n"), limits, claim("data", volume="pv"), ebs, mounting(a_pod("resident", on="n"), "ebs:vol-1")
    )

    assert ask(mounting(a_pod(), "data"), cluster).fits["n"]
    assert ask(mounting(a_pod(), "ebs:vol-2"), cluster).why == {"n": FULL}


@pytest.mark.parametrize(
    ("pod", "things", "code", "text"),
    [
        case(
            "a claim that is missing",
            mounting(a_pod(), "gone"),
            [],
            Code.UNRESOLVABLE,
            'looking up PVC default/gone: persistentvolumeclaim "gone" not found',
        ),
        case("a claim without a name", mounting(a_pod(), ""), [], Code.ERROR, "PersistentVolumeClaim had no name"),
        case(
            "a claim of another pod",
            mounting(a_pod("web"), "own:"),
            [claim("web-v0")],
            Code.ERROR,
            "PVC default/web-v0 was not created for pod default/web (pod is not owner)",
        ),
        case(
            "a volume that cannot be told",
            mounting(a_pod(), "ebs:aws://x/y"),
            [],
            Code.ERROR,
            "converting volume(v0) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
            "Invalid format for AWS volume (aws://x/y)",
        ),
    ],
)
def test_what_cannot_be_counted_is_named(pod: Pod, things: list[Object], code: Code, text: str) -> None:
    """In kube-scheduler's words."""
    found = ask(pod, a_cluster(*with_volumes("a"), *things))

    assert (found.code, found.why) == ({"n": code}, {"n": (text,)})


def test_a_running_pod_that_cannot_be_counted_is_an_error_on_its_node() -> None:
    """But a claim of it that is missing is passed over."""
    wrong = a_cluster(*with_volumes("a"), claim("web-v0"), mounting(a_pod("web", on="n"), "own:"))
    missing = a_cluster(*with_volumes("a"), mounting(a_pod("web", on="n"), "gone"))

    assert ask(mounting(a_pod(), "a"), wrong).code == {"n": Code.ERROR}
    assert ask(mounting(a_pod(), "a"), missing).fits["n"]


def test_what_a_running_pod_counts_as_changes_with_its_claim_and_volume() -> None:
    """Nothing stale is remembered."""
    cluster = a_cluster(*with_volumes("a", limit=1), claim("late"), mounting(a_pod("resident", on="n"), "late"))
    pod = mounting(a_pod(), "a")
    assert ask(pod, cluster).why == {"n": FULL}

    cluster.volumes.put(claim("late", volume="pv-late"))
    cluster.volumes.put(volume("pv-late"))
    assert ask(pod, cluster).fits["n"]
    cluster.volumes.put(volume("pv-late", handle="h"))
    assert ask(pod, cluster).why == {"n": FULL}
    cluster.volumes.drop(storage_class())
    cluster.volumes.drop(volume("pv-late"))
    assert ask(pod, cluster).fits["n"]
