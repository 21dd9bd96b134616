"""A model writes the poem, code counts its syllables and words (S001-68 … 74, X7). Every failure is an object with `error`."""

import json
import logging
import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.models import ModelOptions, ModelRequest, Models
from orchestrator.language.lexicon import load_lexicon
from state.canonical import to_storable_text

_VOWELS: Final = frozenset(load_lexicon("syllables").read_text("vowels"))
"""Russian: each is a syllable."""
_ENGLISH: Final = re.compile(r"[aeiouy]+")
_SILENT_END: Final = re.compile(r"[^aeiouyl]es?$|[^aeiouytd]ed$")
"""Not spoken in "stone", "stones" and "called", but in "little" and "wanted"."""
_SPOKEN_END: Final = re.compile(r"(?:[sxz]|ch|sh|[cg])es$")
"""Spoken all the same: "roses", "branches", "places"."""
_TOKEN: Final = re.compile(r"\S+")
_LETTERS: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Counts(NamedTuple):
    syllables_per_line: list[int]
    total_words: int


def count_poem(text: str) -> Counts:
    lines = [line for line in text.splitlines() if line.strip()]
    return Counts([count_line(line) for line in lines], sum(len(find_words(line)) for line in lines))


def count_line(line: str) -> int:
    return sum(count_syllables(part) for word in find_words(line) for part in _LETTERS.findall(word))


def find_words(line: str) -> Sequence[str]:
    """What stands between spaces and has a letter."""
    return [token for token in _TOKEN.findall(line) if any(map(str.isalpha, token))]


def count_syllables(word: str) -> int:
    """Russian vowels, and groups of English vowels without a silent "e"."""
    folded = unicodedata.normalize("NFC", "".join(sign for sign in unicodedata.normalize("NFC", word.casefold()) if sign != "\u0301"))
    russian = sum(sign in _VOWELS for sign in folded)
    plain = "".join(sign for sign in unicodedata.normalize("NFD", folded) if not unicodedata.combining(sign))
    groups = len(_ENGLISH.findall(plain))
    if groups > 1 and _SILENT_END.search(folded) and not _SPOKEN_END.search(folded):
        groups -= 1
    return russian + groups


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
