"""The registry: every rule that a configuration may name, whoever wrote it.

Names come from entry points of the group `bayplan.plugins`, from `module:Class`, and from Python files; our own rules
are entry points like anybody's.  A module is imported when a name in it is used.  Invariant: a name means one class.
Not here: which rules are on (config), and asking them (run.py).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Final, TypeGuard

import msgspec

from bayplan.framework.places import ARGUMENTS, PLACES, POINTS
from bayplan.framework.plugin import AnyPlugin, Plugin

GROUP: Final = "bayplan.plugins"
_SPELLED: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class PluginNotLoaded(Exception):
    """A rule that cannot be had: its name, where it was looked for, and why not."""

    def __init__(self, name: str, where: str, reason: str) -> None:
        self.name = name
        self.where = where
        self.reason = reason
        super().__init__(f"plugin {name} ({where}): {reason}")


class Registry:
    """Names and the classes they stand for."""

    def __init__(self, classes: Iterable[type[AnyPlugin]] = ()) -> None:
        self._spelled: dict[str, str] = {}  # name -> module:Class, not imported yet
        self._where: dict[str, str] = {}
        self._classes: dict[str, type[AnyPlugin]] = {}
        self._by_hand: list[str] = []
        for plugin in classes:
            self.add(plugin)

    @classmethod
    def installed(cls) -> Registry:
        """Return a registry of what is installed; nothing is imported."""
        registry = cls()
        for entry in metadata.entry_points(group=GROUP):
            owner = entry.dist.name if entry.dist is not None else "unknown package"
            registry.spell(entry.name, entry.value, f"{entry.value} of {owner}")
        return registry

    # -- filling it
    def spell(self, name: str, value: str, where: str) -> None:
        """Say where a name's class is, as `module:Class`."""
        known = self._spelled.get(name)
        if known == value:
            return
        if known is not None or name in self._classes:
            raise PluginNotLoaded(name, where, f"the name is taken by {self._where[name]}; remove one of the two")
        self._spelled[name] = value
        self._where[name] = where

    def add(self, plugin: type[AnyPlugin], where: str = "") -> str:
        """Take a class in under its own name, and return that."""
        name, where = plugin.name, where or f"{plugin.__module__}:{plugin.__qualname__}"
        _examine(name, plugin, where)
        known = self._classes.get(name)
        if known is not plugin and (known is not None or name in self._spelled):
            raise PluginNotLoaded(
                name, where, f"the name is taken by {self._where[name]}; give the class another `name`"
            )
        self._classes[name] = plugin
        self._where[name] = where
        return name

    def use(self, given: str) -> tuple[str, ...]:
        """Take in what somebody named by hand, a Python file or `module:Class`, for use in all profiles."""
        if not _SPELLED.fullmatch(given):
            return self.add_file(Path(given))
        name = self.canonical(given)
        if name not in self._by_hand:
            self._by_hand.append(name)
        return (name,)

    def add_file(self, file: Path) -> tuple[str, ...]:
        """Take in every rule that a Python file defines, for use in all profiles; return their names."""
        module = _imported_file(file)
        found = [one for one in vars(module).values() if _is_rule(one) and one.__module__ == module.__name__]
        if not found:
            raise PluginNotLoaded(
                file.stem, str(file), "it defines no rule: no subclass of bayplan.Plugin, no decorated function"
            )
        names = tuple(dict.fromkeys(self.add(plugin, str(file)) for plugin in found))
        self._by_hand += [name for name in names if name not in self._by_hand]
        return names

    # -- asking it
    @property
    def by_hand(self) -> tuple[str, ...]:
        """Name the rules that were given by file: they are on unless a configuration says otherwise."""
        return tuple(self._by_hand)

    def names(self) -> tuple[str, ...]:
        """Return every name that a configuration may use."""
        return tuple(sorted({*self._spelled, *self._classes, *PLACES}))

    def canonical(self, name: str) -> str:
        """Return the name by which a rule is known; `module:Class` is imported and taken in."""
        if not _SPELLED.fullmatch(name):
            return name
        plugin = self._imported(name, name, name)
        taken = next((other for other, value in self._spelled.items() if value == name), None)
        return taken if taken is not None else self.add(plugin, name)

    def knows(self, name: str) -> bool:
        """Say whether a configuration may use a name."""
        return name in self._spelled or name in self._classes or name in PLACES

    def rule(self, name: str) -> type[AnyPlugin] | None:
        """Return a name's class, importing it if need be; None for a place without a rule."""
        if name not in self._classes:
            if name not in self._spelled:
                return None
            self._classes[name] = self._imported(name, self._spelled[name], self._where[name])
        return self._classes[name]

    def points(self, name: str) -> frozenset[str]:
        """Return the extension points at which a name may be enabled."""
        if name in PLACES:
            return PLACES[name]
        plugin = self.rule(name)
        return plugin.points if plugin is not None else frozenset()

    def arguments(self, name: str) -> type[msgspec.Struct] | None:
        """Return the struct of the arguments that a name takes, or None if it takes none."""
        plugin = self.rule(name)
        own = plugin.Arguments if plugin is not None else None
        return own if own is not None else ARGUMENTS.get(name)

    def weight(self, name: str) -> int:
        """Return the weight that a rule given by hand asks for."""
        return int(getattr(self.rule(name), "weight", 1) or 1)

    def _imported(self, name: str, value: str, where: str) -> type[AnyPlugin]:
        module_name, _, attribute = value.partition(":")
        module = _guarded(name, where, lambda: importlib.import_module(module_name))
        found: object = module
        for step in attribute.split("."):
            found = getattr(found, step, None)
        if not _is_rule(found):
            raise PluginNotLoaded(name, where, f"{attribute} in {module_name} is no subclass of bayplan.Plugin")
        _examine(name, found, where)
        return found


def _is_rule(found: object) -> TypeGuard[type[AnyPlugin]]:
    return isinstance(found, type) and issubclass(found, Plugin) and found is not Plugin


def _examine(name: str, plugin: type[AnyPlugin], where: str) -> None:
    """Refuse a class that does not keep the contract's declarations."""
    unknown = sorted(set(plugin.points) - set(POINTS))
    if unknown:
        raise PluginNotLoaded(
            name, where, f"there is no extension point {unknown[0]!r}; there are: {', '.join(POINTS)}"
        )
    if not plugin.points:
        raise PluginNotLoaded(name, where, "it overrides no method of bayplan.Plugin, so it would never be asked")
    arguments: object = plugin.Arguments
    if arguments is not None and not (isinstance(arguments, type) and issubclass(arguments, msgspec.Struct)):
        raise PluginNotLoaded(name, where, "`Arguments` must be a msgspec.Struct class, or None")


def _imported_file(file: Path) -> ModuleType:
    """Run a Python file as a module of its own name."""
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]
    module_name = f"bayplan_rule_{re.sub(r'[^0-9A-Za-z_]', '_', file.stem)}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise PluginNotLoaded(file.stem, str(file), "expected a Python file, named *.py")
    module = importlib.util.module_from_spec(spec)
    loader = spec.loader
    sys.modules[module_name] = module  # dataclasses and pickling look a class's module up
    try:
        _guarded(file.stem, str(file), lambda: loader.exec_module(module))
    except PluginNotLoaded:
        del sys.modules[module_name]
        raise
    return module


def _guarded(name: str, where: str, action: Callable[[], ModuleType | None]) -> ModuleType | None:
    """Run what others wrote; whatever it raises becomes one message."""
    try:
        return action()
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "importlib" not in frame.filename and frame.filename != __file__]
        line = f", line {own[-1].lineno} of {own[-1].filename}" if own else ""
        if isinstance(error, SyntaxError) and error.filename:
            line = f", line {error.lineno} of {error.filename}"
        raise PluginNotLoaded(name, where, f"{type(error).__name__}: {error}{line}") from error
