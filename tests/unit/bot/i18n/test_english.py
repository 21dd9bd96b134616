"""An English person reads English: no sentence, name of a field, date, quotation mark or button of the program is Russian."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from bot.i18n import translate
from bot.i18n.translate import Translator
from bot.telegram.intake.people import ChatPeople
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.outputs import Toast
from orchestrator.runtime.commands import COMMANDS
from state.journal.store import OutboxRow
from tests.unit.spine_kit import CHAT, VERA, World, a_world, command, message, press, reply, step
from tests.unit.spine_portal import Portal

ROOT = Path(translate.__file__).parents[2]
RUSSIAN = re.compile("[А-Яа-яЁё«»№]")
LATIN = str.maketrans(dict(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "abvgdeejziiklmnoprstufhccss'y'eua", strict=True)))
PERSON = VERA.model_copy(update={"key": "tg:1007", "name": "Vera", "locale": "en", "role": "admin"})
NAMES_OF_LANGUAGES = ("Русский",)
"""What may stay: a language is offered under its own name."""


def _to_latin(text: str) -> str:
    return "".join(char.upper() if upper else char for char, upper in ((char.lower().translate(LATIN), char.isupper()) for char in text))


class LatinPortal(Portal):
    """A portal of an English company: nothing that it answers is Russian."""

    def answer(self, method: str, params: dict[str, Any]) -> httpx.Response:
        found = super().answer(method, params)
        return httpx.Response(found.status_code, json=json.loads(_to_latin(json.dumps(found.json(), ensure_ascii=False))))

    def perform(self, method: str, params: dict[str, Any]) -> Any:
        if method in {"crm.activity.todo.add", "task.commentitem.add", "im.notify", "tasks.task.chat.message.send"}:
            return self._made(method, params)
        return super().perform(method, params)


def _list_russian(text: str) -> list[str]:
    for name in NAMES_OF_LANGUAGES:
        text = text.replace(name, "")
    return [line for line in text.splitlines() if RUSSIAN.search(line)]


def _read(row: OutboxRow) -> Iterator[str]:
    """Yield everything that a person reads in a message: its texts, the labels of its buttons, the name of its file."""
    tr = Translator("en")
    if row.kind == "toast":
        yield tr.translate_notice(Toast.model_validate(row.body).notice)
        return
    made = build_message(row, tr)
    yield from (text for text, _ in made.pieces)
    yield from (button.text for line in getattr(made.markup, "inline_keyboard", None) or () for button in line)
    yield from (attached.name for attached in made.files)


def _walk(value: object, *, english: bool = False) -> Iterator[str]:
    """Yield the texts under a key "en" of a data file; a list of two under it is a Russian word with its English one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            is_pair = key == "en" and isinstance(item, list) and len(item) == 2
            yield from _walk(item[1] if is_pair else item, english=english or key == "en")
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, english=english)
    elif isinstance(value, str) and english:
        yield value


@pytest.mark.parametrize("path", sorted((Path(translate.__file__).parent / "en").glob("*.ftl")), ids=lambda path: path.stem)
def test_no_english_sentence_holds_russian(path: Path) -> None:
    said = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    assert _list_russian(said) == []


@pytest.mark.parametrize("path", sorted([*(ROOT / "data/language").glob("*.yaml"), *(ROOT / "data/catalogue").glob("*.yaml")]), ids=lambda path: path.stem)  # fmt: skip
def test_no_english_word_of_a_data_file_is_russian(path: Path) -> None:
    """Field names, flags, months, relative days, list values."""
    found = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    assert [text for text in _walk(found) if RUSSIAN.search(text)] == []


def test_the_titles_of_a_batch_stand_in_english_quotes() -> None:
    said = Translator("en").translate(
        "call-named", method="batch", verb="batch", entity="", count=2, title="A», «B", parts="title", changes=""
    )
    assert said.endswith("“A”, “B”")


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    async with a_world(tmp_path, portal=LatinPortal()) as made:
        yield made


async def _ask(world: World, *steps: dict[str, Any], text: str = "Done.") -> list[OutboxRow]:
    world.model.will(reply(*steps, text=text), *([reply(text=text)] if steps else []))
    await world.work(message("please do it: deals 481, 482 and 500, task 8017, contact 43", actor=PERSON))
    world.model.script.clear()
    return world.outbox()


COMMENT = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "[USER=8]Boris[/USER], [URL=https://a.example]look[/URL]"}}
BATCH = {
    "cmd": {
        "a": "crm.deal.update?id=481&fields[OPPORTUNITY]=900000",
        "b": "crm.deal.update?id=482&fields[CLOSEDATE]=2026-12-25",
        "c": "crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]=hello",
    }
}
ACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sum": ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000, "CLOSEDATE": "2026-12-25", "COMMENTS": ""}}),
    "person": ("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}}),
    "stage": ("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "WON"}}),
    "funnel": ("crm.deal.update", {"id": 481, "fields": {"CATEGORY_ID": 1}}),
    "item": ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"opportunity": 90}}),
    "new deal": ("crm.deal.add", {"fields": {"TITLE": "New", "OPPORTUNITY": 5000, "CONTACT_ID": 43}}),
    "new task": ("tasks.task.add", {"fields": {"TITLE": "Call", "DEADLINE": "2026-11-24T10:00:00+03:00", "ACCOMPLICES": [8]}}),
    "task": ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-11-24T10:00:00+03:00"}}),
    "complete": ("tasks.task.complete", {"taskId": 8017}),
    "to-do": ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-11-24T10:00:00+03:00", "responsibleId": 8}),
    "phone": ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"VALUE": "+79161234567", "VALUE_TYPE": "WORK"}]}}),
    "mention": ("crm.timeline.comment.add", COMMENT),
    "notify": ("im.notify", {"USER_ID": 8, "MESSAGE": "hello"}),
    "batch": ("batch", BATCH),
    "subscription": ("event.bind", {"event": "ONCRMDEALUPDATE", "handler": "https://hooks.example.com/x"}),
    "delete": ("crm.deal.delete", {"id": 481}),
    "unknown method": ("crm.task.add", {"fields": {}}),
    "no record": ("crm.deal.update", {"id": 999, "fields": {"TITLE": "x"}}),
    "no employee": ("user.update", {"ID": 77, "WORK_POSITION": "x"}),
    "wrong date": ("crm.deal.update", {"id": 481, "fields": {"CLOSEDATE": "2099-12-31"}}),
    "wrong stage": ("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "NOPE"}}),
    "wrong person": ("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 77}}),
}


@pytest.mark.parametrize("act", sorted(ACTS))
@pytest.mark.parametrize("approve", [True, False], ids=["approved", "denied"])
async def test_a_request_its_card_its_details_and_its_end_are_english(world: World, act: str, approve: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    method, params = ACTS[act]
    rows = await _ask(world, step(method, params))
    session = await world.session(owner="reader")
    cards = [card for card in session.state.cards.values() if card.is_waiting]
    await session.close()
    for card in cards:
        await world.work(command("details", actor=PERSON, confirmation_id=card.confirmation_id))
        await world.work(press(card, approve=approve, actor=PERSON))
    rows.extend(world.outbox())
    for name in ("pending", "history"):
        await world.work(command(name, actor=PERSON, args="deal 481" if name == "history" else ""))
    rows.extend(world.outbox())
    assert rows
    assert [line for row in rows for text in _read(row) for line in _list_russian(text)] == []


@pytest.mark.parametrize("name", [*COMMANDS, "freeze", "unfreeze", "nonsense"])
async def test_every_command_is_answered_in_english(world: World, name: str) -> None:
    await world.work(command(name, actor=PERSON))
    assert [line for row in world.outbox() for text in _read(row) for line in _list_russian(text)] == []


def test_the_language_of_a_chat_is_its_persons() -> None:
    from tests.unit.bot.telegram.door_kit import VERA as NUMBER  # noqa: PLC0415 - it loads aiogram's types
    from tests.unit.bot.telegram.door_kit import access  # noqa: PLC0415

    assert ChatPeople(access()).build_translator(f"tg:{NUMBER}").locale == "en"
    assert CHAT == "tg:1007"
