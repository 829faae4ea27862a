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
from bayplan.framework.tiers import BatchConfiguration


class Rules(NamedTuple):
    """What holds besides a configuration."""

    plugins: tuple[str, ...] = ()
    feature_gates: tuple[str, ...] = ()


class Policy(NamedTuple):
    """All that a configuration comes to."""

    profiles: Mapping[str, Profile]
    registry: Registry
    batches: tuple[BatchConfiguration, ...] = ()  # profiles that are served in sessions


def policy(config: str | None, rules: Rules, provider: str | None = None) -> Mapping[str, Profile]:
    """Return the profiles of a configuration file that names none served in sessions, or as `whole_policy`."""
    return whole_policy(config, rules, provider, runs_sessions=False).profiles


def whole_policy(
    config: str | None, rules: Rules, provider: str | None = None, *, runs_sessions: bool = True
) -> Policy:
    """Return the profiles of a configuration file, of an old provider, or kube-scheduler's defaults."""
    try:
        registry = Registry.installed()
        for given in rules.plugins:
            for name in registry.use(given):
                _tell_cost(registry, name)
        chosen = gates(settings_of(",".join(rules.feature_gates)))
        if config is None:
            usual = profiles(None if provider is None else from_provider(provider), registry, chosen)
            return Policy(usual, registry)
        loaded = load(Path(config), registry, chosen)
        for warning in loaded.warnings:
            note(f"warning: {warning}")
        refuse_extenders(loaded)
        if not runs_sessions:
            refuse_batches(loaded)
        batches = tuple(batch.configuration for batch in loaded.batches)
        return Policy(profiles(loaded.configuration, registry, chosen), registry, batches)
    except ConfigError as error:
        raise refusal(error) from None
    except PluginNotLoaded as error:
        raise click.ClickException(str(error)) from None


def kinds_of(rules: Iterable[Profile], more: Iterable[str] = ()) -> Kinds:
    """Return the kinds to read: with the fields that rules declare, and some more."""
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
    every = [*more, *(field for fields in asked.values() for field in fields)]
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
