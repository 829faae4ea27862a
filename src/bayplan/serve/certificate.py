"""Certificates for the port that is served: made for this process, or read from files.

Invariant: a key that was made never leaves this process but for the moment in which ssl reads it from a private file.
Not here: verifying anybody else's.
"""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID: Final = timedelta(days=365)
SKEW: Final = timedelta(hours=1)  # a clock that is behind still takes it for valid
NAMES: Final = ("localhost", "127.0.0.1", "::1")


class CertificateError(Exception):
    """The certificate or its key cannot be used."""


def given(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context of a certificate and key in files."""
    context = _context()
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise CertificateError(
            f"{certificate} and {key} cannot be served with: {error}; "
            "give a PEM certificate with --tls-cert-file and its key with --tls-private-key-file"
        ) from None
    return context


def made(host: str) -> ssl.SSLContext:
    """Return a context of a certificate that is made now, and signed by itself."""
    context = _context()
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        file = Path(folder) / "serving.pem"
        file.touch(mode=0o600)
        file.write_bytes(self_signed((host, *NAMES)))
        context.load_cert_chain(file)
    return context


def self_signed(names: tuple[str, ...]) -> bytes:
    """Make a key and a certificate for some names, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bayplan")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in dict.fromkeys(names)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
