"""What people read about effects that are no calls of the portal: who answered, what is sent, and in which words it is asked about."""

from itertools import product
from pathlib import Path
from typing import Any, Final, Self

import pytest
from pydantic import BaseModel, field_validator, model_validator

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Outcome, Provenance
from orchestrator.gate.call.kinds.base import KindRequest, validate_params
from orchestrator.gate.call.kinds.method import build_kind_method
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.ports import Unknown
from orchestrator.gate.undo.undo_policy import build_undo_parts, find_completed
from state.journal.freeze_switch import SwitchOperator
from tests.unit.gate.kinds_kit import CALLS, SITE, Kinds, a_product

LOST = {
    "file.write": ("ответ диска с файлами потерян. Нажмите «Проверить»", "потерян — проверьте файл", "look at the file"),
    "http.post": ("ответ сайта потерян. Дошло ли, видно только на самом сайте", "потерян — проверьте на самом сайте", "look at the site"),
    "telegram.send_message": ("ответ Telegram потерян. Посмотрите в чате", "потерян — проверьте в чате", "look into the chat"),
    "mongo.delete_one": ("ответ базы данных потерян. Нажмите «Проверить»", "потерян — проверьте запись", "look at the record"),
}


_ODD: Final = (None, 5, "", "x y", [], {}, [1], {"a b": 1}, "я" * 5_000, {"$where": "x"}, [{"a": {"$bad": 1}}])


class _Sentence(BaseModel):
    """What the person asks for is wrong as a whole, or in a sentence that begins with the name of a field."""

    at: str | int = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        msg = "either at or a plan is needed"
        raise ValueError(msg)

    @field_validator("at", mode="before")
    @classmethod
    def _check_at(cls, value: object) -> object:
        if value == "soon":
            msg = "at is no moment of this day"
            raise ValueError(msg)
        return value


@pytest.mark.parametrize(("params", "param"), [({}, "x.add"), ({"at": "soon"}, "at"), ({"at": {"a": 1}}, "at")])
def test_a_person_reads_the_place_of_a_mistake_and_no_english_sentence(params: dict[str, Any], param: str) -> None:
    """Failed before: «Покажите автору: at is no moment of this day», and nothing at all for a mistake of the whole."""
    request = KindRequest(method=build_kind_method("x.add", "W", "add", _Sentence), effect_id="e-1", person="tg:1")
    with pytest.raises(Refusal) as refused:
        validate_params(request, params)
    assert refused.value.verdict.reason.args["param"] == param


@pytest.mark.parametrize("method", CALLS)
def test_whatever_is_wrong_has_a_place(method: str) -> None:
    kind_method = KINDS[method.partition(".")[0]].methods[method]
    for name, odd in product(kind_method.params.model_fields, _ODD):
        try:
            validate_params(KindRequest(method=kind_method, effect_id="e-1", person="tg:1"), {**CALLS[method], name: odd})
        except Refusal as refusal:
            told = refusal.verdict.reason.args["param"]
            assert told == method or told.partition(".")[0] in {"ORIGIN_ID", *kind_method.params.model_fields}, told


def lose_answer(kinds: Kinds, method: str) -> None:
    """Let the performer of a method answer that nobody knows what came of it."""

    async def execute(_call: object) -> Unknown:
        return Unknown(detail="lost")

    kinds.performers[method.partition(".")[0]].execute = execute


@pytest.mark.parametrize("method", LOST)
async def test_a_lost_answer_is_that_of_whoever_was_to_give_it(tmp_path: Path, method: str) -> None:
    """Nobody is told that Bitrix24 did not answer about a file, nor to press a button that cannot help."""
    on_card, in_chat, in_english = LOST[method]
    async with a_product(tmp_path) as kinds:
        lose_answer(kinds, method)
        entry = await kinds.ask(method)
        outcome = await kinds.approve(entry)
        card, english = kinds.draw(entry), kinds.draw(entry, "en")

    assert outcome.reason is not None
    assert on_card in card
    assert in_chat in Translator("ru").translate_notice(outcome.reason)
    assert in_english in Translator("en").translate_notice(outcome.reason)
    assert "Битрикс" not in card + Translator("ru").translate_notice(outcome.reason)
    assert "Bitrix" not in english + Translator("en").translate_notice(outcome.reason)


@pytest.mark.parametrize(
    "code", ["recovered-done", "recovered-not-done", "recovered-unclear", "card-not-done", "card-unknown", "undo-unsupported"]
)
@pytest.mark.parametrize("method", [*CALLS, "reminder.add"])
def test_what_was_found_out_names_no_portal(code: str, method: str) -> None:
    """In no sentence about an effect of another kind."""
    for locale in ("ru", "en"):
        said = Translator(locale).translate(code, method=method, effect="e1", part={"code": "x", "args": {}})
        assert "итрикс" not in said or (code, method) == ("undo-unsupported", "reminder.add")
        assert "Bitrix" not in said or (code, method) == ("undo-unsupported", "reminder.add")


async def test_an_undo_of_a_file_is_not_promised_in_the_portal(kinds: Kinds) -> None:
    entry = await kinds.ask("file.write")
    await kinds.approve(entry)
    done = find_completed(kinds.find_card(entry.confirmation_id))
    assert done is not None
    found = build_undo_parts(done, policy=kinds.world.gate.policy, catalogue=kinds.world.gate.deps.catalogue)
    assert not isinstance(found, tuple)
    assert Translator("ru").translate_notice(found) == "Это действие нельзя отменить через бота: верните в файле вручную"


@pytest.mark.parametrize("method", ["mongo.aggregate", "file.chmod", "http.head", "telegram.get_me"])
async def test_a_method_that_a_kind_does_not_have_is_no_command_of_the_portal(kinds: Kinds, method: str) -> None:
    found = await kinds.submit(method, {})
    assert found.reason is not None
    assert Translator("ru").translate_notice(found.reason) == "Такого действия я не знаю. Скажите другими словами, что должно получиться"
    assert (
        Translator("en").translate_notice(found.reason) == "I do not know this action. Say in other words what you want to have in the end"
    )


BORROWED = {
    "file.write": "файл",
    "telegram.send_message": "чат",
    "mongo.delete_one": "условия запроса",
    "mongo.update_many": "условия запроса",
    "http.post": "поле «Адрес»",
}


@pytest.mark.parametrize("method", BORROWED)
async def test_a_value_from_outside_is_asked_about_in_words(kinds: Kinds, method: str) -> None:
    """Not by the name of a parameter, and not as text of the CRM, for it may be a site's, a database's or the model's."""
    entry = await kinds.ask(method, provenance=Provenance(message=None, external=(f"a.txt -100123 Вера {SITE}",)))
    card = kinds.draw(entry)
    assert f"Значение взято не из ваших слов: {BORROWED[method]}" in card
    assert "CRM" not in card


@pytest.mark.parametrize(("body", "shown"), [({}, "Данные: {}"), ([], "Данные: []"), (0, "Данные: 0"), (False, "Данные: false")])
async def test_an_empty_body_is_on_the_card_because_it_is_sent(kinds: Kinds, body: Any, shown: str) -> None:
    """An empty list may clear a list at the other side."""
    entry = await kinds.ask("http.put", {"url": SITE, "json": body})
    card = kinds.draw(entry)
    await kinds.approve(entry)
    assert kinds.requests[0].content.decode() == shown.removeprefix("Данные: ")
    assert shown in card


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("if a:\n    b\n", "if a:\nb\n", "Строка 2: ····b → b"),
        ("a\n", "a  \n", "Строка 1: a → a··"),
        ("a\tb\n", "a b\n", "Строка 1: a⇥b → a·b"),
        ("a\u00a0b\n", "a b\n", "Строка 1: a⍽b → a·b"),
    ],
)
async def test_lines_that_differ_in_spaces_alone_are_seen_to_differ(kinds: Kinds, old: str, new: str, line: str) -> None:
    """«b → b» would be approved as no change, and indentation has a meaning in many files."""
    (kinds.root / "a.txt").write_text(old)
    card = kinds.draw(await kinds.ask("file.write", {"path": "a.txt", "text": new}))
    assert line in card


async def test_a_text_of_an_entry_does_not_pass_for_a_further_field(kinds: Kinds) -> None:
    """Several entries have a line each, with all of their fields."""
    rows = [{"client": "Анна; Сумма: 999", "sum": 5}, {"client": "ООО Ромашка", "tags": ["a; Сумма: 1", "b"]}]
    entry = await kinds.ask(
        "mongo.insert_many", {"collection": "deals", "documents": rows}, provenance=Provenance(message=None, prose=True)
    )
    card = kinds.draw(entry)
    assert "Запись 1: client: «Анна; Сумма: 999»; Сумма: 5\n" in card
    assert "Запись 2: client: ООО Ромашка; tags: «a; Сумма: 1, b»" in card


async def test_an_author_reads_all_mistakes_of_a_call(tmp_path: Path) -> None:
    """The sentence for people is short; what the journal and the audit keep is not."""
    wrong = {"url": "http://a b", "query": {"a": None}, "headers": {"Cookie": "x"}, "credential": "a b", "what": 1}
    async with a_product(tmp_path) as kinds:
        found = await kinds.submit("http.post", wrong)
    assert isinstance(found, Outcome)
    assert all(place in found.detail for place in ("url", "query.a", "headers", "credential", "what"))
    assert found.foreign_text, "names of fields may come from an object that a stranger wrote"
    assert found.reason is not None
    assert len(Translator("ru").translate_notice(found.reason)) < 200


async def test_each_new_entry_counts_as_a_change_of_the_day(tmp_path: Path) -> None:
    """A hundred documents in one call are a hundred changes, as the commands of a batch are."""
    rows = [{"a": number} for number in range(3)]
    async with a_product(tmp_path, caps={"writes_per_day": 5}) as kinds:
        for _ in range(2):
            found = await kinds.submit("mongo.insert_many", {"collection": "deals", "documents": rows})
            assert isinstance(found, Outcome)
    assert (found.status, found.reason and found.reason.code) == ("refused", "gate-cap-day")
    assert (found.reason.args["count"], found.reason.args["made"]) == (3, 3)


async def test_a_kind_that_goes_away_while_a_card_waits_ends_it_in_words(kinds: Kinds) -> None:
    """The press is answered, nothing is sent, and the card is closed."""
    entry = await kinds.ask("http.post")
    kinds.performers.pop("http")
    outcome = await kinds.approve(entry)
    card = kinds.draw(entry)
    assert (outcome.status, outcome.reason and outcome.reason.code) == ("refused", "gate-kind-missing")
    assert card.endswith("⚠️ Не выполнено. Это действие не настроено на этом сервере, скажите администратору (http)")


@pytest.mark.parametrize("method", CALLS)
async def test_writing_that_is_frozen_is_not_called_that_of_the_portal_alone(kinds: Kinds, method: str) -> None:
    """The freeze stops files, sites, chats and databases too."""
    switch = kinds.world.gate.deps.switch
    await switch.freeze(SwitchOperator(key="tg:1", name="Ольга", via="cli", at=kinds.session.now), "проверка")
    found = await kinds.submit(method)
    assert found.reason is not None
    assert Translator("ru").translate_notice(found.reason).startswith("⛔ Запись остановлена (Ольга, ")
    assert Translator("en").translate_notice(found.reason).startswith("⛔ Writing is stopped (Ольга, ")
