"""The document service inside of another program: the same HTTP interface without a port."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
from pydantic import SecretStr

from orchestrator.services.rag.app import build_app
from orchestrator.services.rag.service import RagService

BASE_URL = "http://documents.internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRag:
    """A running service. A client with this transport and address talks to it as to one elsewhere; the token lets it name roles."""

    service: RagService
    transport: httpx.AsyncBaseTransport
    token: SecretStr
    base_url: str = BASE_URL


@asynccontextmanager
async def run_embedded(service: RagService) -> AsyncIterator[EmbeddedRag]:
    """Run the service while the block runs, with a token that only this process knows."""
    token = SecretStr(secrets.token_urlsafe(24))
    async with service:
        transport = httpx.ASGITransport(app=build_app(service, token), raise_app_exceptions=False)
        yield EmbeddedRag(service=service, transport=transport, token=token)
