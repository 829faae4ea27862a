"""Names are accepted and refused as the API server does, in its words."""

import pytest

from bayplan.api.names import go_json, go_quoted, key_faults, subdomain_faults, value_faults


@pytest.mark.parametrize(
    "key",
    ["simple", "now-with-dashes", "1-starts-with-num", "1234", "simple/simple", "now.with.dots/simple", "1.2.3.4/5678",
     "Uppercase_Is_OK_123", "example.com/Uppercase_Is_OK_123", "a" * 63, "a" * 253 + "/" + "b" * 63],
)  # fmt: skip
def test_label_keys_have_an_optional_prefix(key: str) -> None:
    """What upstream's own tests accept is accepted."""
    assert key_faults(key) == []


@pytest.mark.parametrize(
    "key",
    ["nospecialchars%^=@", "cantendwithadash-", "-cantstartwithadash-", "only/one/slash", "Example.com/abc",
     "example_com/abc", "example.com/", "/simple", "a" * 64, "a" * 254 + "/abc", "", "line\n"],
)  # fmt: skip
def test_bad_label_keys_are_refused(key: str) -> None:
    """What upstream's own tests refuse is refused."""
    assert key_faults(key)


def test_refusals_are_the_api_servers_words() -> None:
    """They end up in conditions and events."""
    (refusal,) = value_faults("a b")

    assert refusal == (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start"
        " and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for"
        " validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    )
    assert value_faults("a" * 64) == ["must be no more than 63 bytes"]
    assert key_faults("/a") == ["prefix part must be non-empty"]


def test_an_object_name_is_a_subdomain() -> None:
    """Dots part its labels."""
    assert subdomain_faults("node-1.example.com") == []
    assert subdomain_faults("Node")
    assert subdomain_faults("a..b")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("plain", '"plain"'), ('"\\', '"\\"\\\\"'), ("\n\t", '"\\n\\t"'), ("\x00", '"\\x00"'), ("é", '"é"'),
     ("\u200b", '"\\u200b"')],
)  # fmt: skip
def test_texts_are_quoted_as_go_does(text: str, quoted: str) -> None:
    """Printable characters stay."""
    assert go_quoted(text) == quoted


def test_lists_are_written_as_go_does() -> None:
    """No list is nil, which is null; an empty one is not."""
    assert go_json(None) == "null"
    assert go_json(()) == "[]"
    assert go_json(("a", "<b>")) == '["a","\\u003cb\\u003e"]'
