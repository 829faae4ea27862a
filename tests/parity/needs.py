"""Needs: which cases ask for something that bayplan does not do yet, and what that is.

A case is passed over only when its answer depends on the missing rule: a ResourceClaim that no pod in question uses,
or a pod that may preempt but whose other fields can be compared, is no reason.
"""

from tests.parity.case import Case, Manifest

FAMILIES_NOT_YET = {
    "preemption": "preemption",
    "podgroup": "pod groups",
    "dra": "resource claims",
}
CLASS_RESOURCE_PREFIX = "deviceclass.resource.kubernetes.io/"


def missing_for(case: Case) -> str | None:
    """Return the name of what the case needs and bayplan lacks, or None when it can be answered."""
    if case["family"] in FAMILIES_NOT_YET:
        return FAMILIES_NOT_YET[case["family"]]
    if "pods" in case:
        return "pod groups"
    if case["pod"]["spec"].get("resourceClaims"):
        return "resource claims"
    if _resources_asked(case["pod"]["spec"]) & _resources_of_classes(case["objects"]):
        return "resources that a DeviceClass maps"
    return None


def _resources_asked(spec: Manifest) -> set[str]:
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    return {name for one in containers for name in ((one.get("resources") or {}).get("requests") or {})}


def _resources_of_classes(objects: list[Manifest]) -> set[str]:
    classes = [one for one in objects if one["kind"] == "DeviceClass"]
    named = {one.get("spec", {}).get("extendedResourceName") for one in classes}
    return (named - {None}) | {CLASS_RESOURCE_PREFIX + one["metadata"]["name"] for one in classes}
