"""Expected: what random cases must reach in a long run, in the words of coverage.py.

It is a closed list on purpose: what a plugin can say and no case reaches is a gap in the generator.
"""

PLUGIN_SET_POINTS = (
    "multiPoint.enabled",
    "multiPoint.disabled",
    "filter.enabled",
    "filter.disabled",
    "preFilter.disabled",
    "score.enabled",
    "score.disabled",
    "preScore.disabled",
    "preEnqueue.disabled",
)
FIT = ("cpu", "memory", "ephemeral-storage", "hugepages-…", "attachable-volumes-…", "…kubernetes.io/…", "…/…")
FILTER_SKIPS = (
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
)
SCORE_SKIPS = (
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "PodTopologySpread",
    "VolumeBinding",
)
SCORES = (
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "TaintToleration",
    "VolumeBinding",
)
GATES = (
    "TaintTolerationComparisonOperators=True",
    "InterPodAffinityHostnameFastPath=True",
    "VolumeLimitScaling=False",
    "StorageCapacityScoring=False",
)
ARGUMENTS = (
    "InterPodAffinity.hardPodAffinityWeight",
    "InterPodAffinity.ignorePreferredTermsOfExistingPods",
    "NodeAffinity.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution",
    "NodeAffinity.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    "NodeResourcesBalancedAllocation.resources",
    "NodeResourcesFit.ignoredResourceGroups",
    "NodeResourcesFit.ignoredResources",
    "NodeResourcesFit.scoringStrategy.requestedToCapacityRatio",
    "NodeResourcesFit.scoringStrategy.resources",
    "PodTopologySpread.defaultConstraints",
    "PodTopologySpread.defaultingType=List",
    "PodTopologySpread.defaultingType=System",
    "DefaultPreemption.minCandidateNodesAbsolute",
    "DefaultPreemption.minCandidateNodesPercentage",
    "VolumeBinding.bindTimeoutSeconds",
    "VolumeBinding.shape",
)
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
ABSENT_CLAIM = 'persistentvolumeclaim "…" not found'
RWOP_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
FILTERS = (
    "NodeName: node(s) didn't match the requested node name",
    "NodeUnschedulable: node(s) were unschedulable",
    "TaintToleration: node(s) had untolerated taint(s)",
    "NodeAffinity: node(s) didn't match scheduler-enforced node affinity",
    "NodeAffinity: node(s) didn't match Pod's node affinity/selector",
    "NodePorts: node(s) didn't have free ports for the requested pod ports",
    "NodeResourcesFit: Too many pods",
    *(f"NodeResourcesFit: Insufficient {name}" for name in FIT),
    "VolumeRestrictions: node(s) had no available disk",
    f"VolumeRestrictions: {RWOP_IN_USE}",
    "NodeVolumeLimits: … CSI driver is not installed on the node",
    "NodeVolumeLimits: node(s) exceed max volume count",
    f"NodeVolumeLimits: looking up PVC …: {ABSENT_CLAIM}",
    "VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
    "VolumeBinding: node(s) didn't find available persistent volumes to bind",
    "VolumeBinding: node(s) did not have enough free storage",
    "VolumeBinding: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "VolumeZone: node(s) had no available volume zone",
    "PodTopologySpread: node(s) didn't match pod topology spread constraints (missing required label)",
    "PodTopologySpread: node(s) didn't match pod topology spread constraints",
    "InterPodAffinity: node(s) didn't match pod affinity rules",
    "InterPodAffinity: node(s) didn't match pod anti-affinity rules",
    "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
    "NodeDeclaredFeatures: node(s) didn't match Pod's required features",
    "framework: node(s) didn't satisfy plugin(s) [NodeName]",
    "framework: node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "framework: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]",
)
PREFILTERS = (
    "NodeAffinity: pod affinity terms conflict",
    "framework: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously",
    "InterPodAffinity: parsing pod: …",
    f"VolumeRestrictions: {ABSENT_CLAIM}",
    f"VolumeBinding: {ABSENT_CLAIM}",
    'VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim "…"',
    'VolumeBinding: persistentvolumeclaim "…" bound to non-existent persistentvolume "…"',
    'VolumeBinding: persistentvolumeclaim "…" is being deleted',
    "VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
    "VolumeBinding: PVC … was not created for pod … (pod is not owner)",
    "VolumeZone: PersistentVolumeClaim had no name",
    f"VolumeZone: {ABSENT_CLAIM}",
    'VolumeZone: persistentvolume "…" not found',
    'VolumeZone: storageclass.storage.k8s.io "…" not found',
    "VolumeZone: PersistentVolumeClaim had no pv name and storageClass name",
    'VolumeZone: VolumeBindingMode not set for StorageClass "…"',
    "VolumeZone: PersistentVolume had no name",
)
SELECTOR_ERROR = "get constraints from pod: obtaining pod's hard topology spread constraints: …"
ERRORS = (
    f'running PreFilter plugin "…": {SELECTOR_ERROR}',
    'running PreFilter plugin "…": VolumeBindingMode not set for StorageClass "…"',
    'running PreScore plugin "…": calculating preScoreState: obtaining pod\'s soft topology spread constraints: …',
    "running NodeVolumeLimits filter plugin: PersistentVolumeClaim had no name",
    "running NodeVolumeLimits filter plugin: PVC … was not created for pod … (pod is not owner)",
    'running PreScore plugin "…": …',
)

EXPECTED = (
    "pre-enqueue: waiting for scheduling gates: […]",
    "no nodes: no nodes available to schedule pods",
    *(f"filter: {name}" for name in FILTERS),
    *(f"prefilter: {name}" for name in PREFILTERS),
    *(f"error: {name}" for name in ERRORS),
    *(f"filter skipped: {name}" for name in FILTER_SKIPS),
    *(f"score skipped: {name}" for name in SCORE_SKIPS),
    *(f"score differs: {name}" for name in SCORES),
    *(f"gate: {name}" for name in GATES),
    *(f"argument: {name}" for name in ARGUMENTS),
    *(f"strategy: {name}" for name in STRATEGIES),
    *(f"plugins: {name}" for name in PLUGIN_SET_POINTS),
    "profiles: several",
    "volumes: bind",
    "volumes: provision",
)
