"""✏: one value of a card changed by its person: a new call, a new card, a new consent; the old one never runs."""

import asyncio
import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.features.cards.field_input import replace_value, strip_marks
from orchestrator.features.cards.resubmit import submit_again
from orchestrator.turns import decisions
from state.events.cards import list_edits
from state.journal.store import EffectRow
from state.sql.erasure import KEPT_CALL_FIELDS
from tests.unit.features.cards.cards_kit import answer, asked, cards_of, opened, pressing, shown
from tests.unit.spine_kit import ANNA, BORIS, CHAT, World, press, raise_sum, step
from tests.unit.spine_portal import Held, lost

TWO = step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1200000, "ASSIGNED_BY_ID": 8}})


async def test_a_new_value_makes_a_new_card_and_the_old_one_is_replaced(world: World, entry: dict[str, Any]) -> None:
    """facts/telegram §5 "Edit": a new card with a new nonce; consent binds to exactly what the new one shows."""
    await world.work(pressing("edit", entry["confirmation_id"]))
    rows = world.outbox()
    assert [(row.kind, row.body.get("what")) for row in rows] == [("toast", None), ("edit", "value")]
    assert "Новое значение: Сумма" in shown(rows[1])
    assert "1 200 000" in shown(rows[1]).replace("\u00a0", " ")
    await world.work(answer(rows[1], "1,3 млн"))
    old, new = cards_of(world.outbox())
    assert (old["status"], old["why"], new["status"]) == ("superseded", "edited", "requested")
    assert new["nonce"] != entry["nonce"]
    await world.work(press(entry), press(entry, confirmation_id=new["confirmation_id"]))
    assert {"toast:card-already-superseded", "toast:card-outdated"} <= set(world.codes())
    assert world.portal.ledger == []
    await world.work(press(new))
    assert world.portal.ledger == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1300000}})]


async def test_of_several_fields_one_is_chosen_and_the_others_stay(world: World) -> None:
    entry = await asked(world, TWO)
    await world.work(pressing("edit", entry["confirmation_id"]))
    picker = world.outbox()[-1]
    assert [field["name"] for field in picker.body["fields"]] == ["Сумма", "Ответственный"]
    await world.work(pressing("field", entry["confirmation_id"], "0"))
    rows = world.outbox()
    assert [row.body.get("what") for row in rows if row.kind == "edit"] == ["told", "value"]
    await world.work(answer(rows[-1], "900 тысяч"))
    _, new = cards_of(world.outbox())
    await world.work(press(new))
    assert world.portal.ledger == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 900000, "ASSIGNED_BY_ID": 8}})]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("дорого", "ask"),
        ("", "edit-empty"),
        ("5 долларов", "edit-other-currency"),
        ("1 200 000", "edit-same"),
        ("1 000 000", "gate-already-so"),
    ],
)
async def test_a_wrong_value_is_told_and_asked_for_again(world: World, entry: dict[str, Any], words: str, code: str) -> None:
    """The card stays open, and the next answer counts; an answer to the first question does not any more."""
    first = await opened(world, entry)
    await world.work(answer(first, words))
    second = world.outbox()[-1]
    assert second.body["objection"]["code"] == code
    assert second.key != first.key
    await world.work(answer(first, "7"))
    assert world.codes() == ["edit-over"]
    await world.work(answer(second, "1 500 000"))
    assert [card["status"] for card in cards_of(world.outbox())] == ["superseded", "requested"]
    assert world.portal.ledger == []


@pytest.mark.parametrize(("locale", "said"), [("ru", "Сумма на карточке в рублях, а вы назвали её в долларах"), ("en", "in roubles")])
async def test_another_currency_is_told_in_words_with_the_request_that_works(world: World, locale: Any, said: str) -> None:
    """No code of a currency, and nothing of it is lost on the way."""
    question = await opened(world, await asked(world))
    await world.work(answer(question, "5000 долларов"))
    told = world.outbox()[-1].body["objection"]
    text = Translator(locale).translate(told["code"], **told["args"]).replace("\u00a0", " ")
    assert said in text
    assert "5 000" in text
    assert "RUB" not in text


@pytest.mark.parametrize("how", ["word", "button"])
async def test_who_changes_their_mind_leaves_everything_as_it_was(world: World, how: str) -> None:
    entry = await asked(world, TWO)
    await world.work(pressing("edit", entry["confirmation_id"]), pressing("field", entry["confirmation_id"], "0"))
    question = world.outbox()[-1]
    await world.work(answer(question, "Не менять!") if how == "word" else pressing("noedit", entry["confirmation_id"]))
    assert not [row for row in world.outbox() if row.kind == "card" and row.body["status"] != "requested"]
    await world.work(answer(question, "5"))
    assert world.codes() == ["edit-over"]
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1


async def test_two_edits_at_once_do_not_meet(world: World) -> None:
    """Two cards, two questions, answered the other way round."""
    await asked(world, raise_sum(1_200_000), raise_sum(700_000))
    session = await world.session(owner="reader")
    first, second = session.state.agent.confirmations.values()
    await session.close()
    one, two = await opened(world, first), await opened(world, second)
    await world.work(answer(two, "800 000"), answer(one, "1 100 000"))
    plans = [card for card in cards_of(world.outbox()) if card["status"] == "requested"]
    assert {card["confirmation_id"] for card in plans} == {first.confirmation_id}
    assert [one["status"] for one in plans[-1]["members"]] == ["requested", "requested"]
    session = await world.session(owner="reader")
    waiting = [card.params["fields"]["OPPORTUNITY"] for card in session.state.agent.confirmations.values() if card.status == "requested"]
    assert sorted(waiting) == [800_000, 1_100_000]


async def test_a_person_is_named_in_words(world: World) -> None:
    entry = await asked(world, step("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}}), text="отдай сделку 481 Борису")
    question = await opened(world, entry)
    await world.work(answer(question, "никто такой"))
    again = world.outbox()[-1]
    assert again.body["objection"]["code"] == "user-not-found"
    await world.work(answer(again, "Вера"))
    _, new = cards_of(world.outbox())
    await world.work(press(new))
    assert world.portal.ledger[0][1]["fields"] == {"ASSIGNED_BY_ID": 6}


async def test_a_sum_with_two_readings_is_chosen_by_a_button(world: World, entry: dict[str, Any]) -> None:
    question = await opened(world, entry)
    await world.work(answer(question, "1,500"))
    choice = world.outbox()[-1]
    assert len(choice.body["options"]) == 2
    ask = str(choice.body["ask"])
    await world.work(pressing("pick", entry["confirmation_id"], "1", "0"), pressing("pick", entry["confirmation_id"], ask, "9"))
    assert world.codes() == ["toast:edit-over", "toast:edit-over"]
    await world.work(pressing("pick", entry["confirmation_id"], ask, "1"))
    assert [card["status"] for card in cards_of(world.outbox())] == ["superseded", "requested"]


@pytest.mark.parametrize(
    ("words", "more", "code"),
    [
        (("edit",), {"actor": BORIS}, "edit-not-yours"),
        (("edit", "ffffffffff"), {}, "card-outdated"),
        (("field", "", "9"), {}, "card-outdated"),
        (("field", "", "x"), {}, "card-outdated"),
        (("noedit", ""), {}, "edit-over"),
        (("pick", "", "1", "0"), {}, "edit-over"),
        (("again", ""), {}, "card-waits-already"),
    ],
)
async def test_a_press_that_does_not_fit_is_answered_once_and_changes_nothing(
    world: World, entry: dict[str, Any], words: Sequence[str], more: Any, code: str
) -> None:
    """Data of a press is user input: a word too few, a number too large, another person."""
    filled = [words[0], *(word or entry["confirmation_id"] for word in words[1:])] if len(words) > 1 else [*words, entry["confirmation_id"]]
    await world.work(pressing(*filled, **more))
    assert [code for code in world.codes() if code.startswith("toast:")] == [f"toast:{code}"]
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1


async def test_a_card_that_is_decided_or_over_is_not_changed_any_more(world: World, entry: dict[str, Any]) -> None:
    """The press says how it stands; an answer that comes too late says so too."""
    question = await opened(world, entry)
    await world.work(press(entry))
    world.outbox()
    await world.work(pressing("edit", entry["confirmation_id"]), answer(question, "5"))
    assert world.codes() == ["toast:card-already-executed", "card:executed", "card-already-executed"]
    assert len(world.portal.ledger) == 1


async def test_a_batch_is_not_changed_by_one_answer(world: World) -> None:
    cmd = {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1", "b": "crm.deal.update?id=481&fields[ASSIGNED_BY_ID]=8"}
    entry = await asked(world, step("batch", {"cmd": cmd}))
    await world.work(pressing("edit", entry["confirmation_id"]))
    assert world.codes() == ["toast:edit-not-here"]


async def test_a_stop_between_the_new_card_and_the_end_of_the_old_one_leaves_one_card(world: World, entry: dict[str, Any]) -> None:
    """Killed after the new card was stored and before the old one was closed: the answer is worked again and makes no second card."""
    question = await opened(world, entry)
    row = answer(question, "1 300 000")
    session = await world.session(owner="dying")
    before = session.state.agent.confirmations[entry["confirmation_id"]]
    params = replace_value(strip_marks(before.params), "OPPORTUNITY", 1300000)
    await submit_again(before, params, f"edit:{row.id}", ANNA, session, world.tools, words="1 300 000")
    await session.close()
    assert len(world.events("ConfirmationRequested")) == 2
    await world.work(row)
    assert [card["status"] for card in cards_of(world.outbox())] == ["superseded", "requested"]
    assert len(world.events("ConfirmationRequested")) == 2
    assert list_edits((await world.session(owner="reader")).state) == {}


async def test_a_decision_in_the_very_moment_of_the_answer_wins(world: World, entry: dict[str, Any]) -> None:
    """While the answer is read the card is approved: the old call runs, the new card is never shown."""
    question = await opened(world, entry)
    session = await world.session(owner="racing")
    row = answer(question, "1 300 000")
    await world.put(row)
    taken = await world.store.take_inbox(CHAT, "express")
    assert taken is not None
    held = Held()
    world.portal.will("crm.deal.get", held)
    working = asyncio.ensure_future(world.tools.features.inbox["edit_value"](taken, session, world.tools))
    await held.arrived.wait()
    await decisions.run_decision(press(entry), session, world.tools)
    held.release.set()
    await working
    statuses = [card.status for card in session.state.agent.confirmations.values()]
    assert sorted(statuses) == ["executed", "superseded"]
    assert world.portal.ledger == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1200000}})]
    assert [row.body["status"] for row in world.outbox() if row.kind == "card"][-1] == "executed"
    await session.close()


async def test_the_person_who_lost_access_changes_nothing(world: World, entry: dict[str, Any]) -> None:
    question = await opened(world, entry)
    world.orchestrator.tools = dataclasses.replace(world.tools, refresh_actor=lambda actor: None)
    await world.work(answer(question, "5"))
    assert world.codes() == ["no-access-any-more"]
    assert len(world.events("ConfirmationRequested")) == 1


async def test_a_wish_nobody_decided_on_is_asked_for_once_more(world: World, entry: dict[str, Any]) -> None:
    """«Запросить заново»: a new request with its own card; a second press finds that card."""
    world.clock.advance(timedelta(hours=24, seconds=1))
    await world.work()
    world.outbox()
    await world.work(pressing("again", entry["confirmation_id"]))
    rows = world.outbox()
    (new,) = cards_of(rows)
    assert (new["status"], new["confirmation_id"] != entry["confirmation_id"]) == ("requested", True)
    await world.work(pressing("again", entry["confirmation_id"]))
    assert [card["confirmation_id"] for card in cards_of(world.outbox())] == [new["confirmation_id"]]
    await world.work(press(new))
    assert len(world.portal.ledger) == 1


async def test_the_call_of_an_erased_person_is_not_asked_for_again(world: World, entry: dict[str, Any]) -> None:
    """What it was is gone: nothing is submitted in its name, and whoever presses reads that the card is outdated."""
    world.clock.advance(timedelta(hours=24, seconds=1))
    await world.work()
    world.outbox()
    find = world.sql.find_effect

    def find_emptied(effect_id: str) -> EffectRow | None:
        row = find(effect_id)
        return row and dataclasses.replace(row, call={name: row.call[name] for name in KEPT_CALL_FIELDS if name in row.call}, outcome=None)

    world.sql.find_effect = find_emptied  # type: ignore[method-assign]
    await world.work(pressing("again", entry["confirmation_id"]))
    assert world.codes()[0] == "toast:card-outdated"
    assert (len(world.events("ConfirmationRequested")), world.events("StepRefused")) == (1, [])


async def test_a_call_of_unknown_outcome_is_never_repeated(world: World, entry: dict[str, Any]) -> None:
    world.portal.will("crm.deal.update", lost)
    await world.work(press(entry))
    world.outbox()
    await world.work(pressing("again", entry["confirmation_id"]))
    assert world.codes()[0] == "toast:card-already-unknown"
    assert len(world.events("ConfirmationRequested")) == 1
