"""Builds the clients of the services that the tool agent asks."""

import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from bot.composition.late_app import BuiltApp, LateApp
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import Models
from orchestrator.services.http_client import ServiceClients

if TYPE_CHECKING:  # its libraries take a while to import, and not every installation has documents
    from orchestrator.services.rag.building import EmbeddedRag

EMBEDDED = "http://embedded"


def build_service_clients(settings: Settings, models: Models, *, documents: "EmbeddedRag | None" = None) -> ServiceClients:
    """`documents` is started. Raises SettingsError for a bad address."""
    clients = {"rag": build_rag_client(settings, documents), "haiku": build_haiku_client(settings, models)}
    return ServiceClients(clients, believed=frozenset({"rag"} if "Authorization" in clients["rag"].headers else ()))


async def open_documents(
    settings: Settings, stack: AsyncExitStack, models: Models | None = None, *, vectors: Models | None = None
) -> "EmbeddedRag | None":
    """None if it is elsewhere, or without RAG_DOCS_DIR.

    The cost of default models and vectors is not counted.
    """
    if settings.rag_service_url is not None or not settings.rag_docs_dir.is_dir():
        return None
    from bot.composition.document_service import open_embedded_documents  # noqa: PLC0415 - takes a while to import, and not everybody has documents

    return await open_embedded_documents(settings, stack, find_models=None if models is None else lambda _: models, vectors=vectors)


def build_haiku_client(settings: Settings, models: Models) -> httpx.AsyncClient:
    """At HAIKU_SERVICE_URL, or inside of this process."""
    if settings.haiku_service_url is not None:
        return open_client("HAIKU_SERVICE_URL", settings.haiku_service_url)

    def build() -> BuiltApp:
        from orchestrator.services.haiku.app import build_app  # noqa: PLC0415 - few processes are asked for a poem

        return BuiltApp(build_app(models))

    return httpx.AsyncClient(transport=httpx.ASGITransport(app=LateApp(build), raise_app_exceptions=False), base_url=EMBEDDED)


def build_rag_client(settings: Settings, documents: "EmbeddedRag | None" = None) -> httpx.AsyncClient:
    """In this process, at RAG_SERVICE_URL, or on this machine; with the service's token."""
    token = documents.token if documents is not None else settings.rag_service_token
    headers = {"Authorization": f"Bearer {token.get_secret_value()}"} if token is not None else {}
    if documents is not None:
        return httpx.AsyncClient(transport=documents.transport, base_url=documents.base_url, headers=headers)
    return open_client("RAG_SERVICE_URL", settings.rag_service_url or "http://127.0.0.1:8081", headers)


def open_client(name: str, address: str, headers: Mapping[str, str] = MappingProxyType({})) -> httpx.AsyncClient:
    """`name` is the setting. Raises SettingsError."""
    parts = urlsplit(address.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{name} must be an http or https address such as http://127.0.0.1:8081")  # not quoted: it may have a password
    # loading the certificates of the machine takes 50 ms, and an http address has none to check: it gets a context that trusts nobody
    verify = True if parts.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncClient(base_url=address.strip(), trust_env=False, headers=dict(headers), verify=verify)
