"""Kubeconfig: every form that tools write, and failures that name the file, the field and what to do."""

import json
import ssl
from pathlib import Path

import pytest

from bayplan.kube.auth import Access
from bayplan.kube.kubeconfig import AccessError
from tests.unit.kube.kubeconfigs import EXEC_V1, Tree, access, b64, config, shown


def test_kubeadm_and_kind_write_certificates_into_the_file(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    """Data of an authority, a certificate and a key."""
    certificate, key = pair
    tree = config(
        {"certificate-authority-data": b64(certificate)},
        {"client-certificate-data": b64(certificate), "client-key-data": b64(key)},
    )
    it = access(tmp_path, tree)

    assert shown(it) == b""
    assert (str(it.address), it.namespace, it.server_name) == ("https://host:6443", "team", "host")
    assert it.tls is not None
    assert it.tls.verify_mode == ssl.CERT_REQUIRED
    assert [dict(one["subject"][0])["commonName"] for one in it.tls.get_ca_certs()] == ["localhost"]  # type: ignore[arg-type]


def test_minikube_names_files_beside_its_own(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    """Relative paths begin where the kubeconfig is; a server may have a path."""
    for name, raw in zip(("client.crt", "client.key"), pair, strict=True):
        (tmp_path / name).write_bytes(raw)
    tree = config(
        {"server": "https://10.0.0.1/k8s/clusters/c-1/", "certificate-authority": "client.crt"},
        {"client-certificate": "client.crt", "client-key": "./client.key"},
    )
    it = access(tmp_path, tree)

    assert shown(it) == b""
    assert (it.address.host, it.address.port, it.address.prefix) == ("10.0.0.1", 443, "/k8s/clusters/c-1")


def test_a_token_is_shown_as_a_bearers(tmp_path: Path) -> None:
    """OpenShift, k3s, Rancher, and service accounts' kubeconfigs."""
    assert shown(access(tmp_path, config(user={"token": "abc.def"}))) == b"Authorization: Bearer abc.def\r\n"


def test_a_username_and_password_are_shown_as_such(tmp_path: Path) -> None:
    """Old clusters have them."""
    user = {"username": "me", "password": "p:w"}

    assert shown(access(tmp_path, config(user=user))) == b"Authorization: Basic bWU6cDp3\r\n"


def test_somebody_may_be_impersonated(tmp_path: Path) -> None:
    """With groups, a uid and extras, whose keys are escaped."""
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/scope": ["x"]},
    }

    assert shown(access(tmp_path, config(user=user))).decode().splitlines() == [
        "Impersonate-User: jane",
        "Impersonate-Uid: 7",
        "Impersonate-Group: a",
        "Impersonate-Group: b",
        "Impersonate-Extra-example.com%2Fscope: x",
        "Authorization: Bearer t",
    ]


def test_yaml_is_read_and_what_is_not_known_is_passed_over(tmp_path: Path) -> None:
    """As people and cloud tools write it: comments, nulls, extensions, preferences."""
    text = """
# by hand
apiVersion: v1
kind: Config
preferences: {}
current-context: gke_p_z_c
contexts:
- context: {cluster: gke, user: null, extensions: [{name: context_info, extension: {last-update: today}}]}
  name: gke_p_z_c
clusters:
- name: gke
  cluster:
    server: https://[2001:db8::1]:8443
    tls-server-name: api.example
    insecure-skip-tls-verify: true
    disable-compression: true
    extensions:
users: null
"""
    it = access(tmp_path, text)

    assert shown(it) == b""
    assert (str(it.address), it.address.authority) == ("https://[2001:db8::1]:8443", "[2001:db8::1]:8443")
    assert (it.server_name, it.namespace) == ("api.example", "default")
    assert it.tls is not None
    assert (it.tls.verify_mode, it.tls.check_hostname) == (ssl.CERT_NONE, False)


def test_of_several_files_the_first_that_names_something_is_heard(tmp_path: Path) -> None:
    """Each path begins where its file is; files that are missing are passed over."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "token").write_text("of b\n".replace(" ", "-"), encoding="utf-8")
    one, two = tmp_path / "a" / "config", tmp_path / "b" / "config"
    one.write_text(json.dumps(config(user={"token": "first"}) | {"current-context": ""}), encoding="utf-8")
    more = config({"server": "https://other:1"}, {"token": "second"})
    more["users"].append({"name": "v", "user": {"tokenFile": "token"}})
    more["contexts"].append({"name": "y", "context": {"cluster": "c", "user": "v"}})
    two.write_text(json.dumps(more | {"current-context": "y"}), encoding="utf-8")
    files = [tmp_path / "missing", one, two]

    current = Access.from_kubeconfig(files, environ={})
    named = Access.from_kubeconfig(files, "x", environ={})

    assert str(current.address) == str(named.address) == "https://host:6443"
    assert shown(current) == b"Authorization: Bearer of-b\r\n"
    assert shown(named) == b"Authorization: Bearer first\r\n"


def test_a_proxy_is_named(tmp_path: Path) -> None:
    """With who we are to it."""
    proxy = access(tmp_path, config({"proxy-url": "http://me:p%40ss@proxy:3128"})).proxy

    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.authorization) == ("proxy", 3128, "Basic bWU6cEBzcw==")


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ("a: [b", "config: line"),
        ("- a", "expected a kubeconfig file"),
        ({"kind": "Pod"}, 'kind: expected "Config", got "Pod"'),
        (config(user={"token": 7}), "users[0].user.token: Expected `str`, got `int`"),
        ({**config(), "current-context": ""}, 'current-context: none is set; set it, or name one with --context ("x")'),
        ({**config(), "current-context": "y"}, 'current-context: there is no context "y"; there is "x"'),
        ({**config(), "clusters": []}, 'context "x": cluster: there is no cluster "c"; there is none at all'),
        ({**config(), "users": []}, 'context "x": user: there is no user "u"; there is none at all'),
        (config({"server": ""}), 'cluster "c": server: expected the URL of an API server'),
        (config({"server": "ftp://x"}), 'cluster "c": server: expected a URL such as https://host:6443'),
        (config({"server": "https://x:port"}), 'cluster "c": server: expected a URL such as https://host:6443'),
        (config({"proxy-url": "socks5://x"}), 'cluster "c": proxy-url: expected a URL'),
        (
            config({"insecure-skip-tls-verify": True, "certificate-authority": "x"}),
            'cluster "c": insecure-skip-tls-verify: certificates to believe are given as well',
        ),
        (config({"certificate-authority": "x"}), "certificate-authority: "),
        (config({"certificate-authority-data": "?"}), 'cluster "c": certificate-authority-data: expected base64'),
        (config({"certificate-authority-data": b64(b"x")}), "certificate-authority: expected certificates in PEM form"),
        (config(user={"client-certificate": "x"}), 'user "u": client-key: a client certificate and its key belong'),
        (
            config(user={"client-certificate-data": b64(b"x"), "client-key-data": b64(b"y")}),
            'user "u": client-certificate and client-key: expected a certificate and its key in PEM form',
        ),
        (config(user={"tokenFile": "nope"}), 'user "u": tokenFile: '),
        (config(user={"token": "a\nb"}), 'user "u": token: expected a token: one line'),
        (config(user={"token": "a", "username": "b"}), 'user "u": token and username: only one way'),
        (config(user={"auth-provider": {"name": "gcp"}}), "auth-provider: such providers were removed"),
        (config(user={"as-groups": ["a"]}), 'user "u": as: groups, a uid or extras'),
        (config(user={"as": "a\r\nX: y"}), "Impersonate-User: expected printable characters"),
        (config(user={"exec": {"apiVersion": EXEC_V1}}), 'user "u": exec.command: expected a program'),
        (
            config(user={"exec": {"apiVersion": EXEC_V1 + "alpha1", "command": "x"}}),
            f"exec.apiVersion: expected {EXEC_V1} or {EXEC_V1}beta1",
        ),
        (config(user={"exec": {"apiVersion": EXEC_V1, "command": "x"}}), "exec.interactiveMode: expected Never"),
        (
            config(user={"exec": {"apiVersion": EXEC_V1, "command": "x", "interactiveMode": "Always"}}),
            "exec.interactiveMode: the plugin needs a person at a terminal",
        ),
        (
            config(
                user={
                    "exec": {
                        "apiVersion": EXEC_V1,
                        "command": "no-such-program",
                        "interactiveMode": "Never",
                        "installHint": "ask the help desk",
                    }
                }
            ),
            "exec.command: no-such-program cannot be run: [Errno 2] No such file or directory: 'no-such-program'; ask",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_field(tmp_path: Path, tree: Tree | str, says: str) -> None:
    """And what to do about it."""
    with pytest.raises(AccessError) as raised:
        shown(access(tmp_path, tree))

    assert says in str(raised.value)
    assert str(tmp_path / "config") in str(raised.value)


def test_no_file_at_all_is_said(tmp_path: Path) -> None:
    """With the next step."""
    with pytest.raises(AccessError, match=r"no kubeconfig file was found .*: name one with --kubeconfig"):
        Access.from_kubeconfig([tmp_path / "none"], environ={})
