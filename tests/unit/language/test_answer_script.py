"""Raw bytes in an answer become the letters they stand for, and words of a script that nobody wrote are noticed."""

import pytest

from orchestrator.engines.crm_agent.blocks import parse
from orchestrator.language.answer_script import decode_bytes, has_stray_words
from tests.unit.engines.crm_agent.engine_kit import Fake, reply, run, step


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<0xD0><0x94>а", "Да"),
        ("Готово<0x0A>Всё", "Готово\nВсё"),
        ("Да<0xD0>.", "Да."),
        ("<0xF0><0x9F><0x99><0x82>", "🙂"),
        ("<0x00><0x1B>", ""),
        ("цвет <0xD0", "цвет <0xD0"),
        ("0xD0 и <b>", "0xD0 и <b>"),
    ],
)
def test_bytes_of_the_vocabulary_are_read(text: str, read: str) -> None:
    """Halves of letters and control characters are left out; other text stays."""
    assert decode_bytes(text) == read


def test_steps_keep_what_stands_in_them() -> None:
    """Only the words for the person are read: nothing that a step writes is guessed."""
    blocks = parse(reply(step("crm.deal.list", filter={"TITLE": "<0x41>"}), text="<0xD0><0x94>а"))
    assert (blocks.steps[0].params, blocks.assistant) == ({"filter": {"TITLE": "<0x41>"}}, "Да")


@pytest.mark.parametrize(
    ("answer", "known", "stray"),
    [
        ("Сделка 已创建", ["создай сделку"], True),
        ("Сделка готова", ["создай"], False),
        ("Клиент 华为", ["покажи клиентов", '{"TITLE": "华为"}'], False),
        ("Клиент 华为 готов", ['{"TITLE": "华"}'], True),
        ("Ещё 확인", [], True),
    ],
)
def test_words_of_another_script_are_those_that_nobody_wrote(answer: str, known: list[str], stray: bool) -> None:  # noqa: FBT001 - a table of tests
    """A company's own name stays."""
    assert has_stray_words(answer, known) is stray


async def test_an_answer_with_chinese_words_is_asked_for_once_more() -> None:
    """Steps of the first one do not run; the second is taken as it is."""
    ctx = Fake(reply(step(), text="Сделка 已创建"), reply(text="Сделка создана."))
    end = await run(ctx)
    assert (end.reply.text, ctx.effects) == ("Сделка создана.", [])
    assert "another script" in ctx.prompt()[-1]["content"]
    kept = await run(Fake(reply(text="已创建"), reply(text="已创建 готово")))
    assert kept.reply.text == "已创建 готово"
