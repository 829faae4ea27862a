"""The certificate that is served with: made now, or read from files."""

import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from bayplan.serve import certificate


def test_a_made_certificate_names_this_machine() -> None:
    """Whoever trusts it and asks by one of its names is let through."""
    pem = certificate.self_signed(("bayplan.kube-system", "127.0.0.1"))
    read = x509.load_pem_x509_certificate(pem)
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == ["bayplan.kube-system"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert b"PRIVATE KEY" in pem


def test_tls_works_with_what_was_made(tmp_path: Path) -> None:
    """A client that trusts the certificate talks to a server that has it."""
    pem = tmp_path / "serving.pem"
    pem.write_bytes(certificate.self_signed(("localhost",)))
    trusting = ssl.create_default_context(cafile=str(pem))

    async def spoken() -> bytes:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"ok")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=certificate.given(pem, pem))
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname="localhost")
        told = await reader.read()
        writer.close()
        server.close()
        return told

    assert asyncio.run(spoken()) == b"ok"


@pytest.mark.parametrize("content", [None, b"", b"not a certificate"])
def test_what_cannot_be_served_with_is_named(tmp_path: Path, content: bytes | None) -> None:
    """The files, what is wrong, and which flags give others."""
    file = tmp_path / "tls.crt"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(certificate.CertificateError, match=r"tls\.crt .*cannot be served with: .*--tls-cert-file"):
        certificate.given(file, file)


def test_a_certificate_is_made_for_a_context() -> None:
    """The context asks for TLS 1.2 at least."""
    assert certificate.made("bayplan").minimum_version == ssl.TLSVersion.TLSv1_2
