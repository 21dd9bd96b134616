"""Effects on files and Telegram chats through the gate: card, approval, outcome, and what happens when something changes meanwhile."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.card_view import Preview
from orchestrator.domain.chat_messages import ChatMessage, ChatText, MessageDoubtful, MessageRefused, MessageResult, MessageSent
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.call.ports import Performer
from orchestrator.performers.files.folder import Folder
from orchestrator.performers.files.performer import FilePerformer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.sessions.session import Session
from state.model.card import Card
from state.model.session_state import SessionState
from tests.unit.gate.submit_kit import decide, yes
from tests.unit.spine_kit import World, a_world

GROUP = -100123
OPEN = {"open_kinds": ["file", "telegram"], "open_methods": ["file.delete"], "telegram_chats": [GROUP], "undo_for": "1h"}


@dataclass
class Messenger:
    """The messenger's door, with what it is asked to send."""

    sent: list[ChatMessage] = field(default_factory=list)
    result: MessageResult = field(default_factory=lambda: MessageSent(message_id=57))

    async def deliver(self, message: ChatMessage, may_send: Callable[[], bool]) -> MessageResult:
        assert may_send()
        self.sent.append(message)
        return self.result

    async def find_title(self, chat: int) -> str:
        return "Отдел продаж" if chat == GROUP else ""

    def find_present_name(self, chat: int) -> str | None:
        return {1006: "Вера"}.get(chat)


@dataclass
class Setup:
    """A product with a folder of files and a messenger."""

    world: World
    session: Session
    root: Path
    messenger: Messenger

    async def submit(self, method: str, params: dict[str, Any], slot: str = "t1/1/1", **more: Any) -> Outcome | Pending:
        kind = cast("Any", method.partition(".")[0])
        return await self.world.submit(
            self.session, Effect(kind=kind, method=method, params=params, slot=slot, **{"provenance": Provenance(message=None), **more})
        )

    async def ask(self, method: str, params: dict[str, Any], slot: str = "t1/1/1") -> Card:
        found = await self.submit(method, params, slot)
        assert isinstance(found, Pending), found
        state: SessionState = self.session.state
        return state.cards[found.confirmation_id]

    async def approve(self, entry: Card) -> Outcome:
        decided = await decide(self.world, self.session, yes(entry))
        if decided.notice is not None and decided.notice.code == "card-second-tap":
            decided = await decide(self.world, self.session, yes(entry, nonce=calculate_second_nonce(entry.nonce)))
        assert decided.outcome is not None, decided
        return decided.outcome


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Setup]:
    root = tmp_path / "files"
    root.mkdir()
    async with a_world(tmp_path, policy=OPEN) as world:
        messenger, folder = Messenger(), Folder(root)
        performers = cast("dict[str, Performer]", world.gate.deps.performers)
        performers["file"] = FilePerformer(folder)
        performers["telegram"] = TelegramPerformer(messenger, messenger, FixedPolicy(world.gate.policy), folder)
        yield Setup(world, await world.session(), root, messenger)


def lines_of(entry: Card) -> list[tuple[str, str, str]]:
    return [(line.name, line.before, line.after) for line in Preview.model_validate(entry.preview).lines]


def reason_of(found: Outcome | Pending) -> str:
    return found.reason.code


async def test_a_new_file_is_created_and_read(here: Setup) -> None:
    made = await here.submit("file.write", {"path": "отчёты/июль.txt", "text": "Сумма: 5\n"})
    assert made.status == "succeeded"
    assert (here.root / "отчёты" / "июль.txt").read_text() == "Сумма: 5\n"
    read = await here.submit("file.read", {"path": "отчёты/июль.txt"}, slot="t1/1/2")
    assert cast("dict[str, Any]", read.result)["text"] == "Сумма: 5\n"
    listed = await here.submit("file.list", {}, slot="t1/1/3")
    assert [row["name"] for row in cast("dict[str, Any]", listed.result)["entries"]] == ["отчёты"]


async def test_a_card_of_a_replaced_file_shows_each_line_that_changes(here: Setup) -> None:
    (here.root / "note.txt").write_text("один\nдва\nтри\nчетыре\n")
    entry = await here.ask("file.write", {"path": "note.txt", "text": "один\nДВА\nтри\nчетыре\nпять\n"})
    preview = Preview.model_validate(entry.preview)
    assert Translator("ru").describe_call(entry.method, preview.verb, preview.entity) == "Записать файл"
    assert preview.title == "note.txt"
    assert lines_of(entry) == [("Строк", "4", "5"), ("Строка 2", "два", "ДВА"), ("Новое после строки 4", "", "пять")]
    assert [reason["code"] for reason in entry.reasons] == ["gate-file-replaces"]
    assert (await here.approve(entry)).status == "succeeded"
    assert (here.root / "note.txt").read_text() == "один\nДВА\nтри\nчетыре\nпять\n"


async def test_lines_that_take_the_place_of_as_many_others_stand_one_by_one(here: Setup) -> None:
    """And how many lines a file has is said only where that changes."""
    (here.root / "note.txt").write_text("Заявка\n80 шт.\n86 400\nТверь\n")
    entry = await here.ask("file.write", {"path": "note.txt", "text": "Заявка\n100 шт.\n108 000\nТверь\n"})
    assert lines_of(entry) == [("Строка 2", "80 шт.", "100 шт."), ("Строка 3", "86 400", "108 000")]


async def test_a_file_that_changes_while_its_card_waits_is_not_overwritten(here: Setup) -> None:
    (here.root / "note.txt").write_text("старое")
    entry = await here.ask("file.write", {"path": "note.txt", "text": "новое"})
    (here.root / "note.txt").write_text("правка человека")
    decided = await decide(here.world, here.session, yes(entry))
    assert decided.outcome is None
    assert (here.root / "note.txt").read_text() == "правка человека"
    [fresh] = [card for card in here.session.state.cards.values() if card.is_waiting]
    assert lines_of(fresh)[-1] == ("Строка 1", "правка человека", "новое")


async def test_text_is_added_and_a_file_is_deleted_with_what_it_holds_on_the_card(here: Setup) -> None:
    (here.root / "log.txt").write_text("a\n")
    added = await here.submit("file.append", {"path": "log.txt", "text": "b\n"})
    assert added.status == "succeeded"
    entry = await here.ask("file.delete", {"path": "log.txt"}, slot="t1/1/2")
    assert lines_of(entry) == [("Размер", "", "4 Б"), ("Сейчас в файле", "", "a ⏎ b ⏎")]
    assert (await here.approve(entry)).status == "succeeded"
    assert list(here.root.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("file.read", {"path": "нет.txt"}, "file-missing"),
        ("file.append", {"path": "нет.txt", "text": "x"}, "file-missing"),
        ("file.delete", {"path": "нет.txt"}, "file-missing"),
        ("file.create", {"path": "есть.txt", "text": "x"}, "file-exists"),
        ("file.write", {"path": "ЕСТЬ.txt", "text": "x"}, "file-name-taken"),
        ("file.read", {"path": "двоичный.bin"}, "file-not-text"),
        ("file.read", {"path": "ноль.txt"}, "file-not-text"),
        ("file.write", {"path": "../x", "text": "x"}, "gate-file-path-outside"),
        ("file.write", {"path": ".env", "text": "x"}, "gate-file-path-hidden"),
        ("file.write", {"path": "a", "text": "x" * 65_537}, "gate-kind-params"),
        ("file.write", {"path": "a", "text": "a\0b"}, "gate-params"),
        ("file.write", {"path": 5, "text": "x"}, "gate-kind-params"),
        ("file.write", {"path": "a", "text": "x", "mode": "0777"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": 666, "text": "x"}, "telegram-chat-unknown"),
        ("telegram.send_message", {"chat_id": 1006, "text": "  \u200b"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": 1006, "text": "😀" * 2049}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": "Вера", "text": "x"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": "tg:1006:5", "text": "x"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": "9" * 5000, "text": "x"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": True, "text": "x"}, "gate-kind-params"),
        ("telegram.send_message", {"chat_id": 1006, "text": "x", "parse_mode": "HTML"}, "gate-kind-params"),
        ("telegram.send_document", {"chat_id": 1006, "path": "нет.txt"}, "file-missing"),
        ("telegram.send_document", {"chat_id": 1006, "path": "/etc/passwd"}, "gate-file-path-outside"),
        ("telegram.delete_message", {"chat_id": 1006, "message_id": 5}, "gate-delete"),
    ],
)
async def test_bad_input_is_refused_with_a_sentence_before_any_card(here: Setup, method: str, params: dict[str, Any], code: str) -> None:
    (here.root / "есть.txt").write_text("x")
    (here.root / "двоичный.bin").write_bytes(b"\xff\xfe")
    (here.root / "ноль.txt").write_bytes(b"a\0b")
    refused = await here.submit(method, params)
    assert reason_of(refused) == code
    for locale in ("ru", "en"):
        assert Translator(cast("Any", locale)).has_message(code)
    assert here.messenger.sent == []
    assert not here.session.state.cards


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "tg://resolve?domain=x", "https://bank.ru@evil.ru", "https://", "https://a b", "http://[", "https://ба.рф"],
)
async def test_a_button_leads_to_a_plain_web_address_only(here: Setup, url: str) -> None:
    keyboard = [[{"text": "x", "url": url}]]
    assert (
        reason_of(await here.submit("telegram.send_message", {"chat_id": 1006, "text": "x", "inline_keyboard": keyboard}))
        == "gate-kind-params"
    )


@pytest.mark.req("S000-51", "S000-X16")
async def test_a_message_is_asked_about_whole_with_the_name_of_its_reader(here: Setup) -> None:
    text, keyboard = "Счёт *оплачен*\n" + "я" * 2000, [[{"text": "Сайт", "url": "https://shop.ru/1"}]]
    entry = await here.ask("telegram.send_message", {"chat_id": "tg:1006", "text": text, "inline_keyboard": keyboard})
    assert lines_of(entry) == [
        ("Кому", "", "Вера"),
        ("Текст", "", "Счёт *оплачен* ⏎ " + "я" * 2000),
        ("Кнопка «Сайт»", "", "https://shop.ru/1"),
    ]
    done = await here.approve(entry)
    assert done.result == {"chat_id": 1006, "message_id": 57}
    assert here.messenger.sent == [ChatText(chat=1006, text=text, buttons=((("Сайт", "https://shop.ru/1"),),))]


async def test_a_group_of_the_policy_is_named_by_its_title(here: Setup) -> None:
    entry = await here.ask("telegram.send_message", {"chat_id": GROUP, "text": "x"})
    assert lines_of(entry)[0] == ("Кому", "", "Отдел продаж")


@pytest.mark.req("S000-60")
async def test_a_file_that_changes_while_its_card_waits_is_not_sent(here: Setup) -> None:
    (here.root / "счёт.pdf").write_bytes(b"%PDF-1")
    entry = await here.ask("telegram.send_document", {"chat_id": 1006, "path": "счёт.pdf", "caption": "Счёт"})
    assert lines_of(entry) == [("Кому", "", "Вера"), ("Файл", "", "счёт.pdf"), ("Размер", "", "6 Б"), ("Подпись", "", "Счёт")]
    (here.root / "счёт.pdf").write_bytes(b"%PDF-2")
    await decide(here.world, here.session, yes(entry))
    assert here.messenger.sent == []
    [fresh] = [card for card in here.session.state.cards.values() if card.is_waiting]
    assert (await here.approve(fresh)).status == "succeeded"


async def test_a_refusal_of_telegram_and_a_lost_answer_are_named(here: Setup) -> None:
    here.messenger.result = MessageRefused(code="telegram-blocked", detail="Forbidden")
    entry = await here.ask("telegram.send_message", {"chat_id": 1006, "text": "x"})
    refused = await here.approve(entry)
    assert (refused.status, reason_of(refused)) == ("refused", "telegram-blocked")
    here.messenger.result = MessageDoubtful(detail="no answer")
    doubtful = await here.approve(await here.ask("telegram.send_message", {"chat_id": 1006, "text": "y"}, slot="t1/2/1"))
    assert doubtful.status == "unknown"
    row = await here.session.find_effect(doubtful.effect_id)
    assert row is not None
    seen = await here.world.gate.reconcile(row, here.session, announce=lambda _: [])
    assert seen.reconciled.verdict == "unclear"
    assert len(here.messenger.sent) == 2


@pytest.mark.parametrize("kind", ["file", "telegram"])
async def test_a_kind_that_is_not_set_up_is_refused_before_any_card(here: Setup, kind: str) -> None:
    del cast("dict[str, Performer]", here.world.gate.deps.performers)[kind]
    calls = {"file": ("file.read", {"path": "x"}), "telegram": ("telegram.send_message", {"chat_id": 1006, "text": "x"})}
    assert reason_of(await here.submit(*calls[kind])) == "gate-kind-missing"
    assert not here.session.state.cards
