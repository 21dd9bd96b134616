"""The command `sdelka services haiku`: serves GET /health and POST /generate_haiku."""

import typer


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
