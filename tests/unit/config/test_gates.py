"""Feature gates are known by name, and set only where something here depends on them."""

import pytest

from bayplan.config.complaints import ConfigError
from bayplan.config.gates import CHOOSE, KNOWN, gates, settings_of
from bayplan.framework.plugin import Gates


def test_without_settings_every_gate_is_at_its_default() -> None:
    """No flag is kube-scheduler 1.37's defaults."""
    assert gates({}) == Gates()


@pytest.mark.parametrize("setting", [True, False])
def test_gates_that_choose(setting: bool) -> None:  # noqa: FBT001 the parameter is the setting
    """Four gates may be set either way."""
    found = gates(dict.fromkeys(CHOOSE, setting))

    assert [getattr(found, field) for field in CHOOSE.values()] == [setting] * len(CHOOSE)


def test_every_known_gate_may_be_set_to_its_default() -> None:
    """Saying what is so anyway changes nothing."""
    assert gates(KNOWN) == Gates()


@pytest.mark.parametrize(("settings", "message"), [
    ({"GenericWorkload": True}, "GenericWorkload: only false, its default in Kubernetes 1.37, is supported"),
    ({"DynamicResourceAllocation": False}, "DynamicResourceAllocation: only true"),
    ({"VolumeLimitScalin": True}, 'unknown feature gate; did you mean "VolumeLimitScaling"?'),
])  # fmt: skip
def test_other_settings_are_refused_by_name(settings: dict[str, bool], message: str) -> None:
    """Nobody believes a feature to be on that is not there."""
    with pytest.raises(ConfigError, match=message.replace("?", r"\?").replace("(", r"\(")):
        gates(settings)


def test_all_complaints_come_at_once() -> None:
    """Every gate that cannot be set so is named."""
    with pytest.raises(ConfigError) as caught:
        gates({"GenericWorkload": True, "Nonsense": True})

    assert [complaint.path for complaint in caught.value.complaints] == ["GenericWorkload", "Nonsense"]


@pytest.mark.parametrize(("flag", "settings"), [
    ("", {}),
    ("A=true", {"A": True}),
    (" A=T , B=0,", {"A": True, "B": False}),
    ("A=true,A=false", {"A": False}),
])  # fmt: skip
def test_the_flag(flag: str, settings: dict[str, bool]) -> None:
    """The flag reads as Go reads it; the last setting of a gate counts."""
    assert settings_of(flag) == settings


@pytest.mark.parametrize("flag", ["A", "A=", "A=yes", "=true,A"])
def test_a_flag_that_is_no_setting(flag: str) -> None:
    """What is no setting is named with what was expected."""
    with pytest.raises(ConfigError, match=r"expected A?=true or A?=false"):
        settings_of(flag)
