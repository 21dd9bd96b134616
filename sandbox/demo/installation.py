"""The installation of the demo's bot, as an administrator would set it up: its settings, its people, its rights in the sandbox portal."""

import secrets
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import yaml

TOKEN = "1:sandbox"  # noqa: S105 - the sandbox Bot API accepts only this one
EVENTS = tuple(f"{start}{verb}" for start in ("ONCRMDEAL", "ONCRMLEAD", "ONTASK") for verb in ("ADD", "UPDATE", "DELETE"))
CLIENTS = {"site": "manager", "head": "lead", "ops": "admin", "tour": "admin"}
"""The clients of the bot's HTTP API by the role of their token; "tour" is this program, which closes cards before a scene."""
_HERE = Path(__file__).parent

Mode = Literal["shadow", "canary", "full"]
Language = Literal["ru", "en"]


def load_people() -> list[dict[str, Any]]:
    """Return the people of the demo in the form of the access file."""
    people: list[dict[str, Any]] = yaml.safe_load((_HERE / "people.yaml").read_text(encoding="utf-8"))
    return people


def find_free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@dataclass(kw_only=True)
class Installation:
    """Where the bot keeps its data, the addresses of the servers it uses ("telegram", "portal", "model"), and its present mode."""

    folder: Path
    addresses: Mapping[str, str]
    mode: Mode
    language: Language = "ru"
    port: int = field(default_factory=find_free_port)
    tokens: Mapping[str, str] = field(
        default_factory=lambda: {name: secrets.token_urlsafe(24) for name in (*CLIENTS, "metrics", "console")}
    )
    _rights: dict[str, str] = field(default_factory=dict)

    @property
    def api(self) -> str:
        """The address of the bot's HTTP API."""
        return f"http://127.0.0.1:{self.port}"

    async def authorize(self, client: httpx.AsyncClient) -> None:
        """Authorize the bot as an application of the portal and subscribe it to the portal's events; older subscriptions are removed."""
        portal = self.addresses["portal"]
        issued = (await client.post(f"{portal}/sandbox/oauth", json={"user_id": 1})).json()
        for event in EVENTS:
            for method, handler in (("event.unbind", ""), ("event.bind", f"{self.api}/bitrix/events")):
                asked = {"auth": issued["access_token"], "event": event, **({"handler": handler} if handler else {})}
                (await client.post(f"{portal}/rest/{method}.json", json=asked)).raise_for_status()
        await client.delete(f"{portal}/sandbox/ledger")  # the visitor reads there what the bot did
        self._rights = {
            "BITRIX_OAUTH_CLIENT_ID": issued["client_id"],
            "BITRIX_OAUTH_CLIENT_SECRET": issued["client_secret"],
            "BITRIX_OAUTH_REFRESH_TOKEN": issued["refresh_token"],
            "BITRIX_EVENT_TOKEN": issued["application_token"],
        }

    def write_files(self) -> None:
        """Write policy, access file (everybody has the demo's language) and the company's documents, and make FILES_DIR."""
        listed = [{**person, "locale": self.language} for person in load_people()]
        (self.folder / "access.yaml").write_text(yaml.safe_dump({"people": listed}, allow_unicode=True), encoding="utf-8")
        shutil.copyfile(_HERE / "policy.yaml", self.folder / "policy.yaml")
        shutil.copytree(_HERE / "documents", self.folder / "documents", dirs_exist_ok=True)
        (self.folder / "files").mkdir(exist_ok=True)

    def forget_everything(self) -> None:
        """Delete the bot's journal, its audit log and the files that runs wrote; the bot must not be running."""
        for name in ("state", "logs", "files"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def build_environment(self) -> dict[str, str]:
        """Return the environment variables that configure the bot, exactly as in production."""
        clients = ",".join(f"{name}={self.tokens[name]}:{role}:full" for name, role in CLIENTS.items())
        return {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_BASE": self.addresses["telegram"],
            "OPENAI_API_BASE": self.addresses["model"],
            "OPENAI_API_KEY": "sandbox",
            "OPENAI_TRANSCRIBE_MODEL": "demo-rules",
            "BITRIX_PORTAL": self.addresses["portal"],
            "BITRIX_OAUTH_BASE": self.addresses["portal"],
            **self._rights,
            "AGENT_MODE": self.mode,
            "ACCESS_FILE": str(self.folder / "access.yaml"),
            "POLICY_FILE": str(self.folder / "policy.yaml"),
            "FILES_DIR": str(self.folder / "files"),
            "RAG_DOCS_DIR": str(self.folder / "documents"),
            "STATE_DIR": str(self.folder / "state"),
            "LOG_DIR": str(self.folder / "logs"),
            "HTTP_HOST": "127.0.0.1",
            "HTTP_PORT": str(self.port),
            "HTTP_API_TOKENS": clients,
            "METRICS_TOKEN": self.tokens["metrics"],
            "CONSOLE_SECRET": self.tokens["console"],
            "PYTHONUNBUFFERED": "1",
        }
