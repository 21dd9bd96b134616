"""Builds the document service: its index in SQLite or PostgreSQL, and its parts. The one entry for programs that run or embed it."""

import hashlib
import os
from pathlib import Path

from pydantic import SecretStr

from orchestrator.domain.models import Models
from orchestrator.services.rag.answering import FindModels
from orchestrator.services.rag.index.port import DocumentIndex
from orchestrator.services.rag.index.sqlite import SqliteIndex
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.parser_process import ParseLimits
from orchestrator.services.rag.service import DEFAULT_TOP_K, RagService


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
    """Return the service for the documents in `folder`; it starts when it is entered. Raises IndexUnavailable and SettingsError.

    Each folder has an index of its own: a file in `state_dir`, or a schema if `database_url` is one of PostgreSQL.
    """
    index = open_index(folder, state_dir, database_url)
    return RagService(library=Library(folder, index, limits), find_models=find_models, embedding=embedding, default_top_k=top_k)


def open_index(folder: Path, state_dir: Path, database_url: SecretStr | None) -> DocumentIndex:
    """Return the index of a folder. Raises IndexUnavailable."""
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    url = database_url.get_secret_value() if database_url is not None else ""
    if url.startswith("postgresql"):
        from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - a driver that most installations need not

        return PostgresIndex(url, f"documents_{key}")
    return SqliteIndex(state_dir / f"documents-{key}.db")
