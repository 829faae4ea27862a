"""Protobuf: the bodies that kubectl sends where it creates by flags, read as the trees that JSON would have been.

The fields of the messages stand in a table: a number, the name in JSON, and the code of its type.
Invariants: no bytes raise anything but Refused; a field that is not in the table and holds anything is refused, so that
nothing a client sent is lost in silence.
Not here: answering in protobuf, which no client insists on.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.api.yamltree import Tree
from bayplan.playground.refusals import Refused, bad_request, unsupported_media
from bayplan.playground.trees import Map

MAGIC: Final = b"k8s\0"

# s text, i integer, b boolean, x integer or text, m texts by name, y bytes by name, q quantities by name,
# - passed over, else a message; ? kept even when it is empty or nought, * repeated
_TABLE: Final = """
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 4:selfLink:s 5:uid:s 6:resourceVersion:s 7:generation:i
  8:creationTimestamp:- 10:deletionGracePeriodSeconds:i? 11:labels:m 12:annotations:m
  13:ownerReferences:OwnerReference* 14:finalizers:s*
OwnerReference 1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:b? 7:blockOwnerDeletion:b?
LabelSelector 1:matchLabels:m 2:matchExpressions:LabelSelectorRequirement*
LabelSelectorRequirement 1:key:s 2:operator:s 3:values:s*
DeleteOptions 1:gracePeriodSeconds:i? 2:preconditions:Preconditions 3:orphanDependents:b? 4:propagationPolicy:s?
  5:dryRun:s* 6:ignoreStoreReadErrorWithClusterBreakingPotential:b?
Preconditions 1:uid:s? 2:resourceVersion:s?
ConfigMap 1:metadata:ObjectMeta 2:data:m 3:binaryData:y 4:immutable:b?
Secret 1:metadata:ObjectMeta 2:data:y 3:type:s 4:stringData:m 5:immutable:b?
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec 3:status:-
NamespaceSpec 1:finalizers:s*
ServiceAccount 1:metadata:ObjectMeta 4:automountServiceAccountToken:b?
Service 1:metadata:ObjectMeta 2:spec:ServiceSpec 3:status:-
ServiceSpec 1:ports:ServicePort* 2:selector:m 3:clusterIP:s 4:type:s 5:externalIPs:s* 7:sessionAffinity:s
  8:loadBalancerIP:s 9:loadBalancerSourceRanges:s* 10:externalName:s 11:externalTrafficPolicy:s
  12:healthCheckNodePort:i 13:publishNotReadyAddresses:b 17:ipFamilyPolicy:s? 18:clusterIPs:s* 19:ipFamilies:s*
  20:allocateLoadBalancerNodePorts:b? 21:loadBalancerClass:s? 22:internalTrafficPolicy:s? 23:trafficDistribution:s?
ServicePort 1:name:s 2:protocol:s 3:port:i 4:targetPort:x 5:nodePort:i 6:appProtocol:s?
ResourceQuota 1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec 3:status:-
ResourceQuotaSpec 1:hard:q 2:scopes:s*
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
PodSpec 2:containers:Container* 3:restartPolicy:s 4:terminationGracePeriodSeconds:i? 5:activeDeadlineSeconds:i?
  6:dnsPolicy:s 7:nodeSelector:m 8:serviceAccountName:s 9:serviceAccount:s 10:nodeName:s 11:hostNetwork:b 12:hostPID:b
  13:hostIPC:b 16:hostname:s 17:subdomain:s 19:schedulerName:s 20:initContainers:Container*
  21:automountServiceAccountToken:b? 24:priorityClassName:s 25:priority:i? 27:shareProcessNamespace:b?
  29:runtimeClassName:s? 30:enableServiceLinks:b? 31:preemptionPolicy:s? 32:overhead:q 35:setHostnameAsFQDN:b?
  37:hostUsers:b? 40:resources:ResourceRequirements 41:hostnameOverride:s?
Container 1:name:s 2:image:s 3:command:s* 4:args:s* 5:workingDir:s 6:ports:ContainerPort* 7:env:EnvVar*
  8:resources:ResourceRequirements 13:terminationMessagePath:s 14:imagePullPolicy:s 16:stdin:b 17:stdinOnce:b 18:tty:b
  20:terminationMessagePolicy:s 24:restartPolicy:s?
ContainerPort 1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s
EnvVar 1:name:s 2:value:s
ResourceRequirements 1:limits:q 2:requests:q
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec 3:status:-
DeploymentSpec 1:replicas:i? 2:selector:LabelSelector 3:template:PodTemplateSpec 4:strategy:DeploymentStrategy
  5:minReadySeconds:i 6:revisionHistoryLimit:i? 7:paused:b 9:progressDeadlineSeconds:i?
DeploymentStrategy 1:type:s
Job 1:metadata:ObjectMeta 2:spec:JobSpec 3:status:-
JobSpec 1:parallelism:i? 2:completions:i? 3:activeDeadlineSeconds:i? 4:selector:LabelSelector 5:manualSelector:b?
  6:template:PodTemplateSpec 7:backoffLimit:i? 8:ttlSecondsAfterFinished:i? 9:completionMode:s? 10:suspend:b?
  12:backoffLimitPerIndex:i? 13:maxFailedIndexes:i? 14:podReplacementPolicy:s? 15:managedBy:s?
CronJob 1:metadata:ObjectMeta 2:spec:CronJobSpec 3:status:-
CronJobSpec 1:schedule:s 2:startingDeadlineSeconds:i? 3:concurrencyPolicy:s 4:suspend:b? 5:jobTemplate:JobTemplateSpec
  6:successfulJobsHistoryLimit:i? 7:failedJobsHistoryLimit:i? 8:timeZone:s?
JobTemplateSpec 1:metadata:ObjectMeta 2:spec:JobSpec
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec 3:status:-
PodDisruptionBudgetSpec 1:minAvailable:x 2:selector:LabelSelector 3:maxUnavailable:x 4:unhealthyPodEvictionPolicy:s?
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s?
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec 3:status:-
SelfSubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s
NonResourceAttributes 1:path:s 2:verb:s
Role 1:metadata:ObjectMeta 2:rules:PolicyRule*
RoleBinding 1:metadata:ObjectMeta 2:subjects:Subject* 3:roleRef:RoleRef
ClusterRole 1:metadata:ObjectMeta 2:rules:PolicyRule*
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:Subject* 3:roleRef:RoleRef
PolicyRule 1:verbs:s* 2:apiGroups:s* 3:resources:s* 4:resourceNames:s* 5:nonResourceURLs:s*
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
"""


class Field(NamedTuple):
    """One field of a message."""

    name: str
    code: str
    is_repeated: bool
    is_kept: bool


Wire = tuple[int, int | bytes]  # a field's number, and its integer or its bytes


def decoded(raw: bytes) -> Map:
    """Read an object in its envelope; raise Refused on what is not one, or not one that is read here."""
    if not raw.startswith(MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return _object(raw[len(MAGIC) :])
    except (IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"couldn't read the protobuf message: {error}") from None


def _object(raw: bytes) -> Map:
    version = kind = ""
    content = b""
    for number, value in _fields(raw):
        if number == 1:
            words = {inner: _text(told) for inner, told in _fields(_bytes(value))}
            version, kind = words.get(1, ""), words.get(2, "")
        elif number == 2:
            content = _bytes(value)
    if kind not in _MESSAGES:
        raise unsupported_media(
            f'protobuf of kind "{kind[:60]}" is not read here; send JSON: '
            "with kubectl, `-o yaml --dry-run=client | kubectl apply -f -`"
        )
    return {"kind": kind, "apiVersion": version, **_message(kind, content)}


def _message(name: str, raw: bytes) -> Map:
    """Read a message as its fields say."""
    known, tree = _MESSAGES[name], dict[str, Tree]()
    for number, value in _fields(raw):
        field = known.get(number)
        if field is None:
            if value not in {0, b""}:
                raise _unread(name, number)
        elif field.code in "myq":
            key, told = _entry(_bytes(value), field.code)
            entries = tree.setdefault(field.name, {})
            if isinstance(entries, dict):
                entries[key] = told
        elif field.code != "-":
            _set(tree, field, _value(field.code, value))
    return tree


def _set(tree: Map, field: Field, value: Tree) -> None:
    if field.is_repeated:
        several = tree.setdefault(field.name, [])
        if isinstance(several, list):
            several.append(value)
    elif field.is_kept or value not in ("", 0, False):
        tree[field.name] = value


def _value(code: str, value: int | bytes) -> Tree:
    match code:
        case "s":
            return _text(value)
        case "i":
            return _integer(value)
        case "b":
            return bool(_integer(value))
        case "x":
            parts = dict(_fields(_bytes(value)))
            return _text(parts.get(3, b"")) if parts.get(1) == 1 else _integer(parts.get(2, 0))
        case _:
            return _message(code, _bytes(value))


def _entry(raw: bytes, code: str) -> tuple[str, Tree]:
    """Read one entry of a map."""
    parts = dict(_fields(raw))
    value = _bytes(parts.get(2, b""))
    if code == "y":
        return _text(parts.get(1, b"")), base64.b64encode(value).decode()
    if code == "q":
        return _text(parts.get(1, b"")), _text(dict(_fields(value)).get(1, b""))
    return _text(parts.get(1, b"")), _text(value)


# --- the wire --------------------------------------------------------------------------------------------------------


def _fields(raw: bytes) -> Iterator[Wire]:
    """Go through a message's fields as they stand."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        if tag & 7 == 0:
            value, at = _varint(raw, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = _varint(raw, at)
            if at + size > len(raw):
                raise bad_request("couldn't read the protobuf message: it ends too early")
            yield tag >> 3, raw[at : at + size]
            at += size
        else:
            raise bad_request(f"couldn't read the protobuf message: wire type {tag & 7} is not used by Kubernetes")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (2**64 - 1), at
        if shift > 63:
            raise bad_request("couldn't read the protobuf message: an integer has more than 64 bits")


def _integer(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise bad_request("couldn't read the protobuf message: expected an integer")
    return value - 2**64 if value >= 2**63 else value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise bad_request("couldn't read the protobuf message: expected bytes")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _unread(name: str, number: int) -> Refused:
    return unsupported_media(
        f"field {number} of {name} is not read from protobuf here; send JSON: "
        "with kubectl, `-o yaml --dry-run=client | kubectl apply -f -`"
    )


def _read(table: str) -> dict[str, dict[int, Field]]:
    messages: dict[str, dict[int, Field]] = {}
    fields: dict[int, Field] = {}
    for word in table.split():
        if ":" not in word:
            fields = messages[word] = {}
            continue
        number, name, code = word.split(":")
        plain = code.rstrip("?*")
        is_kept = code.endswith("?") or plain == "x" or plain[0].isupper()
        fields[int(number)] = Field(name, plain, code.endswith("*"), is_kept)
    return messages


_MESSAGES: Final = _read(_TABLE)
