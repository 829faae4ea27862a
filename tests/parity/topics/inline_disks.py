"""Disks named in a pod itself, and the sources of volumes of drivers that Kubernetes once had built in."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw

DISKS = ("disk-1", "disk-2", "disk-3")


def inline_disk(draw: Draw) -> Manifest:
    """Return a volume's source that names a disk; few disks, so that pods meet at them."""
    kind = draw.weighted(
        {"gce": 4, "ebs": 3, "rbd": 3, "iscsi": 3, "azure": 0.6, "cinder": 0.6, "portworx": 0.6, "csi": 0.6}
    )
    disk, read_only = draw.choice(DISKS), draw.chance(0.4)
    if kind == "gce":
        return {"gcePersistentDisk": {"pdName": disk, "readOnly": read_only}}
    if kind == "ebs":
        return {"awsElasticBlockStore": {"volumeID": f"vol-{disk[-1]}", "readOnly": read_only}}
    if kind == "rbd":
        monitors = draw.some(["m1", "m2", "m3"], 2, least=1)
        pool = draw.choice(["", "rbd", "other"])
        return {"rbd": {"monitors": monitors, "image": disk, "pool": pool, "readOnly": read_only}}
    if kind == "iscsi":
        target = {"targetPortal": draw.choice(["p1", "p2"]), "lun": draw.randint(0, 1)}
        return {"iscsi": target | {"iqn": f"iqn.{disk}", "readOnly": read_only}}
    if kind == "csi":
        return {"csi": {"driver": "inline.example.com"}}
    return in_tree_source(draw, disk, kind)


def in_tree_source(draw: Draw, disk: str, kind: str | None = None) -> Manifest:
    """Return a source that may be handed to a CSI driver instead."""
    kind = kind or draw.choice(["gce", "ebs", "azure", "cinder", "portworx"])
    if kind == "gce":
        return {"gcePersistentDisk": {"pdName": disk}}
    if kind == "ebs":
        return {
            "awsElasticBlockStore": {"volumeID": draw.choice([f"vol-{disk[-1]}", f"aws://z0/vol-{disk[-1]}", "odd/id"])}
        }
    if kind == "azure":
        return {"azureDisk": {"diskName": disk, "diskURI": f"/subscriptions/s/{disk}", "kind": "Managed"}}
    if kind == "cinder":
        return {"cinder": {"volumeID": disk}}
    return {"portworxVolume": {"volumeID": disk}}
