"""The official Python client against a server: create, list, watch, bind, patch, evict and delete.

Runs in the clients' own environment, with a kubeconfig as its only word; what does not hold raises.
Not here: starting the server (`test_clients.py`).
"""

import sys
from collections.abc import Callable

from kubernetes import client, config, watch

NODE = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}


def pod(name: str) -> client.V1Pod:
    """Give a pod."""
    container = client.V1Container(name="c", image="i:1")
    meta = client.V1ObjectMeta(name=name, labels={"app": "x"})
    return client.V1Pod(metadata=meta, spec=client.V1PodSpec(containers=[container]))


def binding(name: str) -> client.V1Binding:
    """Give a pod its node."""
    target = client.V1ObjectReference(kind="Node", name="n")
    return client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)


def refused(act: Callable[[], object]) -> int:
    """Do what is to be refused, and give the code."""
    try:
        act()
    except client.ApiException as error:
        return int(error.status)
    raise AssertionError("it was taken")


def main(kubeconfig: str) -> None:
    """Do a scheduler's work."""
    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    core.create_node(NODE)
    for name in ("a", "b"):
        core.create_namespaced_pod("default", pod(name))
    listed = core.list_namespaced_pod("default", label_selector="app=x", field_selector="spec.nodeName=", limit=1)
    assert len(listed.items) == 1, listed
    rest = core.list_namespaced_pod("default", limit=1, _continue=listed.metadata._continue)
    assert rest.items[0].metadata.name == "b", rest

    core.create_namespaced_binding("default", binding("a"), _preload_content=False)
    assert refused(lambda: core.create_namespaced_binding("default", binding("a"), _preload_content=False)) == 409
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=20):
        if event["object"].metadata.name == "a" and event["object"].status.phase == "Running":
            break
    else:
        raise AssertionError("the bound pod was not seen to run")

    core.patch_namespaced_pod("b", "default", {"metadata": {"labels": {"new": "1"}}})
    assert core.read_namespaced_pod("b", "default").metadata.labels == {"app": "x", "new": "1"}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    core.patch_namespaced_pod_status("b", "default", {"status": {"conditions": [condition]}})
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="a"))
    core.create_namespaced_pod_eviction("a", "default", eviction)
    core.delete_namespaced_pod("b", "default")
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=client.V1LeaseSpec(holder_identity="me"))
    made = client.CoordinationV1Api().create_namespaced_lease("default", lease)
    made.spec.holder_identity = "you"
    client.CoordinationV1Api().replace_namespaced_lease("l", "default", made)
    assert len(client.VersionApi().get_code().git_version) > 0


if __name__ == "__main__":
    main(sys.argv[1])
    print("done")
