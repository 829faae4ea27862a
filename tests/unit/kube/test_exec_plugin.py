"""Exec plugins: what they are told, what they give, and how they fail."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bayplan.kube.kubeconfig import AccessError
from bayplan.kube.loop import run
from tests.unit.kube.hostile import until
from tests.unit.kube.kubeconfigs import EXEC_V1, access, b64, config, plugin, shown


def gives(expires: datetime | None = None, version: str = EXEC_V1) -> str:
    """Write the code of a plugin that gives another token each time."""
    stamp = None if expires is None else expires.isoformat()
    return (
        "n = len(open('count', 'a+').write('x') and open('count').read())\n"
        f"print(json.dumps({{'apiVersion': '{version}', 'kind': 'ExecCredential', "
        f"'status': {{'token': f't{{n}}', **({{}} if {stamp!r} is None else {{'expirationTimestamp': {stamp!r}}})}}}}))"
    )


def test_a_plugin_is_asked_again_when_its_answer_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before; and never more often than every ten seconds."""
    monkeypatch.chdir(tmp_path)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    it = access(tmp_path, config(user=plugin(tmp_path, gives(now + timedelta(seconds=300)))))
    it._now = lambda: now
    shown(it)
    assert it.headers == b"Authorization: Bearer t1\r\n"
    assert it.fresh_until == 300.0

    now += timedelta(seconds=301)
    asyncio.run(it.refresh(301.0))
    assert it.headers == b"Authorization: Bearer t2\r\n"
    assert it.fresh_until == 311.0


def test_a_plugin_without_an_expiry_is_asked_again_when_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 401 is the only way to know."""
    monkeypatch.chdir(tmp_path)
    user = plugin(tmp_path, gives(version=EXEC_V1 + "beta1"), apiVersion=EXEC_V1 + "beta1", interactiveMode="")
    it = access(tmp_path, config(user=user))
    shown(it)
    asyncio.run(it.refresh(1000.0))
    assert it.headers == b"Authorization: Bearer t1\r\n"

    assert asyncio.run(it.refresh(1001.0, refused=True))
    assert it.headers == b"Authorization: Bearer t2\r\n"


def test_a_plugin_is_told_what_it_asks_to_be_told(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    """Its environment, its arguments, and the cluster, in the words of its version."""
    code = (
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "open(os.environ['OUT'], 'w').write(json.dumps([info, sys.argv[1:], os.environ['MINE'], sys.stdin.read()]))\n"
        "print(json.dumps({**info, 'status': {'token': 't'}}))"
    )
    out = tmp_path / "out"
    user = plugin(
        tmp_path, code, provideClusterInfo=True, args=["login", "-x"], env=[{"name": "OUT", "value": str(out)}]
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"certificate-authority-data": b64(pair[0]), "tls-server-name": "api.example", "extensions": [extension]}
    shown(access(tmp_path, config(cluster, user), environ={"MINE": "yes"}))

    info, arguments, mine, stdin = json.loads(out.read_text(encoding="utf-8"))
    assert (arguments, mine, stdin) == (["login", "-x"], "yes", "")
    assert (info["apiVersion"], info["kind"], info["spec"]["interactive"]) == (EXEC_V1, "ExecCredential", False)
    assert info["spec"]["cluster"] == {
        "server": "https://host:6443",
        "tls-server-name": "api.example",
        "certificate-authority-data": b64(pair[0]),
        "config": {"audience": "a"},
    }


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("sys.exit('log in first')", "it failed with status 1: log in first"),
        ("print('hello')", "its answer is not an ExecCredential"),
        ("print(json.dumps({'kind': 'ExecCredential'}))", f"expected an ExecCredential of {EXEC_V1}, got"),
        (
            f"print(json.dumps({{'apiVersion': '{EXEC_V1}', 'kind': 'ExecCredential', 'status': {{}}}}))",
            "neither a token nor a certificate with its key",
        ),
        (
            f"print(json.dumps({{'apiVersion': '{EXEC_V1}', 'kind': 'ExecCredential', 'status': {{'token': 'a b'}}}}))",
            "its token has characters that no token has",
        ),
    ],
)
def test_a_plugin_that_fails_is_named(tmp_path: Path, code: str, says: str) -> None:
    """With what it said."""
    with pytest.raises(AccessError) as raised:
        shown(access(tmp_path, config(user=plugin(tmp_path, code))))

    assert says in str(raised.value)
    assert str(tmp_path / "plugin") in str(raised.value)


def test_a_plugins_certificate_is_shown(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    """And with another certificate connections are made anew."""
    (tmp_path / "pair").write_text(json.dumps([one.decode() for one in pair]), encoding="utf-8")
    code = (
        f"crt, key = json.load(open({str(tmp_path / 'pair')!r}))\n"
        f"status = {{'clientCertificateData': crt, 'clientKeyData': key}}\n"
        f"print(json.dumps({{'apiVersion': '{EXEC_V1}', 'kind': 'ExecCredential', 'status': status}}))"
    )
    it = access(tmp_path, config({"certificate-authority-data": b64(pair[0])}, plugin(tmp_path, code)))
    shown(it)
    assert it.generation == 1

    (tmp_path / "pair").write_text(json.dumps([(pair[0] * 2).decode(), pair[1].decode()]), encoding="utf-8")
    asyncio.run(it.refresh(1.0, refused=True))
    assert it.generation == 2


def test_a_plugin_that_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    """It does not outlive whoever asked."""
    file = tmp_path / "pid"
    code = f"import time\nopen({str(file)!r}, 'w').write(f'{{os.getpid()}} ')\ntime.sleep(600)"
    it = access(tmp_path, config(user=plugin(tmp_path, code)))

    async def main() -> int:
        asking = asyncio.create_task(it.refresh(0.0))
        await until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith(" "), "it runs")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return int(file.read_text(encoding="utf-8"))

    with pytest.raises(ProcessLookupError):
        os.kill(run(main()), 0)
