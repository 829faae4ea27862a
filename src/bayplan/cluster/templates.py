"""Pods made from one template: what can be read once for all of them.

A pod is compared with the last one of its owner; where their parts are the same, so is what is read from these parts.
Decoded pods of one owner share equal parts (api/share.py), so the comparison is of identities, mostly.
Invariant: `is_alike` says yes only of pods from which the same requests, ports, terms and tolerations are read.
Not here: what is read (residents.py, reading.py).
"""

from __future__ import annotations

from bayplan.api.objects import Pod


def owner_key(pod: Pod) -> str:
    """Return the name under which the last pod like this one may be remembered."""
    meta = pod.metadata
    owners = meta.owner_references
    if owners:
        return owners[0].uid or owners[0].name
    return meta.generate_name or meta.namespace


def is_alike(one: Pod, other: Pod) -> bool:
    """Say whether two pods ask for the same, their volumes and labels aside."""
    a, b, have, had = one.spec, other.spec, one.status, other.status
    return (
        (a.containers is b.containers or a.containers == b.containers)
        and a.init_containers == b.init_containers
        and (a.affinity is b.affinity or a.affinity == b.affinity)
        and a.tolerations == b.tolerations
        and a.overhead == b.overhead
        and a.resources == b.resources
        and a.topology_spread_constraints == b.topology_spread_constraints
        and a.node_selector == b.node_selector
        and a.host_network == b.host_network
        and a.host_users == b.host_users
        and a.ephemeral_containers == b.ephemeral_containers
        and a.scheduling_gates == b.scheduling_gates
        and a.resource_claims == b.resource_claims
        and a.scheduling_group == b.scheduling_group
        and one.metadata.namespace == other.metadata.namespace
        and have.container_statuses == had.container_statuses
        and have.init_container_statuses == had.init_container_statuses
        and have.resources == had.resources
        and have.allocated_resources == had.allocated_resources
        and have.conditions == had.conditions
    )
