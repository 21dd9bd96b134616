"""What runes take out of texts is what stands there: no digit is lost, and what has no place among other words is not taken (S003-41)."""

from typing import Any

import pytest

from tests.unit.engines.workflows.stage_kit import play_quietly
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow

ACCOUNT = "40702810900000012345"
"""The number of a bank account; as a number of JSON it has more digits than a float holds."""
MISSING = "нет"


async def take(text: str, **rune: Any) -> Any:
    """What a rune takes out of a text."""
    only = tuum("only", put("text", text), {"input": "text", "output": "found", **rune}, outputMappings={"found": "found"})
    ended, outside = await play_quietly(workflow(only))
    assert outside.failures == []
    return ended.value.data["globals"]["found"]


@pytest.mark.req("S003-41", "S003-49")
@pytest.mark.parametrize(("text", "found"), [
    (f'{{"a": {ACCOUNT}}}', ACCOUNT), (f'Вот счёт: {{"a": {ACCOUNT}}}. Готово', ACCOUNT),
    (f'```json\n{{"a": {ACCOUNT}}}\n```', ACCOUNT), (f'{{"a": -{ACCOUNT}}}', f"-{ACCOUNT}"),
    ('{"a": 9007199254740993}', "9007199254740993"), ('{"a": 9007199254740991}', 9007199254740991),
    ('{"a": 79991234567}', 79991234567), ('{"a": 1.5}', 1.5), ('{"a": 1e999}', MISSING), ('{"a": NaN}', MISSING),
    (f'{{"a": {"9" * 10_000}}}', "9" * 10_000),
])  # fmt: skip
async def test_json_keeps_every_digit(text: str, found: Any) -> None:
    """An integer that a float cannot hold is taken as a text; it was another number, or was taken for none."""
    assert await take(text, runeType="json", path="a", default=MISSING) == found


@pytest.mark.req("S003-41", "S003-49")
@pytest.mark.parametrize(("text", "found"), [
    ('Сделка [481]: {"a": 5}', 5), ('По источнику [1] и [2] — {"a": 5}, см. [3]', 5), ('{"a": 5} и {"a": 6}', MISSING),
    ('{"b": {"a": 1}} и {"a": 2}', 2), ('{"b": {"a": 1}}', MISSING), ('```\nпример\n```\nОтвет:\n```json\n{"a": 5}\n```', 5),
    ('```json\n{"b": 1}\n```\n```json\n{"a": 5}\n```', 5), ("[481]", MISSING), ("{'a': 5}", MISSING),
])  # fmt: skip
async def test_json_is_taken_where_the_part_is(text: str, found: Any) -> None:
    """A model may write brackets before its answer: what has no such part is not the answer, nor is a part of a part."""
    assert await take(text, runeType="json", path="a", default=MISSING) == found


@pytest.mark.req("S003-41")
async def test_the_first_of_many_matches_is_found() -> None:
    """However many there are behind it: a long letter has thousands of words."""
    assert await take("Слово " * 20_000, runeType="regex", pattern=r"(\w)\w+", group=1) == "С"
    assert await take("Слово " * 20_000, runeType="regex", pattern="нет такого") is None
    assert await take("раз два", runeType="regex", pattern=r"\w+", isAll=True) == ["раз", "два"]
