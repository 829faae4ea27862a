"""kubernetes_asyncio against a server: create, list, watch, bind and delete.

Runs in the clients' own environment, with a kubeconfig as its only word; what does not hold raises.
Not here: starting the server (`test_clients.py`).
"""

import asyncio
import sys

from kubernetes_asyncio import client, config, watch

NODE = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
BINDING = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}


async def main(kubeconfig: str) -> None:
    """Do a scheduler's work."""
    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await core.create_node(NODE)
        await core.create_namespaced_pod("default", POD)
        assert [one.metadata.name for one in (await core.list_pod_for_all_namespaces()).items] == ["a"]
        answer = await core.create_namespaced_binding("default", BINDING, _preload_content=False)
        assert answer.status == 201, answer
        async with watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=20) as events:
            async for event in events:
                if event["object"].status.phase == "Running":
                    break
            else:
                raise AssertionError("the bound pod was not seen to run")
        await core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
        assert not (await core.list_namespaced_pod("default")).items


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
    print("done")
