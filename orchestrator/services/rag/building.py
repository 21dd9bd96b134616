"""The one entry for programs that run or embed the document service."""

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from pydantic import SecretStr

from orchestrator.domain.models import Models
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.services.rag.answering import FindModels
from orchestrator.services.rag.app import build_app
from orchestrator.services.rag.index.port import DocumentIndex
from orchestrator.services.rag.index.sqlite import SqliteIndex
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.parser_process import ParseLimits
from orchestrator.services.rag.service import DEFAULT_TOP_K, RagService
from orchestrator.services.rag.shelf import FolderShelf

_BASE_URL: Final = "http://documents.internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRag:
    """To be asked like a service elsewhere; the token lets a client name roles."""

    service: RagService
    transport: httpx.AsyncBaseTransport
    token: SecretStr
    base_url: str = _BASE_URL

    @property
    def shelf(self) -> DocumentShelf:
        return FolderShelf(self.service)


def build_rag_service(
    folder: Path,
    state_dir: Path,
    *,
    database_url: SecretStr | None = None,
    find_models: FindModels | None = None,
    embedding: tuple[Models, str] | None = None,
    top_k: int = DEFAULT_TOP_K,
    limits: ParseLimits | None = None,
) -> RagService:
    """It starts when entered.

    Each folder has an index of its own: a file, or a schema of PostgreSQL. Raises IndexUnavailable and SettingsError.
    """
    index = open_index(folder, state_dir, database_url)
    return RagService(library=Library(folder, index, limits), find_models=find_models, embedding=embedding, default_top_k=top_k)


def open_index(folder: Path, state_dir: Path, database_url: SecretStr | None) -> DocumentIndex:
    """Raises IndexUnavailable."""
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    url = database_url.get_secret_value() if database_url is not None else ""
    if url.startswith("postgresql"):
        from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - a driver that most installations need not

        return PostgresIndex(url, f"documents_{key}")
    return SqliteIndex(state_dir / f"documents-{key}.db")


def connect_embedded(service: RagService) -> EmbeddedRag:
    token = SecretStr(secrets.token_urlsafe(24))
    transport = httpx.ASGITransport(app=build_app(service, token), raise_app_exceptions=False)
    return EmbeddedRag(service=service, transport=transport, token=token)
