"""`bayplan run`: schedule a live cluster.

The flags that kube-scheduler has too are called as there.
Not here: what the daemon does (`serve/daemon.py`) and what the flags come to (`serve/setup.py`).
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click
import msgspec

from bayplan.cli.options import with_configuration
from bayplan.config.complaints import ConfigError
from bayplan.framework.registry import PluginNotLoaded
from bayplan.kube import loop
from bayplan.kube.auth import SERVICE_ACCOUNT, Access
from bayplan.kube.kubeconfig import AccessError
from bayplan.serve import certificate, logs
from bayplan.serve.daemon import Daemon, Means
from bayplan.serve.health import Port, ServingError, Tokens
from bayplan.serve.setup import Asked, Setup, SetupError, setup

C = TypeVar("C", bound=Callable[..., object])

SECURE_PORT: Final = 10259


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed of what is not about scheduling."""

    kubeconfig: str
    context: str
    master: str
    seed: int
    bind_address: str
    secure_port: int
    tls_cert_file: str | None
    tls_private_key_file: str | None
    token_file: str | None
    legacy_metrics: bool
    logging_format: logs.Form | None
    verbosity: int


def switch(name: str, text: str) -> Callable[[C], C]:
    """Declare a flag as Kubernetes' programs have them: --flag, --flag=true or --flag=false."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=None, help=text)


@click.command(
    epilog="Exit status: 0 told to end, 1 could not start, lost the lease, or gave up. A second signal ends it at once."
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    help="How to reach the cluster; KUBECONFIG, the pod's own way, or ~/.kube/config without it.",
)
@click.option("--context", metavar="NAME", default="", help="Which context of it; the current one by default.")
@click.option("--master", metavar="URL", default="", help="The API server's address, where no kubeconfig is needed.")
@with_configuration
@switch("--leader-elect", "Schedule only while holding a lease; on by default.")
@click.option(
    "--leader-elect-lease-duration",
    metavar="TIME",
    help="How long others wait before they take a silent lease; 15s by default.",
)
@click.option(
    "--leader-elect-renew-deadline",
    metavar="TIME",
    help="How long a leader tries to renew before it ends; 10s by default.",
)
@click.option("--leader-elect-retry-period", metavar="TIME", help="The time between two tries; 2s by default.")
@click.option(
    "--leader-elect-resource-name",
    metavar="NAME",
    help="The lease's name: bayplan, or kube-scheduler where default-scheduler is served.",
)
@click.option(
    "--leader-elect-resource-namespace", metavar="NAME", help="The lease's namespace: the pod's own, else kube-system."
)
@click.option(
    "--bind-pods-qps",
    type=click.FloatRange(min=0),
    help="Bindings a second at most; 0: any number. Any number by default, 15 under a Policy.",
)
@click.option(
    "--bind-pods-burst",
    type=click.IntRange(min=0),
    help="Bindings at once at most; a second's worth by default, 20 under a Policy.",
)
@click.option(
    "--pod-max-in-unschedulable-pods-duration",
    metavar="TIME",
    default="5m",
    show_default=True,
    help="How long a pod waits before it is tried without a reason.",
)
@click.option("--without-preemption", is_flag=True, help="Serve default-scheduler though it does not preempt yet.")
@click.option(
    "--force-default-scheduler",
    is_flag=True,
    help="Serve default-scheduler without kube-scheduler's lease, where no other scheduler runs.",
)
@click.option(
    "--bind-address",
    metavar="ADDRESS",
    default="0.0.0.0",  # noqa: S104 - as kube-scheduler: probes and scrapers come from elsewhere
    show_default=True,
    help="Where to serve health and metrics.",
)
@click.option(
    "--secure-port",
    type=click.IntRange(0, 65535),
    default=SECURE_PORT,
    show_default=True,
    help="The port, over TLS; 0: none.",
)
@click.option(
    "--tls-cert-file", metavar="FILE", help="The certificate to serve with; one made for this run without it."
)
@click.option("--tls-private-key-file", metavar="FILE", help="The certificate's key.")
@click.option(
    "--token-file",
    metavar="FILE",
    help="Who may read metrics and configuration from elsewhere: one bearer token on each line.",
)
@click.option("--legacy-metrics", is_flag=True, help="Serve the oldest three metrics as well, in microseconds.")
@click.option(
    "--logging-format", type=click.Choice(["text", "json"]), help="How to log; text on a terminal, else JSON."
)
@click.option(
    "-v",
    "--v",
    "verbosity",
    type=click.IntRange(0, 10),
    default=2,
    show_default=True,
    help="How much to log; from 4 on, everything that is asked for.",
)
def run(**given: object) -> int:
    """Schedule the pods of a live cluster.

    Without a configuration it serves the pods whose schedulerName is bayplan, beside kube-scheduler.
    """
    options = msgspec.convert({name: given.pop(name) for name in Options.__struct_fields__}, Options)
    asked = msgspec.convert(given, Asked)
    logs.begin(form=options.logging_format, verbosity=options.verbosity)
    gc.disable()  # the driver looks for garbage between turns
    prepared = made(asked)
    for warning in prepared.warnings:
        click.echo(f"bayplan: warning: {warning}", err=True)
    try:
        return loop.run(_lived(options, prepared))
    except (AccessError, ServingError) as error:
        raise click.ClickException(str(error)) from None


def made(asked: Asked) -> Setup:
    """Work out what to run with, or say what is wrong with what was asked for."""
    try:
        return setup(asked, own_namespace())
    except ConfigError as error:
        raise click.ClickException("\n".join(map(str, error.complaints))) from None
    except (PluginNotLoaded, SetupError) as error:
        raise click.ClickException(str(error)) from None


async def _lived(options: Options, prepared: Setup) -> int:
    access = _access(options, prepared)
    tokens = Tokens(None if options.token_file is None else Path(options.token_file))
    means = Means(access, prepared, _port(options), tokens, options.seed, options.legacy_metrics)
    return await Daemon(means).run()


def _access(options: Options, prepared: Setup) -> Access:
    if options.master:
        return Access.to(options.master)
    return Access.found(options.kubeconfig or prepared.kubeconfig, options.context, os.environ, Path.home())


def _port(options: Options) -> Port | None:
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        raise click.ClickException("--tls-cert-file and --tls-private-key-file go together: give both, or neither")
    if not options.secure_port:
        return None
    try:
        if options.tls_cert_file is not None and options.tls_private_key_file is not None:
            tls = certificate.given(Path(options.tls_cert_file), Path(options.tls_private_key_file))
        else:
            tls = certificate.made("bayplan")
    except certificate.CertificateError as error:
        raise click.ClickException(str(error)) from None
    return Port(options.bind_address, options.secure_port, tls)


def own_namespace(folder: Path = SERVICE_ACCOUNT) -> str | None:
    """Return the namespace of the pod that this runs in; None outside of one."""
    try:
        return (folder / "namespace").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeError):
        return None
