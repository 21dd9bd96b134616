"""A certificate authority of the sandbox's own, made at each start, as GigaChat's certificates come from one that no system knows.

Its key is thrown away with the process; the certificates are good for a week and for the loopback only.
"""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_WEEK = timedelta(days=7)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one authority: its own certificate, which clients need, and the server's certificate and key."""

    authority: Path
    server: Path
    key: Path


def make_certificates(folder: Path, host: str = "127.0.0.1") -> Certificates:
    """Make an authority and a server certificate for `host` and the loopback; return the files, which are written to `folder`."""
    made = Certificates(authority=folder / "ca.pem", server=folder / "server.pem", key=folder / "server.key")
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("Sdelka sandbox authority")
    basic = _begin(ca_name, ca_name, ca_key)
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    ca = (
        basic.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    server = (
        _begin(_name(host), ca_name, key)
        .add_extension(x509.SubjectAlternativeName(_list_names(host)), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    made.authority.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.server.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return made


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _begin(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _WEEK)
    )


def _list_names(host: str) -> list[x509.GeneralName]:
    loopback = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    try:
        own: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        own = x509.DNSName(host)
    return [*loopback, *([] if own in loopback else [own])]
