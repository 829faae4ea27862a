"""Disks, shares and images, as pods and volumes name them: just the fields that scheduling rules read.

A class and its fields have Kubernetes' names, as in `api/objects.py`.
Not here: volumes, which have one of these each (objects.py for a pod's, claims.py for a cluster's).
"""

from __future__ import annotations

import msgspec


class Disk(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """What all of these are: frozen, and left alone by the garbage collector."""


class GCEPersistentDisk(Disk, frozen=True, kw_only=True):
    """A Google disk, named in the pod or the volume itself."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Disk, frozen=True, kw_only=True):
    """An Amazon disk, named in the pod or the volume itself."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    read_only: bool = False


class AzureDisk(Disk, frozen=True, kw_only=True):
    """An Azure disk, named in the pod or the volume itself."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str | None = None


class AzureFile(Disk, frozen=True, kw_only=True):
    """An Azure share, named in the pod or the volume itself."""

    share_name: str = ""


class Cinder(Disk, frozen=True, kw_only=True):
    """An OpenStack disk, named in the pod or the volume itself."""

    volume_id: str = msgspec.field(name="volumeID", default="")


class Portworx(Disk, frozen=True, kw_only=True):
    """A Portworx volume, named in the pod or the volume itself."""

    volume_id: str = msgspec.field(name="volumeID", default="")


class VsphereVolume(Disk, frozen=True, kw_only=True):
    """A vSphere disk, named in the pod or the volume itself."""

    volume_path: str = ""


class RBD(Disk, frozen=True, kw_only=True):
    """A Ceph block device, named in the pod itself."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSI(Disk, frozen=True, kw_only=True):
    """An iSCSI disk, named in the pod itself."""

    iqn: str = ""
    read_only: bool = False


class InlineCSI(Disk, frozen=True, kw_only=True):
    """A CSI volume that lives and dies with its pod."""

    driver: str = ""


class ImageVolume(Disk, frozen=True, kw_only=True):
    """An image mounted as a volume."""

    reference: str = ""
