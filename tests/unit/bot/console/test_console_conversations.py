"""The conversations in the console: who may read which, what a turn tells, and how a page goes on while it is open."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.console.conversations.page import AT_ONCE, MOST_SCANNED, TURNS, find_start
from bot.console.conversations.turn_items import Item, group_items
from bot.console.widgets import LONGEST
from orchestrator.domain.outputs import Reply, ReportPart
from state.events.calls import CallOutcomeUnknown, CallStarted
from state.events.confirmations import ConfirmationApproved
from state.events.conversation import MessageReceived, ModelAnswered, ModelFailed, StepRefused, TurnFinished
from state.events.daily import ReminderFired
from state.events.talking import AnswerGiven
from state.sql.store import SqlStore
from tests.fixed_clock import FixedClock
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, ConsoleWorld, OpenPage
from tests.unit.bot.console.talk_kit import HOSTILE, ask, decide, put, put_turn
from tests.unit.bot.rendering.report_kit import make_answer, make_rows
from tests.unit.spine_kit import CHAT, NOW, World, memory_store, reply, until

TALK = f"/conversations/{CHAT}"
REMINDED = ReminderFired(effect_id="e1")


def _a_bare_world(store: SqlStore) -> World:
    """A journal without a product."""
    return World(store, None, FixedClock(NOW), None, None, None, None, Path())  # type: ignore[arg-type]


def kinds(page: OpenPage) -> list[str]:
    """What is shown, in the order of the page."""
    found = [one for one in page.elements if "deed" in one._classes]
    return [next(name for name in one._classes if name.startswith("deed-") and name != "deed-voice").removeprefix("deed-") for one in found]


@pytest.mark.req("C-14")
async def test_a_turn_is_told_from_the_request_to_what_came_of_it(made: ConsoleWorld) -> None:
    """Asked, thought, proposed, the card, the answer, decided, sent, done, and that the turn went on: one timeline."""
    card = await ask(made.world)
    made.world.clock.advance(timedelta(minutes=5))
    made.world.model.will_go_on(reply(text="Всё готово."))
    await decide(made.world, card)

    page = await made.open(TALK, ANNA)

    told = ["asked", "thought", "proposed", "card", "decided", "sent", "outcome", "notice", "thought", "answered"]
    assert kinds(page) == told
    for text in ("подними сумму сделки 481", "думаю", "Изменить сделку №481 — так попросили", "Всё готово.", "Одобрено", "Выполнено"):
        assert page.has(text), text
    assert page.has("1\u00a0200\u00a0000\u00a0₽")
    assert page.has("кнопкой")
    assert f"/audit/{card.effect_id}" in str([one.props.get("href") for one in page.elements])


@pytest.mark.req("C-14")
def test_what_happens_to_a_card_later_belongs_to_its_turn() -> None:
    """A decision after the next request stands with the first one; a reminder stands by itself."""
    store = memory_store()
    world = _a_bare_world(store)
    started = CallStarted(
        effect_id="e1", turn_id="t1", slot="t1/1/1", method="m", call_class="W", params={}, fingerprint="", requested_by=CHAT
    )
    approved = ConfirmationApproved(confirmation_id="c1", effect_id="e1", approved_by=CHAT, approved_at="", via="button")
    events = put(
        world,
        CHAT,
        MessageReceived(turn_id="t1", text="раз"),
        started,
        MessageReceived(turn_id="t2", text="два"),
        REMINDED,
        approved,
        TurnFinished(turn_id="t2", reason="answered"),
    )

    turns = group_items((event, [Item(kind="notice", at=event.ts, text=event.type)]) for event in events)

    assert [[item.text for item in turn.items] for turn in turns] == [
        ["MessageReceived", "CallStarted", "ConfirmationApproved"],
        ["MessageReceived", "TurnFinished"],
        ["ReminderFired"],
    ]
    assert [turn.is_alone for turn in turns] == [False, False, True]


@pytest.mark.req("C-14")
async def test_failures_and_refusals_are_told_in_words(made: ConsoleWorld) -> None:
    """The model's failure, the gate's refusal with its reason, an outcome that is not known, and words that came by voice."""
    call = {"effect_id": "e" * 32, "turn_id": "t1", "slot": "t1/1/1", "method": "crm.deal.update", "call_class": "W"}
    put(
        made.world,
        CHAT,
        MessageReceived(turn_id="t1", text="удали всё", origin="voice"),
        ModelFailed(turn_id="t1", iteration=1, reason="timeout"),
        StepRefused(
            turn_id="t1",
            slot="t1/2/1",
            method="crm.deal.delete",
            params={"id": 481},
            code="gate-must-read",
            args={"method": "crm.deal.delete"},
        ),
        CallOutcomeUnknown(**call),
        TurnFinished(turn_id="t1", reason="limit"),
    )

    page = await made.open(TALK, ANNA)

    assert kinds(page) == ["asked", "failed", "refused", "outcome", "notice"]
    for text in (
        "голосом",
        "Модель не ответила",
        "Удалить сделку №481",
        "Здесь можно только читать",
        "Исход неизвестен",
        "слишком много шагов",
    ):
        assert page.has(text), text


@pytest.mark.req("C-14")
async def test_conversations_are_read_by_their_people_and_administrators(made: ConsoleWorld) -> None:
    """A manager and a head of sales see their own alone; an administrator sees all, the last one first, and finds one by name."""
    for person in (ANNA, BORIS, VERA):
        put_turn(made.world, f"tg:{person.telegram_id}", f"слова: {person.name}")
    names = ("слова: Анна", "слова: Борис", "слова: Вера")

    own, lead, chief = [await made.open("/conversations", person) for person in (ANNA, VERA, OLGA)]
    assert [own.has(name) for name in names] == [True, False, False]
    assert [lead.has(name) for name in names] == [False, False, True]
    assert [text for text in chief.read_texts() if text in names] == list(reversed(names))

    await chief.enter("Имя", "бор")
    await until(lambda: not chief.has("слова: Анна"))
    assert [text for text in chief.read_texts() if text in names] == ["слова: Борис"]
    for person, key in ((VERA, "tg:1007"), (ANNA, "tg:1008"), (OLGA, "tg:4242"), (OLGA, "people"), (ANNA, "tg:100")):
        assert (await made.open(f"/conversations/{key}", person)).has("Такой записи нет, или вам её не видно."), key


@pytest.mark.req("C-14")
async def test_the_list_counts_open_cards_and_unknown_calls(made: ConsoleWorld) -> None:
    """So somebody sees where a person is waited for; a page shows thirty, and more when asked."""
    await ask(made.world)
    for number in range(31):
        put_turn(made.world, f"http:site:{number}", f"вопрос {number:02d}")

    page = await made.open("/conversations", OLGA)
    assert not page.has("карточка ждёт")
    assert not page.has("вопрос 00")
    await page.press("Показать ещё")
    await until(lambda: page.has("вопрос 00"))
    assert page.has("1 карточка ждёт")
    assert page.has("вопрос 00")


@pytest.mark.req("C-15")
async def test_new_events_are_added_without_touching_what_stands_there(made: ConsoleWorld) -> None:
    """What was drawn stays the same elements; a card's decision joins its turn, a new request stands at the end."""
    card = await ask(made.world)
    page = await made.open(TALK, ANNA)
    before = [one.id for one in page.elements if "deed" in one._classes]
    await decide(made.world, card)
    put_turn(made.world, CHAT, "а теперь другое")

    await made.tell_change()

    after = [one.id for one in page.elements if "deed" in one._classes]
    assert after[: len(before)] == before
    assert page.has("Одобрено")
    assert page.has("а теперь другое")


@pytest.mark.req("C-15")
async def test_a_list_that_is_open_shows_a_new_conversation(made: ConsoleWorld) -> None:
    """The newest stands first."""
    put_turn(made.world, "tg:1008", "слова Бориса")
    page = await made.open("/conversations", OLGA)
    put_turn(made.world, "tg:1007", "слова Анны")

    await made.tell_change()

    assert [text for text in page.read_texts() if text.startswith("слова")] == ["слова Анны", "слова Бориса"]


@pytest.mark.req("C-14")
async def test_the_last_turns_come_first_and_earlier_ones_when_asked(made: ConsoleWorld) -> None:
    """The last turns with the page, thirty when it has connected; a press adds those before, above them, until all are there."""
    for number in range(TURNS + 5):
        put_turn(made.world, CHAT, f"вопрос {number:02d}")
    page = await made.open(TALK, ANNA)
    assert not page.has(f"вопрос {TURNS + 4 - AT_ONCE:02d}")
    assert page.has(f"вопрос {TURNS + 5 - AT_ONCE:02d}")
    await page.connect()
    assert not page.has("вопрос 04")
    assert page.has("вопрос 05")

    await page.press("Показать раньше")
    await until(lambda: page.has("вопрос 00"))

    feed = next(one for one in page.elements if "talk" in one._classes)
    boxes = list(feed.default_slot.children)
    assert len(boxes) == TURNS + 5
    texts = [[one.text for one in box.descendants() if getattr(one, "text", "").startswith("вопрос")] for box in boxes]  # type: ignore[attr-defined]
    assert texts == [[f"вопрос {number:02d}"] for number in range(TURNS + 5)]
    assert not page.find("Показать раньше").visible


@pytest.mark.req("C-14")
async def test_a_late_decision_joins_its_turn_when_that_is_shown(made: ConsoleWorld) -> None:
    """Before, it stands by itself; nothing is shown twice."""
    card = await ask(made.world)
    for number in range(TURNS):
        put_turn(made.world, CHAT, f"вопрос {number:02d}")
    await decide(made.world, card)
    page = await made.open(TALK, ANNA)
    await page.connect()
    assert page.read_texts().count("Одобрено") == 1
    assert not page.has("подними сумму сделки 481")

    await page.press("Показать раньше")
    await until(lambda: page.has("подними сумму сделки 481"))

    assert page.read_texts().count("Одобрено") == 1


@pytest.mark.req("C-14")
def test_the_beginning_of_the_shown_turns_is_looked_for_within_bounds() -> None:
    """A stream with no message at all is not read to its beginning."""
    store = memory_store()
    world = _a_bare_world(store)
    put(world, CHAT, MessageReceived(turn_id="t1", text="раз"), *[ModelFailed(turn_id="t1", iteration=1, reason="x")] * MOST_SCANNED)

    assert find_start(store, f"session:{CHAT}", MOST_SCANNED + 2) == 2
    assert find_start(store, f"session:{CHAT}", 3) == 1


@pytest.mark.req("C-39")
async def test_hostile_text_is_text_in_conversations(made: ConsoleWorld) -> None:
    """As a request, a thought, an answer, and in the list; a long one is cut, which shows."""
    long = HOSTILE + "я" * 1_000_000
    put(
        made.world,
        CHAT,
        MessageReceived(turn_id="t1", text=long, quoted=long),
        ModelAnswered(turn_id="t1", iteration=1, text=f"THOUGHT: {long}\nASSISTANT: {HOSTILE}", model=HOSTILE),
        TurnFinished(turn_id="t1", reason="answered", text=long, lists=[{"rows": [[HOSTILE, HOSTILE], ["deal:0", HOSTILE]]}]),
    )

    page, listed = await made.open(TALK, ANNA), await made.open("/conversations", ANNA)

    assert page.has(HOSTILE.strip())
    assert listed.has("<img src=x onerror=alert(1)>")
    assert max(len(text) for text in (*page.read_texts(), *listed.read_texts())) <= LONGEST + 1
    assert any(text.endswith("…") for text in page.read_texts())
    for one in (page, listed):
        assert not [
            element
            for element in one.elements
            if type(element).__name__ in {"Html", "Markdown", "Mermaid"} or element.props.get("innerHTML")
        ]
        assert not [link for link in one.elements if str(link.props.get("href", "")).startswith("javascript")]


@pytest.mark.req("C-15")
async def test_no_name_of_a_method_stands_in_an_answer(made: ConsoleWorld) -> None:
    """What an answer proposed is kept for later prompts by the names of methods; people read of it on the cards."""
    proposed = {"place": "proposed", "total": 1, "rows": [["deal:481", "crm.deal.delete · Ромашка"]]}
    read = {"place": "1.1", "total": 1, "rows": [["deal:481", "Ромашка · 120 000 ₽"]]}
    put(made.world, CHAT, MessageReceived(turn_id="t1", text="удали"))
    put(made.world, CHAT, TurnFinished(turn_id="t1", reason="answered", text="Предлагаю.", lists=[read, proposed]))
    page = await made.open(f"/conversations/{CHAT}", ANNA)

    assert page.has("Ромашка · 120 000 ₽")
    assert not page.has("crm.deal.delete")


async def test_a_report_that_the_api_answered_with_stands_as_a_picture(made: ConsoleWorld) -> None:
    """Beside its words; in both themes, of which the page shows its own."""
    part = ReportPart(report_id="0123456789ab", answer=make_answer("bars", make_rows(["Борис"], [3e6])))
    put(
        made.world,
        "http:site:1",
        MessageReceived(turn_id="t1", text="сколько"),
        AnswerGiven(cause="t1", kind="reply", outbox_key="", body=Reply(parts=(part,)).model_dump(mode="json")),
    )
    page = await made.open("/conversations/http:site:1", OLGA)
    assert len([one for one in page.elements if "picture" in one.classes]) == 2
    assert page.has("Выручка по менеджерам")


async def test_an_answer_of_before_reports_stands_as_it_was_given(made: ConsoleWorld) -> None:
    """Such a list was counted by a field: its rows are groups, and their first column has a heading."""
    rows = [
        {"label": "Борис", "url": "", "target": "user:8", "cells": ["17", "6 080 000 ₽"]},
        {"label": "не указано", "url": "", "target": "", "cells": ["2", "—"]},
    ]
    table = {
        "kind": "table", "rows": rows, "shown": 2, "total": 19, "sum_text": "6 080 000 ₽", "columns": ["Количество", "Сумма"],
        "heading": "Менеджер", "is_grouped": True, "is_prose": False, "groups": 2, "first": 1, "place": "1.1",
    }  # fmt: skip
    body = {**Reply().model_dump(mode="json"), "parts": [{"kind": "text", "text": "По менеджерам:"}, table]}
    put(
        made.world,
        "http:site:1",
        MessageReceived(turn_id="t1", text="сколько сделок по менеджерам"),
        AnswerGiven(cause="t1", kind="reply", outbox_key="", body=body),
    )
    page = await made.open("/conversations/http:site:1", OLGA)
    assert page.has("Менеджер · Количество · Сумма")
    assert page.has("2. не указано · 2 · —")
    assert page.has("Всего 19 на 6 080 000 ₽")
