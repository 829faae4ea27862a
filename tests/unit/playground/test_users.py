"""Users behind tokens: who is answered, and where a server without them will not listen."""

import asyncio

import pytest

from bayplan.playground.running import running
from bayplan.playground.server import Server, Unsafe
from bayplan.playground.users import BadTokens, Users, read
from tests.unit.playground.asking import PODS, Client

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
FILE = 'secret,alice,1,"devs,ops"\n\n# nobody\nother,bob,2\n'


def test_only_the_bearers_of_tokens_are_answered() -> None:
    """Whether the server is well, anybody may ask."""
    with running(users=Users(read(FILE))) as up:
        client = Client(up.server.port)

        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
            refused = client.send("GET", PODS, None, headers)
            assert (refused.code, refused.reason) == (401, "Unauthorized")
            assert client.send("POST", "/bayplan/faults", b"{}", headers).code == 401
        assert client.send("GET", PODS, None, {"Authorization": "Bearer secret"}).code == 200
        assert client.get("/readyz").code == 200


def test_a_token_review_tells_whose_a_token_is() -> None:
    """A daemon that guards its metrics asks this."""
    with running(users=Users(read(FILE))) as up:
        client = Client(up.server.port)
        headers = {"Authorization": "Bearer other", "Content-Type": "application/json"}

        known = client.send("POST", REVIEWS, b'{"spec": {"token": "secret"}}', headers).body["status"]
        assert known["authenticated"] is True
        assert known["user"]["username"] == "alice"
        assert known["user"]["groups"] == ["devs", "ops", "system:authenticated"]
        unknown = client.send("POST", REVIEWS, b'{"spec": {"token": "wrong"}}', headers).body["status"]
        assert "authenticated" not in unknown


@pytest.mark.parametrize("written", ["", "# nothing\n", "alone\n", "a,b\n", ",alice,1\n", 'a,b,c,"d",e\n'])
def test_a_token_file_that_is_none_is_refused(written: str) -> None:
    """An empty one too: it would let nobody in."""
    with pytest.raises(BadTokens):
        read(written)


@pytest.mark.parametrize("users", [Users(), Users(read(FILE))])
def test_beyond_loopback_takes_tokens_and_a_certificate(users: Users) -> None:
    """Nothing that anybody could drive is put on a network."""

    async def listen() -> None:
        async with Server(users=users).listening(address="0.0.0.0"):  # noqa: S104  # it is refused
            pass

    with pytest.raises(Unsafe):
        asyncio.run(listen())
