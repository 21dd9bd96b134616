import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import uvicorn

from bot.composition.document_service import build_documents
from bot.composition.model_providers import build_providers
from bot.monitoring.logging_setup import configure_logging
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.services.haiku.app import build_app as build_haiku_app
from orchestrator.services.rag.app import build_app as build_rag_app


def serve_rag(docs: Path | None, host: str, port: int) -> None:
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    folder = docs or settings.rag_docs_dir
    if not folder.is_dir():
        raise SettingsError(f"RAG_DOCS_DIR: {folder} is no folder; name the folder of the documents with --docs")
    asyncio.run(_serve(settings, folder, host, port))


async def _serve(settings: Settings, folder: Path, host: str, port: int) -> None:
    async with AsyncExitStack() as stack:
        service = await build_documents(settings, stack, folder)
        app = build_rag_app(service, settings.rag_service_token)
        await uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_config=None, server_header=False, lifespan="off")).serve()


def serve_haiku(host: str, port: int) -> None:
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    uvicorn.run(build_haiku_app(build_providers(settings).router), host=host, port=port, log_config=None, server_header=False)
