"""One reader takes JSON out of the answers of models for all engines: what has one meaning is read, what has none is not guessed."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.engines.shared.model_json import JsonUnreadable, is_alone, read_model_json

READ: Mapping[str, Any] = {
    '{"sum": 5}': ({"sum": 5}), '{"sum": 5,}': ({"sum": 5}), '[{"a": 1,}, {"a": 2},]': ([{"a": 1}, {"a": 2}]),
    '```json\n{"sum": 5,}\n```': ({"sum": 5}), "~~~\n[1, 2]\n~~~": [1, 2], "```json\n5\n```": 5, 'Вот: {"sum": 5}': ({"sum": 5}),
    'Готово!\n```json\n{"sum": 5}\n```\nЕсли нужно, поправлю {имя}.': ({"sum": 5}),
    'Сделка [481], источники [1] и [2]: {"sum": 5}': ({"sum": 5}), '[см. {"sum": 5}]': ({"sum": 5}),
    '{"sum": 5} (повтор: {"sum": 5})': ({"sum": 5}), '\ufeff{"sum": 5}': ({"sum": 5}),
    '{"text": "строка\nвторая, }]"}': ({"text": "строка\nвторая, }]"}),
    '{"text": "он сказал \\"{да,}\\""}': ({"text": 'он сказал "{да,}"'}), '{"sum": "5 000"}': ({"sum": "5 000"}),
    '{"account": 40702810900000012345}': ({"account": "40702810900000012345"}), '{"a": "\\u0000"}': ({"a": "\ufffd"}),
    '{"a": 1, "a": 1}': ({"a": 1}),
}  # fmt: skip
UNREAD = (
    '{"sum": NaN}', '{"sum": Infinity}', '{"sum": 1e999}', "{'sum': 5}", "{sum: 5}", '{"sum": None}',
    '{"name": "Иван «ООО", "sum": "5 000 руб."', '{"items": [{"a": 1}, {"a": 2}, {"a":', 'Вот: {"name": "Иван', '{"sum": 5} и {"sum": 6}',
    '{"sum": 5, "sum": 6}', '{"sum": 5,,}', '{"a":' * 50_000 + "1" + "}" * 50_000, "[1]" * 60_000,
)  # fmt: skip
ABSENT = ("", "нет", "Сделка [№ 481] закрыта, {имя}", "NaN", "{" * 100_000, "[1" * 100_000, "Итог: [1, 2")


@pytest.mark.req("S003-41", "S002-A9")
@pytest.mark.parametrize("text", READ, ids=range(len(READ)))
def test_what_has_one_meaning_is_read(text: str) -> None:
    """Fences, words around, trailing commas and line breaks in texts do not matter, and no digit is lost."""
    assert read_model_json(text) == READ[text]


@pytest.mark.req("S003-41", "S002-A9")
@pytest.mark.parametrize("text", [*UNREAD, *ABSENT], ids=range(len(UNREAD) + len(ABSENT)))
def test_what_has_no_certain_meaning_is_not_read(text: str) -> None:
    """What was cut off, is no JSON or says two things is never completed or chosen from; words alone are told apart from it."""
    with pytest.raises(JsonUnreadable) as raised:
        read_model_json(text)
    assert raised.value.is_absent == (text in ABSENT)


def test_of_several_pieces_the_one_counts_that_alone_has_the_part() -> None:
    """Two that have it are two answers."""

    def has_part(data: Any) -> bool:
        return isinstance(data, dict) and "a" in data

    assert read_model_json('{"b": {"a": 1}} и {"a": 2}', has_part) == {"a": 2}
    for text in ('{"a": 1} и {"a": 2}', '{"b": 1} и {"c": 2}'):
        with pytest.raises(JsonUnreadable, match="different pieces"):
            read_model_json(text, has_part)


def test_json_alone_is_told_from_json_among_words() -> None:
    """What is quoted in a sentence is no proposal."""
    assert is_alone('```json\n{"a": 1}\n```')
    assert is_alone(' [{"a": 1}] ')
    assert not is_alone('Вот: {"a": 1}')
    assert not is_alone('{"a": 1} — пример')
