import logging
from contextlib import AsyncExitStack
from pathlib import Path

from bot.composition.model_providers import build_providers
from bot.settings.model_plan import find_model_names, load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import Models
from orchestrator.services.rag.answering import FindModels
from orchestrator.services.rag.building import EmbeddedRag, build_rag_service, connect_embedded
from orchestrator.services.rag.index.port import IndexUnavailable
from orchestrator.services.rag.service import RagService

log = logging.getLogger(__name__)


async def build_documents(
    settings: Settings,
    stack: AsyncExitStack,
    folder: Path | None = None,
    *,
    find_models: FindModels | None = None,
    vectors: Models | None = None,
) -> RagService:
    """Start the service, which `stack` ends, over RAG_DOCS_DIR by default. Raises SettingsError and IndexUnavailable.

    `find_models` gives models for who asks, whose cost counts.
    """
    embedding = _find_embedding_model(settings)
    models = vectors
    if models is None and (find_models is None or embedding):
        models = _build_router(settings, stack)
    answering = find_models or ((lambda _: models) if models is not None else None)
    service = build_rag_service(
        folder or settings.rag_docs_dir,
        settings.state_dir,
        database_url=settings.database_url,
        find_models=answering,
        embedding=(models, embedding) if models is not None and embedding else None,
    )
    return await stack.enter_async_context(service)


async def open_embedded_documents(
    settings: Settings, stack: AsyncExitStack, *, find_models: FindModels | None = None, vectors: Models | None = None
) -> EmbeddedRag | None:
    """None if the index cannot be opened: whoever asks is told."""
    try:
        return connect_embedded(await build_documents(settings, stack, find_models=find_models, vectors=vectors))
    except IndexUnavailable as error:
        log.error("documents: %s; nobody can ask them", error.reason, extra={"action": "documents_unavailable"})  # noqa: TRY400 - the reason says it, a trace adds nothing
        return None


def _build_router(settings: Settings, stack: AsyncExitStack) -> Models | None:
    """None if they cannot be used: documents are searched without."""
    try:
        built = build_providers(settings)
    except SettingsError as error:
        log.warning("documents: no model answers (%s); the passages are shown", error.reason, extra={"action": "documents_no_model"})
        return None
    for client in built.clients.values():
        stack.push_async_callback(client.aclose)
    return built.router


def _find_embedding_model(settings: Settings) -> str:
    try:
        plan = load_plan(settings)
    except SettingsError:
        return ""
    return find_model_names(plan.providers[plan.list_chain("embedding")[0]], settings)[1]
