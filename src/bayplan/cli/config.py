"""`bayplan config`: check a configuration file, show what is in force, write an old one in today's form.

Not here: reading configurations and judging them (the room `config`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
import msgspec

from bayplan.cli.options import with_provider, with_rules
from bayplan.config import files
from bayplan.config.complaints import Complaint, Complaints, ConfigError, path_of
from bayplan.config.convert import to_kube_scheduler
from bayplan.config.files import Loaded
from bayplan.config.gates import gates, settings_of
from bayplan.config.older import as_v1
from bayplan.config.ours import BayplanConfiguration
from bayplan.config.policy import Policy, from_provider
from bayplan.config.profiles import profiles
from bayplan.config.shown import Flags, shown
from bayplan.config.yamltext import noted, text
from bayplan.framework.plugin import Gates
from bayplan.framework.registry import PluginNotLoaded, Registry

REFUSED: Final = 2


class Asked(msgspec.Struct, frozen=True):
    """What was typed."""

    feature_gates: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    def registry(self) -> Registry:
        """Return the rules that a configuration may name."""
        registry = Registry.installed()
        for given in self.plugins:
            registry.use(given)
        return registry

    def gates(self) -> Gates:
        """Return the feature gates in force."""
        return gates(settings_of(",".join(self.feature_gates)))


@click.group()
def config() -> None:
    """Check, show and convert configuration files.

    A file is told apart by its content: a KubeSchedulerConfiguration, a Policy as Kubernetes read it up to 1.22,
    kube-batch's flat map or tiers, or a BayplanConfiguration.
    """


@config.command(
    short_help="Say what is wrong with a file.",
    epilog="Exit status: 0 nothing is wrong, 2 something is, 1 nothing could be done.",
)
@click.argument("file", type=click.Path(path_type=Path))
@with_rules
def check(file: Path, **given: tuple[str, ...]) -> int:
    """Say what is wrong with a configuration file: line, column, field and what was probably meant."""
    asked = Asked(**given)
    try:
        registry, chosen = _rules(asked)
        loaded = files.load(file, registry, chosen)
        _make(loaded, registry, chosen)
    except ConfigError as error:
        for complaint in error.complaints:
            click.echo(str(complaint))
        return REFUSED
    _warn(loaded)
    click.echo(f"{file}: {_kind(loaded)}, nothing is wrong with it")
    return 0


@config.command(short_help="Show every setting in force, and where it comes from.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@with_provider
@click.option("--values", is_flag=True, help="Only the values, not where they come from.")
@with_rules
def show(file: Path | None, algorithm_provider: str | None, *, values: bool, **given: tuple[str, ...]) -> int:
    """Show every setting in force, and where each comes from: the default, a line of the file, or a flag.

    What is printed is a BayplanConfiguration: given back as a file, it is the same configuration.
    """
    asked = Asked(**given)
    if file is not None and algorithm_provider is not None:
        raise click.ClickException("give a file or --algorithm-provider, not both")
    try:
        registry, chosen = _rules(asked)
        loaded = None if file is None else files.load(file, registry, chosen)
        if loaded is not None:
            _make(loaded, registry, chosen)
            _warn(loaded)
    except ConfigError as error:
        raise click.ClickException("\n".join(map(str, error.complaints))) from None
    provider = None if algorithm_provider is None else (algorithm_provider, from_provider(algorithm_provider))
    node = shown(loaded, registry, chosen, Flags(asked.plugins, provider))
    click.echo(text(node, remarks=not values), nl=False)
    return 0


@config.command(short_help="Write an older file in today's form.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "to", type=click.Choice(["kubescheduler"]), required=True, help="The form to write.")
@with_rules
def convert(file: Path, to: str, **given: tuple[str, ...]) -> int:  # noqa: ARG001 there is one form so far
    """Write a Policy, or an older KubeSchedulerConfiguration, as today's.

    What cannot be said there is listed on top, as comments.
    """
    asked = Asked(**given)
    try:
        registry, chosen = _rules(asked)
        loaded = files.load(file, registry, chosen)
        _warn(loaded)
    except ConfigError as error:
        raise click.ClickException("\n".join(map(str, error.complaints))) from None
    part = loaded.scheduling
    if part is None:
        raise click.ClickException(f"{file}: has no kubeScheduler to convert")
    if not isinstance(part.configuration, Policy):
        click.echo(text(noted(as_v1(dict(part.tree), Complaints()))), nl=False)
        return 0
    converted = to_kube_scheduler(part.configuration)
    if converted.unsaid:
        click.echo("# What cannot be said here:")
        for one in converted.unsaid:
            click.echo(f"# - {one}")
    click.echo(text(noted(converted.tree)), nl=False)
    return 0


def _rules(asked: Asked) -> tuple[Registry, Gates]:
    try:
        return asked.registry(), asked.gates()
    except PluginNotLoaded as error:
        raise click.ClickException(str(error)) from None


def _make(loaded: Loaded, registry: Registry, chosen: Gates) -> None:
    """Make the rules, so that one that refuses its arguments is named here and not later."""
    try:
        profiles(loaded.configuration, registry, chosen)
    except ConfigError as error:
        part = loaded.scheduling or loaded
        raise ConfigError(_placed(complaint, part) for complaint in error.complaints) from None


def _placed(complaint: Complaint, part: Loaded) -> Complaint:
    """Say where something is written that was only found to be wrong when it was used."""
    line, column = part.place_of(path_of(complaint.path))
    return Complaint(part.file, line, column, complaint.path, complaint.message)


def _kind(loaded: Loaded) -> str:
    configuration = loaded.configuration
    if isinstance(configuration, Policy):
        return "a Policy, as Kubernetes read it up to 1.22"
    if isinstance(configuration, BayplanConfiguration):
        if loaded.tree:
            return "a BayplanConfiguration"
        form = "flat map" if loaded.batches[0].configuration.form == "flat" else "actions and tiers"
        return f"kube-batch's {form}"
    names = ", ".join(str(profile.scheduler_name) for profile in configuration.profiles)
    return f"a KubeSchedulerConfiguration (profiles: {names})"


def _warn(loaded: Loaded) -> None:
    for warning in loaded.warnings:
        click.echo(f"bayplan: warning: {warning}", err=True)
