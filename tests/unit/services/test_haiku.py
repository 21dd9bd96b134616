"""The haiku service: its answers and statuses, what it asks the model, and what it counts."""

import json
from collections.abc import Iterable

import httpx
import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelRequest
from orchestrator.services.haiku.app import build_app, count_poem, count_syllables
from tests.unit.engines.tool_agent.ask_kit import Models, say

POEM = "Старый-старый пруд,\n\n прыгнула в воду лягушка \nвсплеск — и тишина 5"


async def ask(models: Models, content: bytes = b"", **body: object) -> httpx.Response:
    """Return the answer of the service to a POST."""
    transport = httpx.ASGITransport(app=build_app(models), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://haiku") as client:
        return await client.post("/generate_haiku", content=json.dumps(body).encode() if body else content)


@pytest.mark.req("S001-74", "S001-X7")
async def test_a_poem_is_written_and_counted() -> None:
    """The model is asked for 5-7-5 with the temperature 0.5; the answer echoes the theme, without blank lines."""
    models = Models([say(POEM)])
    told = (await ask(models, theme=" пруд ")).json()
    assert told == {
        "theme": "пруд",
        "haiku_text": "Старый-старый пруд,\nпрыгнула в воду лягушка\nвсплеск — и тишина 5",
        "syllables_per_line": [5, 8, 5],
        "total_words": 9,
    }
    request: ModelRequest = models.requests[0]
    assert (request.options.temperature, request.role) == (0.5, "tool")
    assert request.messages[-1]["content"] == "пруд"
    assert "пять, семь и пять" in request.messages[0]["content"]


@pytest.mark.req("S001-X7")
@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"theme": ""}', b'{"theme": "  "}', b'{"theme": 5}', b"[]", b"nonsense", b"\xff", b"[" * 5_000, b" " * 70_000]
)
async def test_without_a_theme_nothing_is_written(content: bytes) -> None:
    """A request without a usable theme is refused with the words of the seed's origin."""
    told = await ask(Models([]), content)
    assert (told.status_code, told.json()) == (400, {"error": "Missing theme"})


@pytest.mark.req("S001-X7")
@pytest.mark.parametrize("answers", [[ModelClientError("no route")], [say(" \n ")]])
async def test_a_model_that_fails_is_told(answers: Iterable[ModelClientError]) -> None:
    """The reason stays inside."""
    told = await ask(Models(answers), theme="пруд")
    assert (told.status_code, told.json()) == (500, {"error": "Generation failed"})


@pytest.mark.req("S001-X7")
async def test_any_other_failure_is_told() -> None:
    """A mistake of the program itself is no stack trace for the caller."""
    told = await ask(Models([]), theme="пруд")  # the model has no answer at all
    assert (told.status_code, told.json()) == (500, {"error": "Internal server error"})


@pytest.mark.req("S001-X7")
async def test_it_is_healthy() -> None:
    """GET /health answers without asking a model."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=build_app(Models([]))), base_url="http://haiku") as client:
        told = await client.get("/health")
    assert (told.status_code, told.json()) == (200, {"status": "ok"})


@pytest.mark.req("S001-X7")
@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("ПРУД", 1),
        ("лягушка", 3),
        ("ёлка", 2),
        ("и\u0306", 0),
        ("в", 0),
        ("за́мок", 2),
        ("stone", 1),
        ("stones", 1),
        ("roses", 2),
        ("called", 1),
        ("wanted", 2),
        ("little", 2),
        ("beautiful", 3),
        ("the", 1),
        ("café", 2),
        ("rhythm", 1),
        ("places", 2),
    ],
)
def test_syllables_are_counted_by_rule(word: str, count: int) -> None:
    """Russian vowels count one by one, English ones in groups without a silent e."""
    assert count_syllables(word) == count


def test_blank_lines_and_bare_signs_do_not_count() -> None:
    """A word is what has a letter."""
    assert count_poem("— 5 !\n\nа б") == ([0, 1], 2)
