"""Profiles: one object per plugin and profile, at every point where it acts."""

import msgspec
import pytest

from bayplan.config.complaints import ConfigError
from bayplan.config.decode import decode
from bayplan.config.profiles import profiles
from bayplan.framework.plugin import Gates
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.unit.config.conftest import HEADER, Gamma, GammaArguments


def profiles_of(text: str, registry: Registry, gates: Gates | None = None) -> dict[str, Profile]:
    """Decode and make."""
    used = gates or Gates()
    return profiles(decode(HEADER + text, registry, used).configuration, registry, used)


def names(profile: Profile, point: str) -> list[str]:
    """Return the names at a point."""
    return [instance.name for instance in profile.points[point]]


def test_without_a_configuration_there_is_the_default_profile(installed: Registry) -> None:
    """None is the default configuration."""
    found = profiles(None, installed)

    assert list(found) == ["default-scheduler"]
    assert names(found["default-scheduler"], "preEnqueue") == ["SchedulingGates", "DynamicResources"]
    assert names(found["default-scheduler"], "queueSort") == ["PrioritySort"]
    assert len(found["default-scheduler"].filter) == 14
    assert {one.name: one.weight for one in found["default-scheduler"].score} == {
        "TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "VolumeBinding": 1, "PodTopologySpread": 2,
        "InterPodAffinity": 2, "DynamicResources": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
    }  # fmt: skip


def test_a_plugin_is_one_object_in_a_profile(registry: Registry) -> None:
    """At all its points it is the same instance; another profile has its own, with its own arguments."""
    found = profiles_of(
        "profiles:\n"
        "- {schedulerName: a, plugins: {multiPoint: {enabled: [{name: Gamma, weight: 4}]}},"
        " pluginConfig: [{name: Gamma, args: {level: 5}}]}\n"
        "- {schedulerName: b, plugins: {multiPoint: {enabled: [{name: Gamma}]}}}\n", registry,
    )  # fmt: skip

    first, second = found["a"].filter[-1], found["b"].filter[-1]
    assert found["a"].score[-1] is first
    assert first is not second
    assert (first.weight, second.weight) == (4, 1)
    assert first.plugin.arguments == GammaArguments(level=5)
    assert second.plugin.arguments == GammaArguments()


def test_gates_reach_the_plugins(registry: Registry) -> None:
    """A rule is made with the gates in force."""
    gates = Gates(toleration_comparison=True)
    found = profiles_of("profiles: [{plugins: {filter: {enabled: [{name: Alpha}]}}}]", registry, gates)

    assert found["default-scheduler"].filter[-1].plugin.gates is gates
    assert found["default-scheduler"].gates is gates


def test_a_rule_that_cannot_be_made_is_named(registry: Registry) -> None:
    """A rule that raises when made is a complaint about the place that names it."""
    with pytest.raises(
        ConfigError, match=r"filter\.enabled\[0\]: plugin Refuses .*making it failed: RuntimeError: no licence"
    ):
        profiles_of("profiles: [{plugins: {filter: {enabled: [{name: Refuses}]}}}]", registry)


def test_rules_given_by_hand_are_on(registry: Registry) -> None:
    """A rule from a file on the command line acts in every profile that does not say otherwise."""
    registry._by_hand.append("Beta")
    found = profiles_of(
        "profiles:\n- {schedulerName: a}\n- {schedulerName: b, plugins: {score: {disabled: [{name: Beta}]}}}\n",
        registry,
    )

    assert names(found["a"], "score") == ["Beta"]
    assert names(found["b"], "score") == []


def test_storage_capacity_is_scored_behind_its_gate(installed: Registry) -> None:
    """VolumeBinding's shape has a default only while the gate is on, and may not be given while it is off."""
    text = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 1}]}}]}]"
    off = Gates(storage_capacity_scoring=False)

    with pytest.raises(ConfigError, match="has no effect while the gate StorageCapacityScoring is off"):
        profiles_of(text, installed, off)
    made = {one.name: one.plugin.arguments for one in profiles_of("", installed, off)["default-scheduler"].filter}
    assert not getattr(made["VolumeBinding"], "shape", ())


def test_what_extenders_manage_alone_is_ignored(installed: Registry) -> None:
    """Resources left to an extender replace NodeResourcesFit's own list."""
    found = profiles_of(
        "extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]}]", installed
    )
    fit = next(one for one in found["default-scheduler"].filter if one.name == "NodeResourcesFit")

    assert isinstance(fit.plugin.arguments, msgspec.Struct)
    assert getattr(fit.plugin.arguments, "ignored_resources", None) == ("a.b/c",)


def test_the_registry_keeps_classes(registry: Registry) -> None:
    """A profile's rule is of the class that the name means."""
    found = profiles_of("profiles: [{plugins: {filter: {enabled: [{name: Gamma}]}}}]", registry)

    assert type(found["default-scheduler"].filter[-1].plugin) is Gamma
