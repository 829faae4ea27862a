"""Which kinds are watched: those that some rule reads, and no other."""

from bayplan.config.decode import decode
from bayplan.config.profiles import profiles
from bayplan.core.wakeups import kinds_of
from bayplan.framework.plugin import Change, Plugin
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.registry import Registry
from bayplan.kube.resources import resources
from bayplan.serve.kinds import BUDGETS, EVERY, READS, watched
from bayplan.serve.setup import Asked, setup

REGISTRY = Registry.installed()
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_the_default_rules_need_these() -> None:
    """What kube-scheduler watches, but for what nothing here reads."""
    assert watched(setup(Asked(), None).profiles.values()) == EVERY


def test_what_no_rule_reads_is_not_watched() -> None:
    """A profile of two rules watches pods and nodes."""
    only = [{"name": name} for name in ("PrioritySort", "NodeName", "NodeResourcesFit", "DefaultBinder")]
    given = {"schedulerName": "few", "plugins": {"multiPoint": {"enabled": only, "disabled": [{"name": "*"}]}}}
    configuration = decode({**HEAD, "profiles": [given]}, REGISTRY).configuration

    assert watched(profiles(configuration, REGISTRY).values()) == ("Node", "Pod")


class Own(Plugin[None, None]):
    """A rule that says nothing of what it reads."""


def test_a_rule_of_somebody_s_own_may_read_anything() -> None:
    """Nobody knows what it looks at, so everything is there."""
    rule = Instance("Own", Own())

    assert watched([Profile("own", {"filter": [rule]})]) == EVERY


def test_every_kind_is_found_somewhere() -> None:
    """Each has a place in the API, and each rule that is named exists or is a place."""
    assert {*EVERY, BUDGETS} <= set(resources())
    assert {kind for kinds in READS.values() for kind in kinds} <= {*EVERY, BUDGETS}
    assert set(READS) <= set(REGISTRY.names())
    assert kinds_of(Change) <= set(EVERY)
