"""Kubernetes' core objects, as frozen structs of just the fields that scheduling rules read.

A class has the name of its kind, a field Kubernetes' name in snake case.  A missing field is Go's zero value, or `None`
where upstream tells absent from empty.
Invariant: an object never changes once decoded, its maps included, so equal parts may be shared (`api/share.py`).
Not here: claims (claims.py), reading (decode.py), budgets (policies.py), groups (groups.py), workloads, arithmetic.
"""

from __future__ import annotations

from typing import Annotated, Protocol, TypeAlias

import msgspec

from bayplan.api.annotations import PodAnnotations
from bayplan.api.disks import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    GCEPersistentDisk,
    ImageVolume,
    InlineCSI,
    Portworx,
    VsphereVolume,
)

Quantity: TypeAlias = str | int | float
Quantities: TypeAlias = dict[str, Quantity]
Labels: TypeAlias = dict[str, str]
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Object(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """What all structs of this room are: frozen, and left alone by the garbage collector (they hold no cycles)."""


# --- metadata and selectors ------------------------------------------------------------------------------------------


class OwnerReference(Object, frozen=True, kw_only=True):
    """One owner of an object; at most one of them is its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(Object, frozen=True, kw_only=True):
    """What all metadata have."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generate_name: str = ""
    labels: Labels = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class PodMeta(Meta, frozen=True, kw_only=True):
    """Metadata of a pod, with the few annotations that are read; all of them can be large."""

    annotations: PodAnnotations = PodAnnotations()
    generation: Int64 = 0


class ObjectMeta(Meta, frozen=True, kw_only=True):
    """Metadata with annotations."""

    annotations: dict[str, str] = {}


class Requirement(Object, frozen=True, kw_only=True):
    """One line of a label selector or a node selector term; absent and empty values differ in refusals only."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Object, frozen=True, kw_only=True):
    """Labels that must be equal and requirements that must hold; empty, it selects everything."""

    match_labels: Labels = {}
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(Object, frozen=True, kw_only=True):
    """Requirements on a node's labels and fields, all of which must hold."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Object, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Identified(Protocol):
    """An object that has metadata."""

    @property
    def metadata(self) -> Meta: ...


# --- affinity, spread, tolerations -----------------------------------------------------------------------------------


class PreferredSchedulingTerm(Object, frozen=True, kw_only=True):
    """A node selector term that is wished for, and how much."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Object, frozen=True, kw_only=True):
    """Which nodes a pod needs and which it would like."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] | None = None


class PodAffinityTerm(Object, frozen=True, kw_only=True):
    """Other pods, and the topology in which to be near them or far from them."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Object, frozen=True, kw_only=True):
    """A pod affinity term that is wished for, and how much."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Object, frozen=True, kw_only=True):
    """Which pods a pod must or would like to be near."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodAntiAffinity(Object, frozen=True, kw_only=True):
    """Which pods a pod must or would like to be far from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Object, frozen=True, kw_only=True):
    """All affinities of a pod; a part that is None was not given at all."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class TopologySpreadConstraint(Object, frozen=True, kw_only=True):
    """How unevenly matching pods may lie over the domains of a topology."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class Taint(Object, frozen=True, kw_only=True):
    """What keeps pods off a node unless they tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(Object, frozen=True, kw_only=True):
    """Taints that a pod bears."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


# --- containers ------------------------------------------------------------------------------------------------------


class ResourceRequirements(Object, frozen=True, kw_only=True):
    """What a container or pod asks for; None where upstream's map would be nil."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class ContainerPort(Object, frozen=True, kw_only=True):
    """A port of a container, and the node's port it takes (0: none)."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = ""


class VolumeMount(Object, frozen=True, kw_only=True):
    """A mount, of which only the bind-mount options matter to scheduling."""

    bind_mount_options: tuple[str, ...] = ()


class ContainerRestartRule(Object, frozen=True, kw_only=True):
    """What is done when a container exits in some way."""

    action: str = ""


class Container(Object, frozen=True, kw_only=True):
    """A container, whether regular, init or ephemeral."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


# --- volumes inside a pod --------------------------------------------------------------------------------------------


class ClaimVolume(Object, frozen=True, kw_only=True):
    """A volume that a claim of the pod's namespace stands for."""

    claim_name: str = ""
    read_only: bool = False


class PersistentVolumeClaimSpec(Object, frozen=True, kw_only=True):
    """What a claim asks for; here because pods and StatefulSets carry templates of it."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimTemplate(Object, frozen=True, kw_only=True):
    """A claim to be made for each pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(Object, frozen=True, kw_only=True):
    """A volume whose claim is made with the pod and owned by it; the claim is called `<pod>-<volume>`."""

    volume_claim_template: ClaimTemplate | None = None


class Volume(Object, frozen=True, kw_only=True):
    """A volume of a pod; sources that no rule reads leave every field None."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    image: ImageVolume | None = None
    csi: InlineCSI | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: Portworx | None = None
    vsphere_volume: VsphereVolume | None = None
    rbd: RBD | None = None
    iscsi: ISCSI | None = None


# --- pods ------------------------------------------------------------------------------------------------------------


class PodSchedulingGate(Object, frozen=True, kw_only=True):
    """A named reason for which a pod is held back."""

    name: str = ""


class PodSchedulingGroup(Object, frozen=True, kw_only=True):
    """The group whose member a pod is."""

    pod_group_name: str = ""


class PodResourceClaim(Object, frozen=True, kw_only=True):
    """A claim for devices that a pod names, or has made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Object, frozen=True, kw_only=True):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: Quantities = {}
    resources: ResourceRequirements | None = None
    host_network: bool = False
    host_users: bool | None = None
    runtime_class_name: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()


class PodCondition(Object, frozen=True, kw_only=True):
    """One statement about a pod's state."""

    type: str = ""
    status: str = ""
    reason: str = ""


class ContainerStatus(Object, frozen=True, kw_only=True):
    """What a running container really has, which differs from its spec while it is being resized."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class PodResourceClaimStatus(Object, frozen=True, kw_only=True):
    """The claim made for one of a pod's claim templates."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Object, frozen=True, kw_only=True):
    """What has become of a pod."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(Object, frozen=True, kw_only=True):
    """A pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """Give the name by which messages call it: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


# --- nodes and namespaces --------------------------------------------------------------------------------------------


class NodeSpec(Object, frozen=True, kw_only=True):
    """What an administrator says of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Object, frozen=True, kw_only=True):
    """An image that a node holds, by all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(Object, frozen=True, kw_only=True):
    """What a node has; its capacity only counts where nothing is said to be allocatable."""

    allocatable: Quantities = {}
    capacity: Quantities = {}
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(Object, frozen=True, kw_only=True):
    """A namespace, of which only the labels matter."""

    metadata: ObjectMeta = ObjectMeta()


def uid_of(it: Identified) -> str:
    """Give an object's uid or, where it has none, `<kind in small letters>/<namespace>/<name>`."""
    return it.metadata.uid or f"{type(it).__name__.lower()}/{it.metadata.namespace}/{it.metadata.name}"
