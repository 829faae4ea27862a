"""Small rules for configurations to name: Alpha filters, Beta scores, Gamma does both and takes arguments."""

import msgspec
import pytest

from bayplan.framework.plugin import Plugin
from bayplan.framework.registry import Registry

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class GammaArguments(msgspec.Struct, frozen=True, rename="camel"):
    """Arguments with a check of their own."""

    level: int = 1
    key_names: tuple[str, ...] = ()
    note: str | int | None = None

    def problems(self) -> list[str]:
        """Dislike high levels."""
        return [f"level: {self.level} is too high"] if self.level > 9 else []


class Alpha(Plugin[None, None]):
    """A filter."""

    points = frozenset({"preFilter", "filter"})


class Beta(Plugin[None, None]):
    """A score."""

    points = frozenset({"preScore", "score"})


class Gamma(Plugin[None, None]):
    """A filter and a score with arguments."""

    points = frozenset({"preFilter", "filter", "score"})
    Arguments = GammaArguments


class Refuses(Plugin[None, None]):
    """A rule that cannot be made."""

    points = frozenset({"filter"})

    def __init__(self, *arguments: object, **settings: object) -> None:
        """Refuse."""
        raise RuntimeError("no licence")


@pytest.fixture
def registry() -> Registry:
    """Give a registry of the small rules, beside kube-scheduler's places."""
    return Registry([Alpha, Beta, Gamma, Refuses])


@pytest.fixture
def installed() -> Registry:
    """Give the registry of what is installed."""
    return Registry.installed()
