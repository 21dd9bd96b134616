"""The demo model understands what sales people write: the table of tests/corpus/utterances.yaml."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sandbox.model.app import create_app
from tests.contract.sandbox_model_kit import CURRENT, blocks, turn

TABLE: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parents[1] / "corpus" / "utterances.yaml").read_text(encoding="utf-8"))


APP = create_app()
"""One for all rows: the rules keep nothing between requests."""


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """The model behind HTTP."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=APP), base_url="http://model") as ready:
        yield ready


@pytest.mark.req("S004-6", "S004-22")
@pytest.mark.parametrize("row", TABLE, ids=[row["say"] for row in TABLE])
async def test_an_utterance_gives_the_expected_calls(client: httpx.AsyncClient, row: dict[str, Any]) -> None:
    """Every row gives exactly its calls in order, readable by the product's parser."""
    answer = await blocks(client, turn(row["say"], current=CURRENT if row.get("current") else None, rows=row.get("shown", ())))
    expected = row.get("steps", [])
    assert [step.method for step in answer.steps] == [step["method"] for step in expected]
    for step, wanted in zip(answer.steps, expected, strict=True):
        compared = step.params if row.get("exact") else {key: step.params.get(key) for key in wanted["params"]}
        assert compared == wanted["params"]
        assert not step.confirmed
    assert answer.assistant
    assert row.get("rule", "") in answer.thought


def test_the_table_is_large_and_bilingual() -> None:
    """At least 80 rows about the rules themselves, a fifth of them English; no row twice."""
    table = [row for row in TABLE if "rule" in row]
    english = [row for row in table if re.search(r"(?<![\w/.@])[a-z]{2,}(?![\w/.@:])", row["say"])]
    assert len(table) >= 80
    assert len(english) * 5 >= len(table)
    assert len({(row["say"], row.get("current", False), str(row.get("shown"))) for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    ("text", "cyrillic"),
    [
        ("мои сделки", True),
        ("my deals", False),
        ("move Ромашка to Договор", False),
        ("«Sunrise» в работу", True),
        ("подпишись на изменения сделок: https://hooks.example.com/x", True),
    ],
)
async def test_it_answers_in_the_language_of_the_person(client: httpx.AsyncClient, text: str, *, cyrillic: bool) -> None:
    """The sentence is Russian for Russian and English for English; names of records do not decide."""
    answer = await blocks(client, turn(text))
    assert answer.thought.startswith("Демо-модель" if cyrillic else "Demo model")


async def test_a_list_names_all_fields_that_cards_need(client: httpx.AsyncClient) -> None:
    """A deal list selects title, sum, currency, stage, funnel, owner and close date."""
    (step,) = (await blocks(client, turn("мои сделки"))).steps
    wanted = ["ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "ASSIGNED_BY_ID", "CLOSEDATE"]
    assert step.params["select"] == wanted


async def test_it_says_honestly_that_it_is_no_ai(client: httpx.AsyncClient) -> None:
    """Greeting, help and the fallback all say «правила вместо ИИ», and the fallback gives examples."""
    for text in ("привет", "что ты умеешь?", "напиши стих про осень"):
        assert "правила вместо ИИ" in (await blocks(client, turn(text))).assistant
    assert "мои сделки" in (await blocks(client, turn("напиши стих про осень"))).assistant
