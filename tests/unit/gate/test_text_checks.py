"""A text that says nothing is refused before a card; texts that people write are not."""

from typing import Any

import pytest

from orchestrator.domain.effect import Outcome
from tests.unit.gate.sandbox_kit import Desk


@pytest.mark.parametrize("value", ["", "   ", "null", "None", "undefined", "{{title}}", "${title}", "<title>", [], {"a": 1}, ["a"], True])
async def test_a_title_that_says_nothing_is_refused(desk: Desk, value: Any) -> None:
    """Seen: each of these became the title of a deal without a card."""
    for method, params in (("crm.deal.add", {"fields": {"TITLE": value}}), ("crm.deal.update", {"id": 410, "fields": {"TITLE": value}})):
        found = await desk.refused(method, params)
        assert found.reason.code in {"gate-value-text", "gate-param-invalid"}


async def test_a_comment_that_says_nothing_is_refused(desk: Desk) -> None:
    for text in ("null", "{{comment}}"):
        found = await desk.refused("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 410, "ENTITY_TYPE": "deal", "COMMENT": text}})
        assert found.reason.code in {"gate-value-text", "gate-param-missing"}


@pytest.mark.parametrize("value", ["Лютик", "0", "Null Systems", "Нет", "<Ромашка>", "Договор {{1}}", "-", "x"])
async def test_a_title_that_people_write_is_not_refused(desk: Desk, value: str) -> None:
    found = await desk.wish("crm.deal.update", {"id": 410, "fields": {"TITLE": value}})
    assert not isinstance(found, Outcome) or found.status == "succeeded"
    await desk.done("crm.deal.update", {"id": 412, "fields": {"COMMENTS": "x"}})
    emptied = await desk.wish("crm.deal.update", {"id": 412, "fields": {"COMMENTS": ""}})
    assert not isinstance(emptied, Outcome) or emptied.status == "succeeded", "the comment of a deal may be emptied"
