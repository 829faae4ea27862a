"""The registry finds rules by name, and says why one cannot be had."""

import subprocess
import sys
from pathlib import Path

import pytest

from bayplan.framework.places import PLACES
from bayplan.framework.plugin import Plugin
from bayplan.framework.registry import PluginNotLoaded, Registry

IMPORT = "from bayplan.framework.plugin import Plugin\n"
RULE = '''
"""A rule."""
from bayplan.framework.plugin import Plugin


class Cheapest(Plugin):
    """Prefer cheap nodes."""

    def score(self, state, view, feasible):
        """Score."""
        return feasible
'''


class Mine(Plugin[None, None]):
    """A rule that asks for nothing."""

    points = frozenset({"filter"})


def test_our_own_rules_are_entry_points() -> None:
    """Every rule that is on by default has its name, its class, and acts where kube-scheduler's does."""
    registry = Registry.installed()

    for name in (one for one in PLACES if registry.rule(one) is not None):
        rule = registry.rule(name)
        assert rule is not None
        assert rule.name == name
        assert rule.points <= PLACES[name]


def test_nothing_is_imported_before_its_name_is_used() -> None:
    """A registry costs no plugin's import."""
    code = (
        "import sys; from bayplan.framework.registry import Registry; r = Registry.installed(); r.names();"
        "r.points('NodeName'); before = [m for m in sys.modules if m.startswith('bayplan.plugins.')];"
        "r.rule('NodeName'); after = [m for m in sys.modules if m.startswith('bayplan.plugins.')]; print(before, after)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert shown.strip() == "[] ['bayplan.plugins.node_name']"


def test_places_without_a_rule() -> None:
    """What kube-scheduler has and we have no code for is known, with its points and arguments."""
    registry = Registry()

    assert registry.knows("DefaultPreemption")
    assert registry.rule("DefaultPreemption") is None
    assert registry.points("DefaultBinder") == {"bind"}
    assert registry.arguments("DefaultPreemption") is not None


def test_a_rule_from_a_file(tmp_path: Path) -> None:
    """A file's rules are taken in under their own names, and are given by hand."""
    file = tmp_path / "cheap.py"
    file.write_text(RULE)
    registry = Registry()

    assert registry.add_file(file) == ("Cheapest",)
    assert registry.add_file(file) == ("Cheapest",)
    assert registry.by_hand == ("Cheapest",)
    assert registry.points("Cheapest") == {"score"}


@pytest.mark.parametrize(("content", "reason"), [
    ("import nowhere_at_all",
     r"cheap\.py\): ModuleNotFoundError: No module named 'nowhere_at_all', line 1 of .*cheap\.py"),
    ("x = 1\n1 / 0\n", r"ZeroDivisionError: division by zero, line 2 of"),
    ("def f(:\n", r"SyntaxError: .*line 1 of"),
    ("raise SystemExit(3)", "SystemExit: 3"),
    ("x = 1", "it defines no rule"),
    (f"{IMPORT}class Empty(Plugin):\n    pass\n", "overrides no method"),
    (f"{IMPORT}class Odd(Plugin):\n    points = frozenset({{'fliter'}})\n",
     "there is no extension point 'fliter'"),
    (f"{IMPORT}class Odd(Plugin):\n    points = frozenset({{'filter'}})\n    Arguments = 3\n",
     "`Arguments` must be a msgspec.Struct class"),
])  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path: Path, content: str, reason: str) -> None:
    """A file that fails is named, with the reason and the line."""
    file = tmp_path / "cheap.py"
    file.write_text(content)

    with pytest.raises(PluginNotLoaded, match=reason):
        Registry().add_file(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(PluginNotLoaded, match=r"none\.py\): FileNotFoundError"):
        Registry().add_file(tmp_path / "none.py")


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    """Only Python files hold rules."""
    with pytest.raises(PluginNotLoaded, match="expected a Python file"):
        Registry().add_file(tmp_path / "rule.txt")


def test_a_class_by_its_spelling() -> None:
    """`module:Class` names a class, and stands for the class's own name afterwards."""
    registry = Registry()

    assert registry.canonical(f"{__name__}:Mine") == "Mine"
    assert registry.rule("Mine") is Mine
    assert registry.canonical("NodeName") == "NodeName"


@pytest.mark.parametrize("spelled", ["os:getcwd", "bayplan.framework.plugin:Plugin", "nowhere:Rule", "os:nothing"])
def test_a_spelling_that_names_no_rule(spelled: str) -> None:
    """What is no rule is refused by its spelling."""
    with pytest.raises(PluginNotLoaded, match=spelled):
        Registry().canonical(spelled)


def test_rules_named_by_hand(tmp_path: Path) -> None:
    """A file or a spelling given on the command line is used in every profile."""
    file = tmp_path / "cheap.py"
    file.write_text(RULE)
    registry = Registry()

    assert registry.use(str(file)) == ("Cheapest",)
    assert registry.use(f"{__name__}:Mine") == ("Mine",)
    assert registry.by_hand == ("Cheapest", "Mine")


def test_a_name_means_one_class() -> None:
    """Two rules of one name are refused, with both places."""
    registry = Registry([Mine])
    other = type("Mine", (Plugin,), {"points": frozenset({"filter"})})

    with pytest.raises(PluginNotLoaded, match="the name is taken by"):
        registry.add(other)
    with pytest.raises(PluginNotLoaded, match="the name is taken by"):
        registry.spell("Mine", "other:Mine", "other:Mine of elsewhere")
