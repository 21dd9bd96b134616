"""The command `sdelka services`: serves what the tool agent asks, documents and haiku, each as a program of its own."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from bot.settings.settings import Settings


def serve_rag(
    docs: Path | None = typer.Option(None, help="Folder of the documents; by default RAG_DOCS_DIR."),  # noqa: B008 - typer reads it
    host: str = typer.Option("127.0.0.1", help="Address to listen at."),
    port: int = typer.Option(8081, min=1, max=65535, help="Port to listen at."),
) -> None:
    """Answer questions from the documents in a folder, which is watched: POST /search {"question": …}."""
    from bot.monitoring.logging_setup import configure_logging  # noqa: PLC0415 - help comes at once
    from bot.settings.loading import load_settings  # noqa: PLC0415 - see above
    from orchestrator.domain.errors import SettingsError  # noqa: PLC0415 - see above

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    folder = docs or settings.rag_docs_dir
    if not folder.is_dir():
        raise SettingsError(f"RAG_DOCS_DIR: {folder} is no folder; name the folder of the documents with --docs")
    asyncio.run(_serve(settings, folder, host, port))


async def _serve(settings: "Settings", folder: Path, host: str, port: int) -> None:
    import uvicorn  # noqa: PLC0415 - takes a while to import

    from bot.composition.document_service import build_documents  # noqa: PLC0415 - see above
    from orchestrator.services.rag.app import build_app  # noqa: PLC0415 - see above

    async with AsyncExitStack() as stack:
        service = await build_documents(settings, stack, folder)
        app = build_app(service, settings.rag_service_token)
        await uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_config=None, server_header=False, lifespan="off")).serve()


def serve_haiku(
    host: str = typer.Option("127.0.0.1", help="Address to listen at."),
    port: int = typer.Option(8082, min=1, max=65535, help="Port to listen at."),
) -> None:
    """Write haiku for whoever asks: POST /generate_haiku {"theme": …}."""
    import uvicorn  # noqa: PLC0415 - takes a while to import

    from bot.composition.model_providers import build_providers  # noqa: PLC0415 - see above
    from bot.monitoring.logging_setup import configure_logging  # noqa: PLC0415 - see above
    from bot.settings.loading import load_settings  # noqa: PLC0415 - see above
    from orchestrator.services.haiku.app import build_app  # noqa: PLC0415 - see above

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    uvicorn.run(build_app(build_providers(settings).router), host=host, port=port, log_config=None, server_header=False)


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Serve a service of the tool agent.")
app.command("haiku")(serve_haiku)
app.command("rag")(serve_rag)


@app.callback()
def choose() -> None:
    """Serve a service of the tool agent, which other programs may ask too."""
