"""The annotations of pods that matter to somebody here; all others are passed over when a pod is read.

Annotations can be larger than all else of a pod, and there are many pods.
Not here: annotations that a rule of somebody's own declares (`api/wider.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
GROUP_MIN_MEMBER: Final = "scheduling.k8s.io/group-min-member"


class PodAnnotations(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Which group of kube-batch a pod belongs to, and how large a group made for it must be."""

    group_name: str = msgspec.field(name=GROUP_NAME, default="")
    group_min_member: str = msgspec.field(name=GROUP_MIN_MEMBER, default="")


def annotations_of(given: object) -> PodAnnotations:
    """Return the annotations that are read; where a rule declared all of them, they are a plain map."""
    if isinstance(given, PodAnnotations):
        return given
    texts = {key: value for key, value in given.items() if isinstance(value, str)} if isinstance(given, Mapping) else {}
    return msgspec.convert(texts, PodAnnotations)
