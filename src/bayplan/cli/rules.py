"""The rules that a command is to ask: a configuration file and rules of one's own, made into profiles.

Invariant: whatever is wrong with them ends the command with all complaints, before anything is asked.
Not here: reading configurations (the room `config`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from bayplan.api.decode import KINDS
from bayplan.api.wider import FieldError, Kinds, widened
from bayplan.config.complaints import ConfigError
from bayplan.config.files import load, refuse_batches, refuse_extenders
from bayplan.config.gates import gates, settings_of
from bayplan.config.policy import from_provider
from bayplan.config.profiles import profiles
from bayplan.framework.profile import Profile
from bayplan.framework.registry import PluginNotLoaded, Registry
from bayplan.framework.rules import Rule


class Rules(NamedTuple):
    """What holds besides a configuration."""

    plugins: tuple[str, ...] = ()
    feature_gates: tuple[str, ...] = ()


def policy(config: str | None, rules: Rules, provider: str | None = None) -> Mapping[str, Profile]:
    """Return the profiles of a configuration file, of an old provider, or kube-scheduler's defaults."""
    try:
        registry = Registry.installed()
        for given in rules.plugins:
            for name in registry.use(given):
                _tell_cost(registry, name)
        chosen = gates(settings_of(",".join(rules.feature_gates)))
        if config is None:
            return profiles(None if provider is None else from_provider(provider), registry, chosen)
        loaded = load(Path(config), registry, chosen)
        for warning in loaded.warnings:
            note(f"warning: {warning}")
        refuse_extenders(loaded)
        refuse_batches(loaded)
        return profiles(loaded.configuration, registry, chosen)
    except ConfigError as error:
        raise refusal(error) from None
    except PluginNotLoaded as error:
        raise click.ClickException(str(error)) from None


def kinds_of(rules: Iterable[Profile]) -> Kinds:
    """Return the kinds to read: with the fields that rules declare."""
    asked = {
        instance.name: tuple(instance.plugin.fields)
        for profile in rules
        for instances in profile.points.values()
        for instance in instances
        if instance.plugin.fields
    }
    for name, fields in asked.items():
        try:
            widened(KINDS, fields)
        except FieldError as error:
            raise click.ClickException(f"plugin {name}: fields: {error}") from None
    every = [field for fields in asked.values() for field in fields]
    return widened(KINDS, every)


def refusal(error: ConfigError) -> click.ClickException:
    """Return what ends a command for a file that cannot be used."""
    return click.ClickException("\n".join(map(str, error.complaints)))


def note(text: str) -> None:
    """Tell something that is not the answer."""
    click.echo(f"bayplan: {text}", err=True)


def _tell_cost(registry: Registry, name: str) -> None:
    rule = registry.rule(name)
    if rule is not None and issubclass(rule, Rule) and rule.asks_each_node:
        note(
            f"rule {name} is called once for every pod and node; "
            "@bayplan.score or @bayplan.filter is called once for every pod, which is faster"
        )
