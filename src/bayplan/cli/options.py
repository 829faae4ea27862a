"""The options that say by which rules pods are placed: alike in every command that takes them.

Not here: what they come to (rules.py, and the room `config`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

from bayplan.config.policy import PROVIDERS

C = TypeVar("C", bound=Callable[..., object])

_CONFIG: Final = click.option(
    "--config",
    metavar="FILE",
    help="A KubeSchedulerConfiguration, an old Policy, kube-batch's file or a BayplanConfiguration.",
)
_PROVIDER: Final = click.option(
    "--algorithm-provider",
    type=click.Choice(sorted(PROVIDERS)),
    help="What Kubernetes up to 1.22 scheduled by; instead of a configuration.",
)
_GATES: Final = click.option(
    "--feature-gates",
    "feature_gates",
    multiple=True,
    metavar="NAME=BOOL,...",
    help="Feature gates to set differently from Kubernetes 1.37. Repeatable.",
)
_PLUGIN: Final = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py",
    help="A rule of your own, on in every profile: a Python file or module:Class. Repeatable.",
)
_SEED: Final = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Where to begin among nodes that are equally good.",
)


def with_plugins(command: C) -> C:
    """Give a command the option that names rules of one's own."""
    return _PLUGIN(command)


def with_rules(command: C) -> C:
    """Give a command the options that decide which rules there are."""
    return _GATES(with_plugins(command))


def with_provider(command: C) -> C:
    """Give a command the option that names what Kubernetes once had built in."""
    return _PROVIDER(command)


def with_configuration(command: C) -> C:
    """Give a command all that decides by which rules pods are placed, and the seed."""
    return _CONFIG(with_provider(with_rules(_SEED(command))))
