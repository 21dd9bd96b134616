"""Runs the doctor in this process with the settings of a world, and servers that no portal should be like."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.cli.doctor.findings import run_checks
from bot.cli.doctor.settings_check import SettingsProbe, build_secret_filter
from bot.cli.doctor.work import build_checks
from bot.settings.settings import Settings
from tests.e2e.e2e_kit import World

CODE = "leaked0webhook0code"
KEY = "sk-a-key-that-nobody-may-see"
TOKEN = "123456789:AAtokenThatNobodyMaySee_0123456789abc"
Answers = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """What one run said."""

    lines: list[dict[str, Any]]
    text: str

    @classmethod
    def of(cls, text: str) -> "Told":
        """From the lines of `--json`."""
        return cls([json.loads(line) for line in text.splitlines()], text)

    def line(self, area: str, check: str) -> dict[str, Any]:
        """The one line of that check."""
        found = [line for line in self.lines if (line["area"], line["check"]) == (area, check)]
        assert len(found) == 1, self.text
        return found[0]

    def wrong(self) -> set[tuple[str, str]]:
        """What is called wrong."""
        return {(line["area"], line["check"]) for line in self.lines if line["verdict"] == "wrong"}

    def warned(self) -> set[tuple[str, str]]:
        """What is warned of."""
        return {(line["area"], line["check"]) for line in self.lines if line["verdict"] == "warning"}


async def asked_here(world: World, *, spend: bool = False, within: float = 5.0, **over: Any) -> Told:
    """What it finds with the settings of this world."""
    environment = world.environment(**{"openai_model": "demo-rules", "http_port": free_port(), **over})
    settings = Settings(_env_file=None, **{name.lower(): value for name, value in environment.items() if value})  # type: ignore[arg-type]
    found = await run_checks(build_checks(SettingsProbe(settings=settings), spend=spend, within=within), build_secret_filter(settings))
    return Told.of("\n".join(json.dumps(asdict(line), ensure_ascii=False) for line in found))


def free_port() -> int:
    """A port at which nobody is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def hanging_server() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def answering(answers: Answers, *, status: int = 200, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that knows a few addresses and answers all others with {}."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
        await reader.readexactly(length)
        body = json.dumps(answers.get(head.split()[1].rstrip("/"), {})).encode()
        said = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
        writer.write(said.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def self_signed(folder: Path) -> AsyncIterator[str]:
    """A server with a certificate that nobody vouches for."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "portal")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "server.pem"
    file.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(pem) + key.private_bytes(pem, private, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    async with answering({}, tls=context) as address:
        yield address
