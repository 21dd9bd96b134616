"""Cards in the console: what is seen, what counts, what never does, and that Telegram and the console see the same."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.access.access import Person
from bot.console.approvals.drawing import show_state
from bot.console.approvals.shown_cards import build_shown_card
from bot.console.widgets import LONGEST
from bot.http_api.approvals.card_models import to_confirmation
from bot.i18n.translate import Translator
from orchestrator.reports.cards import load_cards
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.reading.sentences import describe_event
from orchestrator.reports.viewer import Viewer
from state.journal.freeze_switch import SwitchOperator
from state.model.card import Card
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, ConsoleWorld, OpenPage, a_console
from tests.unit.spine_kit import CHAT, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Held, lost

HOSTILE = "<img src=x onerror=alert(1)> **b** [a](javascript:alert(1)) \u202etxt"
NAMES = {481: "Ромашка", 482: "Вектор"}
SECOND_ACCOUNT = Person(telegram_id=1016, name="Анна (второй)", role="lead", bitrix_user_id=7)


@asynccontextmanager
async def a_desk(folder: Path, *, people: tuple[Person, ...] = (OLGA, VERA, ANNA, BORIS), **more: Any) -> AsyncIterator[ConsoleWorld]:
    """The product at work, with a console in front."""
    async with a_console(folder, people=people, **more) as made, made.world.working():
        yield made


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    """The product at work, with its four people."""
    async with a_desk(tmp_path) as made:
        yield made


async def ask(made: ConsoleWorld, *steps: Mapping[str, Any], person: Person = ANNA, text: str = "подними сумму сделки 481") -> Card:
    """Somebody writes in their private chat; the newest card of it."""
    made.world.model.will(reply(*(steps or (raise_sum(),))))
    key = f"tg:{person.telegram_id}"
    await made.world.orchestrator.receive([message(text, actor=person.to_actor(), key=key)])
    await made.world.idle()
    return (await load_cards(made.world.store, key))[-1].entry


def written(made: ConsoleWorld) -> list[str]:
    """What the portal was made to change."""
    return [method for method, _ in made.world.portal.ledger]


def offers(page: OpenPage) -> list[str]:
    """The names of the buttons that approve a card."""
    names = [str(one.props.get("aria-label", "")) for one in page.elements]
    return [name for name in names if name.startswith(("Выполнить:", "Да, выполнить:"))]


@pytest.mark.req("C-16")
async def test_a_card_is_told_as_in_telegram(made: ConsoleWorld) -> None:
    """Title, before → after, reasons, requester and deadline of the list are those of the view from which Telegram draws."""
    await ask(made)
    [found] = await load_cards(made.world.store, CHAT)
    expected = to_confirmation(found, Viewer(actor=ANNA.to_actor(), deps=made.world.gate.deps), Translator("ru"))
    page = await made.open("/approvals", ANNA)

    for text in ("Изменить сделку", "«Ромашка»", "Сумма", "1\u00a0000\u00a0000\u00a0₽", "1\u00a0200\u00a0000\u00a0₽", "Просит Анна"):
        assert page.has(text), text
    assert all(page.has(reason) for reason in expected.reasons)
    assert page.find("Выполнить")
    assert [one.props["href"] for one in page.elements if str(one.props.get("href", "")).endswith("/crm/deal/details/481/")]


@pytest.mark.req("C-16")
async def test_a_card_that_takes_a_change_back_says_so(made: ConsoleWorld) -> None:
    """As in Telegram: whoever decides knows that values return to what they were."""
    await ask(made)
    [found] = await load_cards(made.world.store, CHAT)
    viewer, tr = Viewer(actor=ANNA.to_actor(), deps=made.world.gate.deps), Translator("ru")
    undo = replace(found, entry=replace(found.entry, slot=f"undo:{found.entry.slot}"))
    page = await made.open("/approvals", ANNA)
    assert not page.has(page.visit.say("card-undo"))
    with page.visit.page:
        show_state(page.visit, build_shown_card(undo, viewer, tr))

    assert page.has(page.visit.say("card-undo"))


@pytest.mark.req("C-7", "C-16")
async def test_an_approval_runs_the_call_once_and_says_where_it_was_made(made: ConsoleWorld) -> None:
    """The portal is changed once, the page says so, and "console" stands in journal and log."""
    await ask(made)
    page = await made.open("/approvals", ANNA)
    await page.press("Выполнить")
    await made.tell_change()

    assert written(made) == ["crm.deal.update"]
    assert page.has(page.visit.say("console-approvals-executed"))
    assert page.has(page.visit.say("console-approvals-none-waiting"))
    [approved] = made.world.events("ConfirmationApproved")
    assert (approved.data["approved_by"], approved.data["via"]) == ("tg:1007", "console")
    assert '"via":"console"' in made.world.audit()
    assert "(tg:1007) in the console" in describe_event(approved, Narrator(lambda code, _: code))
    assert page.visit.say("history-via", via="console") == "в консоли"
    assert [row.body["status"] for row in made.world.outbox() if row.kind == "card"][-1] == "executed"


@pytest.mark.req("C-16")
async def test_a_denial_keeps_its_reason(made: ConsoleWorld) -> None:
    """The dialog takes the reason, the journal keeps it, and nothing is sent."""
    await ask(made)
    page = await made.open("/approvals", VERA)
    await page.press("Отклонить")
    await page.enter(page.visit.say("console-approvals-reason"), "не сейчас")
    await page.press(page.visit.say("console-approvals-deny-now"))

    [denied] = made.world.events("ConfirmationDenied")
    assert (denied.data["denied_by"], denied.data["reason"], denied.data["via"]) == ("tg:1006", "не сейчас", "console")
    assert written(made) == []


@pytest.mark.req("C-16")
async def test_what_cannot_be_undone_is_asked_for_twice(tmp_path: Path) -> None:
    """The first click sends nothing, and neither does going back; the second confirmation runs it."""
    async with a_desk(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as made:
        await ask(made, step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
        page = await made.open("/approvals", ANNA)
        await page.press(page.visit.say("console-approvals-approve-danger"))
        assert written(made) == []
        await page.press(page.visit.say("console-approvals-second-now"))

        assert written(made) == ["crm.deal.delete"]


@pytest.mark.req("C-16", "C-40")
async def test_an_open_question_stays_about_the_card_that_it_shows(tmp_path: Path) -> None:
    """Whoever presses two dangerous cards quickly confirms the one in the dialog; the other waits, and says that nothing was sent."""
    async with a_desk(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as made:
        await ask(made, step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
        await ask(made, step("crm.deal.delete", {"id": 482}), text="удали сделку 482")
        page = await made.open("/approvals", ANNA)
        both = [one for one in page.elements if str(one.props.get("aria-label", "")) in offers(page)]
        assert len(both) == 2
        for button in both:
            await page.act(button, "click")
        assert page.has(page.visit.say("console-approvals-second-later"))
        await page.press(page.visit.say("console-approvals-second-now"))

        assert [NAMES[params["id"]] in both[0].props["aria-label"] for _, params in made.world.portal.ledger] == [True]


@pytest.mark.req("C-16", "C-40")
async def test_a_denial_is_of_the_card_whose_dialog_is_open(tmp_path: Path) -> None:
    """The answer to the first press of another card, which comes meanwhile, does not turn the dialog to that card."""
    async with a_desk(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as made:
        await ask(made, step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
        await ask(made, step("crm.deal.delete", {"id": 482}), text="удали сделку 482")
        page = await made.open("/approvals", ANNA)
        yes = next(one for one in page.elements if str(one.props.get("aria-label", "")) in offers(page))
        no = page.find("Отклонить")  # of the last card
        await page.act(no, "click")
        await page.act(yes, "click")
        await page.press(page.visit.say("console-approvals-deny-now"))

        [denied] = made.world.events("ConfirmationDenied")
        [card] = [one.entry for one in await load_cards(made.world.store, CHAT) if one.entry.status == "denied"]
        assert denied.data["confirmation_id"] == card.confirmation_id
        assert NAMES[card.params["id"]] in no.props["aria-label"]
        assert NAMES[card.params["id"]] not in yes.props["aria-label"]
        assert written(made) == []


@pytest.mark.req("C-6", "C-16")
async def test_four_eyes_and_the_same_person_hold(tmp_path: Path) -> None:
    """Neither whoever asked nor the same employee with another account and the role of a lead may approve; another lead may."""
    pair = {"rules": [{"entity": "deal", "above": 1_100_000, "then": "two_people", "why": "Решают двое"}]}
    async with a_desk(tmp_path, people=(OLGA, VERA, ANNA, SECOND_ACCOUNT), policy=pair) as made:
        card = await ask(made)
        for person in (ANNA, SECOND_ACCOUNT):
            page = await made.open(f"/approvals/{card.confirmation_id}", person)
            assert offers(page) == []
            assert page.has("Такую сумму подтверждает руководитель")
        other = await made.open(f"/approvals/{card.confirmation_id}", VERA)
        await other.press("Выполнить")

        assert written(made) == ["crm.deal.update"]


@pytest.mark.req("C-6")
async def test_the_gate_refuses_the_same_person_even_if_the_page_offered_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that showed the button by mistake decides nothing: the gate refuses, and the page says why."""
    pair = {"rules": [{"entity": "deal", "above": 1_100_000, "then": "two_people", "why": "Решают двое"}]}
    async with a_desk(tmp_path, people=(OLGA, VERA, ANNA, SECOND_ACCOUNT), policy=pair) as made:
        card = await ask(made)
        with monkeypatch.context() as patched:
            patched.setattr(Viewer, "find_objection", lambda *_, **__: None)
            page = await made.open(f"/approvals/{card.confirmation_id}", SECOND_ACCOUNT)
        await page.press("Выполнить")

        assert written(made) == []
        assert [event.data["code"] for event in made.world.events("DecisionRefused")] == ["four-eyes"]
        assert page.has("Такую сумму подтверждает руководитель")


@pytest.mark.req("C-16", "C-40")
async def test_a_double_click_and_two_tabs_decide_once(made: ConsoleWorld) -> None:
    """Two clicks in one tab and one in another at the same time are one call, and all are told the same."""
    await ask(made)
    one, two = await made.open("/approvals", ANNA), await made.open("/approvals", ANNA)
    await asyncio.gather(one.press("Выполнить"), one.press("Выполнить"), two.press("Выполнить"))

    assert written(made) == ["crm.deal.update"]
    assert all(page.has(page.visit.say("console-approvals-executed")) for page in (one, two))
    assert made.world.events("DecisionRefused") == []


@pytest.mark.req("C-17")
async def test_the_first_decision_wins_everywhere(made: ConsoleWorld) -> None:
    """A press in Telegram closes the card on the open page; a click that comes too late is told who decided."""
    card = await ask(made)
    page, stale = await made.open("/approvals", VERA), await made.open("/approvals", OLGA)
    late = stale.find("Выполнить")
    await made.world.orchestrator.receive([press(card, actor=ANNA.to_actor())])
    await made.world.idle()
    await stale.act(late, "click")
    await made.tell_change()

    assert written(made) == ["crm.deal.update"]
    assert stale.has("Уже решено (Анна)")
    assert page.has(page.visit.say("console-approvals-none-waiting"))


@pytest.mark.req("C-16")
async def test_a_changed_record_brings_the_new_card(made: ConsoleWorld) -> None:
    """Nothing is sent, the page says so, and the new card stands there with the present values."""
    await ask(made)
    page = await made.open("/approvals", ANNA)
    made.world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    await page.press("Выполнить")
    await made.tell_change()

    assert written(made) == []
    assert page.has(page.visit.say("console-approvals-changed"))
    assert page.has("1\u00a0100\u00a0000\u00a0₽")
    await page.press("Выполнить")
    assert written(made) == ["crm.deal.update"]


@pytest.mark.req("C-16")
async def test_a_lost_answer_is_said_to_be_unknown(made: ConsoleWorld) -> None:
    """It may have happened: the page says so and the card stands among those of unknown outcome."""
    await ask(made)
    made.world.portal.will("crm.deal.update", lost)
    page = await made.open("/approvals", ANNA)
    await page.press("Выполнить")

    assert page.has(page.visit.say("console-approvals-unknown"))
    assert (await made.open("/approvals?state=unknown", ANNA)).has("Ромашка")


@pytest.mark.req("C-16")
async def test_a_call_that_takes_long_is_said_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page answers in time, and shows the outcome when there is one."""
    monkeypatch.setattr("bot.http_api.approvals.confirmations.WITHIN", 1.0)  # within which a busy machine comes to the call, too
    async with a_desk(tmp_path) as made:
        card, held = await ask(made), Held()
        made.world.portal.will("crm.deal.update", held)
        page = await made.open(f"/approvals/{card.confirmation_id}", ANNA)
        await page.press("Выполнить")
        assert page.has(page.visit.say("console-approvals-running"))
        held.release.set()
        await made.world.idle()
        await made.tell_change()

        assert page.has(page.visit.say("console-approvals-state-executed"))


@pytest.mark.req("C-16")
async def test_an_expired_and_a_frozen_card_are_not_sent(made: ConsoleWorld) -> None:
    """While writing is stopped the page says by whom and why; after its time the card is over."""
    await ask(made)
    switch = made.world.gate.deps.switch
    page = await made.open("/approvals", ANNA)
    await switch.freeze(SwitchOperator(key="tg:1001", name="Ольга", via="tg", at=made.world.clock.now()), "переезд")
    await page.press("Выполнить")
    assert page.has("переезд")
    await switch.release(SwitchOperator(key="tg:1001", name="Ольга", via="tg", at=made.world.clock.now()))
    made.world.clock.advance(timedelta(hours=25))
    await page.press("Выполнить")

    assert page.has(page.visit.say("console-approvals-expired"))
    assert written(made) == []


@pytest.mark.req("C-16", "C-41")
async def test_a_foreign_card_is_not_there(made: ConsoleWorld) -> None:
    """Another manager gets the page for what does not exist, and the list has nothing."""
    card = await ask(made)
    foreign = await made.open(f"/approvals/{card.confirmation_id}", BORIS)
    unknown = await made.open("/approvals/0123456789", BORIS)

    assert foreign.read_texts() == unknown.read_texts()
    assert not foreign.has("Ромашка")
    assert not (await made.open("/approvals", BORIS)).has("Ромашка")
    assert not (await made.open("/approvals?state=any", BORIS)).has("Ромашка")


@pytest.mark.req("C-16")
async def test_the_steps_of_a_plan_stand_together_and_are_decided_one_by_one(made: ConsoleWorld) -> None:
    """One click approves one step; the other still waits."""
    await ask(made, raise_sum(1_100_000), raise_sum(5, deal=482), text="сумма 481 и 482")
    page = await made.open("/approvals", ANNA)
    assert page.has("План: 2 шага")
    await page.act(page.find("Выполнить"), "click")
    await made.tell_change()

    assert len(written(made)) == 1
    assert page.find("Выполнить")


@pytest.mark.long
@pytest.mark.req("C-16", "C-39")
async def test_hostile_text_stays_text_and_what_is_cut_cannot_be_approved(made: ConsoleWorld) -> None:
    """Markup, marks of direction and a megabyte stand as text; the button comes only when all of it was shown."""
    await ask(made, step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": HOSTILE + "я" * 1_000_000}}), text="запиши комментарий")
    page = await made.open("/approvals", ANNA)

    assert page.has("<img src=x onerror=alert(1)>")
    assert "<img src=x" not in page.html
    assert max(map(len, page.read_texts())) <= LONGEST + 1
    assert offers(page) == []
    await page.press(page.visit.say("console-approvals-show-whole"))
    assert max(map(len, page.read_texts())) > 1_000_000
    assert page.find("Выполнить")


@pytest.mark.req("C-16")
async def test_decided_cards_are_listed_by_state(made: ConsoleWorld) -> None:
    """A denied card stands among the denied and among all, and no more among those that wait."""
    card = await ask(made)
    await made.world.orchestrator.receive([press(card, approve=False, actor=ANNA.to_actor())])
    await made.world.idle()

    shown = {
        state: (await made.open(f"/approvals?state={state}", VERA)).has("Ромашка") for state in ("requested", "any", "denied", "executed")
    }
    assert shown == {"requested": False, "any": True, "denied": True, "executed": False}
