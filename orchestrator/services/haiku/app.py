"""A model writes the poem, code counts its syllables and words (S001-68 … 74, X7). Every failure is an object with `error`."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.models import ModelOptions, ModelRequest, Models
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.haiku.counting import count_poem
from state.canonical import to_storable_text

TEMPERATURE: Final = 0.5
SECONDS: Final = 8.0
"""For all providers together: who asks waits ten seconds."""
LARGEST: Final = 65_536
_PROMPT: Final = load_lexicon("haiku").read_text("prompt")

log = logging.getLogger(__name__)


def build_app(models: Models) -> FastAPI:
    app = FastAPI(title="Haiku", openapi_url=None, docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def catch(request: Request, go_on: Callable[[Request], Awaitable[JSONResponse]]) -> JSONResponse:
        try:
            return await go_on(request)
        except Exception:
            log.exception("the haiku service failed", extra={"action": "haiku_failed"})
            return _refuse(500, "Internal server error")

    @app.get("/health")
    async def tell_health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/generate_haiku")
    async def generate_haiku(request: Request) -> JSONResponse:
        theme = _find_theme(await _read_body(request))
        if not theme:
            return _refuse(400, "Missing theme")
        try:
            text = await write_haiku(models, theme)
        except (ModelClientError, OverBudget) as error:
            log.warning("no haiku: %s", error.reason, extra={"action": "haiku_not_written"})
            return _refuse(500, "Generation failed")
        syllables, words = count_poem(text)
        return JSONResponse({"theme": theme, "haiku_text": text, "syllables_per_line": syllables, "total_words": words})

    return app


async def write_haiku(models: Models, theme: str) -> str:
    """One line on each line. Raises ModelClientError, and OverBudget if the models count."""
    messages = ({"role": "system", "content": _PROMPT}, {"role": "user", "content": theme})
    options = ModelOptions(temperature=TEMPERATURE)
    answer = await models.chat(ModelRequest(messages=messages, role="tool", options=options, within=SECONDS))
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    if not lines:
        raise ModelClientError("The model wrote no haiku.")
    return "\n".join(lines)


async def _read_body(request: Request) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST:
            return b""
    return content


def _find_theme(content: bytes) -> str:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    theme = body.get("theme") if isinstance(body, dict) else None
    return to_storable_text(theme).strip() if isinstance(theme, str) else ""


def _refuse(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status_code=status)
