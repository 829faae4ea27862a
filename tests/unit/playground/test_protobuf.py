"""Protobuf bodies: what kubectl sends is read as the JSON that it would have been."""

from tests.unit.playground.asking import Client

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def message(*fields: tuple[int, bytes | int | str]) -> bytes:
    """Write a message from its fields."""
    raw = b""
    for number, value in fields:
        if isinstance(value, int):
            raw += varint(number << 3) + varint(value)
        else:
            told = value.encode() if isinstance(value, str) else value
            raw += varint(number << 3 | 2) + varint(len(told)) + told
    return raw


def varint(value: int) -> bytes:
    """Write an integer as protobuf does."""
    raw = b""
    while value >= 0x80:
        raw += bytes([value & 0x7F | 0x80])
        value >>= 7
    return raw + bytes([value])


def enveloped(version: str, kind: str, body: bytes) -> bytes:
    """Write an object as Kubernetes sends it."""
    return b"k8s\0" + message((1, message((1, version), (2, kind))), (2, body), (3, ""), (4, ""))


def test_a_deployment_is_read_to_its_containers(client: Client) -> None:
    """Nested messages, lists, maps and optional integers arrive; what is empty does not."""
    label = message((1, "app"), (2, "x"))
    limits = message((1, "cpu"), (2, message((1, "2"))))
    container = message((1, "c"), (2, "i:1"), (6, message((3, 80))), (8, message((1, limits))), (16, 0))
    template = message((1, message((11, label))), (2, message((2, container))))
    spec = message((1, 0), (2, message((1, label))), (3, template), (5, 0), (7, 0))
    body = message((1, message((1, "d"), (2, ""), (8, b"\x08\x00\x10\x00"))), (2, spec), (3, message((1, 0))))
    made = client.ask("POST", DEPLOYMENTS, enveloped("apps/v1", "Deployment", body), media=PROTOBUF)
    read = made.body["spec"]

    assert made.code == 201
    assert (read["replicas"], read["selector"]) == (0, {"matchLabels": {"app": "x"}})
    assert "minReadySeconds" not in read
    inside = read["template"]["spec"]["containers"][0]
    assert inside["resources"] == {"limits": {"cpu": "2"}}
    assert inside["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_bytes_are_told_in_base64(client: Client) -> None:
    """Binary data is kept as JSON keeps it."""
    body = message((1, message((1, "m"))), (3, message((1, "k"), (2, b"\xff"))), (4, 1))
    made = client.ask("POST", MAPS, enveloped("v1", "ConfigMap", body), media=PROTOBUF).body

    assert (made["binaryData"], made["immutable"]) == ({"k": "/w=="}, True)


def test_nothing_is_lost_in_silence(client: Client) -> None:
    """A field or a kind that is not read is refused, with the way around it."""
    field = enveloped("v1", "ConfigMap", message((1, message((1, "m"))), (99, "x")))
    kind = enveloped("v1", "Mystery", b"")
    for raw in (field, kind):
        refused = client.ask("POST", MAPS, raw, media=PROTOBUF)
        assert refused.code == 415
        assert "--dry-run=client" in refused.body["message"]


def test_broken_messages_are_refused(client: Client) -> None:
    """Whatever is cut off or of another type gets a Status."""
    whole = enveloped("v1", "ConfigMap", message((1, message((1, "m"))), (2, message((1, "k"), (2, "v")))))
    for raw in (whole[:-9], whole[:12], b"k8s\0" + b"\xff" * 20, enveloped("v1", "ConfigMap", message((1, 5)))):
        assert client.ask("POST", MAPS, raw, media=PROTOBUF).code in {400, 415}
