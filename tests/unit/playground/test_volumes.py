"""Claims and volumes: who is bound to whom, and when."""

import pytest

from tests.unit.playground.asking import Body, Client, awaited, gone

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def claim(name: str = "c", size: str = "1Gi", **spec: object) -> Body:
    """Give a claim."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": {"storageClassName": "s", **wanted, **spec}}


def volume(name: str, size: str, **spec: object) -> Body:
    """Give a volume."""
    offered = {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": size}}
    return {"metadata": {"name": name}, "spec": {"storageClassName": "s", **offered, **spec}}


def storage(provisioner: str, mode: str) -> Body:
    """Give the class."""
    return {"metadata": {"name": "s"}, "provisioner": provisioner, "volumeBindingMode": mode}


def is_bound(one: Body) -> bool:
    """Ask whether a claim or a volume is bound."""
    return bool(one["status"]["phase"] == "Bound")


def test_the_smallest_volume_that_fits_is_bound(live: Client) -> None:
    """Size, class and modes decide; both sides name each other."""
    live.make(VOLUMES, volume("large", "9Gi"))
    live.make(VOLUMES, volume("right", "2Gi"))
    live.make(VOLUMES, volume("small", "1Mi"))
    live.make(CLAIMS, claim())
    done = awaited(live, CLAIMS, is_bound)

    assert (done["spec"]["volumeName"], done["status"]["capacity"]) == ("right", {"storage": "2Gi"})
    assert live.get(f"{VOLUMES}/right").body["spec"]["claimRef"]["uid"] == done["metadata"]["uid"]


@pytest.mark.parametrize("late", [False, True])
def test_a_volume_is_made_when_the_class_says_so(live: Client, *, late: bool) -> None:
    """At once, or when a scheduler has chosen a node; it goes with its claim."""
    live.make(CLASSES, storage("pretend.dev/disk", "WaitForFirstConsumer" if late else "Immediate"))
    live.make(CLAIMS, claim())
    if late:
        live.make(CLAIMS, claim("other", storageClassName="none"))
        assert live.get(VOLUMES).names == []
        chosen = {"volume.kubernetes.io/selected-node": "n"}
        live.patch(f"{CLAIMS}/c", {"metadata": {"annotations": chosen}})
    made = awaited(live, CLAIMS, is_bound)["spec"]["volumeName"]

    live.ask("DELETE", f"{CLAIMS}/c")
    assert gone(live, VOLUMES, made)


def test_a_volume_that_a_scheduler_reserved_is_the_claims(live: Client) -> None:
    """Of a class that waits, the scheduler's choice is completed."""
    live.make(CLASSES, storage("kubernetes.io/no-provisioner", "WaitForFirstConsumer"))
    live.make(VOLUMES, volume("first", "1Gi"))
    live.make(VOLUMES, volume("chosen", "5Gi"))
    live.make(CLAIMS, claim())
    live.patch(f"{VOLUMES}/chosen", {"spec": {"claimRef": {"namespace": "default", "name": "c"}}})

    assert awaited(live, CLAIMS, is_bound)["spec"]["volumeName"] == "chosen"
    live.ask("DELETE", f"{CLAIMS}/c")
    awaited(live, VOLUMES, lambda one: one["status"]["phase"] == "Released")
