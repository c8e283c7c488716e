"""Self-signed TLS certificate for the addresses of this machine, stored in the user's cache."""

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = timedelta(days=90)
SPARE = timedelta(days=1)  # a certificate that expires sooner is replaced: it must last for the lesson


class Certificate(NamedTuple):
    """Certificate file, key file, and SHA-256 fingerprint as browsers show it."""

    file: Path
    key_file: Path
    fingerprint: str


def certificate(names: Sequence[str], folder: Path) -> Certificate:
    """Return the certificate in `folder` if it is valid for exactly these names; otherwise create a new one."""
    file, key_file = folder / "classroom.pem", folder / "classroom.key"
    if not _usable(file, key_file, names):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        _write(key_file, key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                           serialization.NoEncryption()))  # fmt: skip
        _write(file, _signed(names, key).public_bytes(serialization.Encoding.PEM))
    found = x509.load_pem_x509_certificate(file.read_bytes())
    digest = sha256(found.public_bytes(serialization.Encoding.DER)).hexdigest().upper()
    return Certificate(file, key_file, ":".join(digest[i : i + 2] for i in range(0, len(digest), 2)))


def _names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    def entry(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    return x509.SubjectAlternativeName([entry(name) for name in names])


def _signed(names: Sequence[str], key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "TML-CD Lab classroom")])
    now = datetime.now(UTC)
    usage = {"content_commitment": False, "key_encipherment": False, "data_encipherment": False,
             "key_agreement": False, "key_cert_sign": False, "crl_sign": False, "encipher_only": False,
             "decipher_only": False}  # fmt: skip
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # a student's clock may be behind
        .not_valid_after(now + VALID)
        .add_extension(_names(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _usable(file: Path, key_file: Path, names: Sequence[str]) -> bool:
    try:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):  # missing or damaged
        return False
    lasts = found.not_valid_after_utc - datetime.now(UTC) > SPARE
    return lasts and named == _names(names) and key.public_key() == found.public_key()


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by this user only."""
    part = path.with_suffix(f".{os.getpid()}")
    with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)
    part.replace(path)
