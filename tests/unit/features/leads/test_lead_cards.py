"""A request above a limit: in both chats, decided once, by somebody entitled; told in both."""

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.gate.call.policy import Policy
from tests.unit.features.leads.leads_kit import GLEB, LIMIT, PAIR, Department, a_department, ask_for, by_chat, gone
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, VERA, World, card, codes_of, message, press, raise_sum, reply


async def test_the_card_is_shown_to_the_lead_too_and_the_requester_waits(department: World) -> None:
    """Both in the commit that ends the turn; the lead's copy says where presses go, the requester's for whom it waits."""
    department.model.will(reply(raise_sum(2_500_000), text="Готовлю."))
    await department.work(message("подними сумму"))
    cards = {row.session: row for row in department.outbox() if row.kind == "card"}
    assert set(cards) == {CHAT, VERA.key}
    assert (cards[CHAT].body["told_names"], "home" in cards[CHAT].body) == (["Вера"], False)
    assert (cards[VERA.key].body["home"], cards[VERA.key].body["requested_by_name"]) == (CHAT, "Анна")
    assert cards[CHAT].key == cards[VERA.key].key
    event = department.events("ConfirmationRequested")[0]
    assert (event.data["lead"], event.data["four_eyes"], event.data["told"]) == (True, False, [VERA.key])
    assert event.data["policy"] == department.gate.policy.digest


async def test_below_the_limit_nothing_is_different(department: World) -> None:
    """One card, decided by the one who asked."""
    entry = await ask_for(department, 1_500_000)
    await department.work(press(entry))
    assert by_chat(department.outbox()) == {CHAT: ["toast:toast-running", "card:executed"]}


async def test_the_lead_decides_and_both_chats_show_it(department: World, entry: dict[str, Any]) -> None:
    """The call runs once; the one who asked is told in words, since an edited card says nothing aloud."""
    await department.work(press(entry, actor=VERA))
    told = by_chat(department.outbox())
    assert told == {CHAT: ["card:executed", "lead-approved"], VERA.key: ["toast:toast-running", "card:executed"]}
    assert len(department.portal.ledger) == 1
    started = department.events("CallStarted")[0].data
    assert (started["approved_by"], started["policy"], started["writes"]) == (VERA.key, department.gate.policy.digest, 1)


@pytest.mark.parametrize(("actor", "code"), [(ANNA, "lead-only"), (BORIS, "lead-only")])
async def test_managers_cannot_approve_it(department: World, entry: dict[str, Any], actor: Actor, code: str) -> None:
    """Neither the one who asked nor a colleague."""
    await department.work(press(entry, actor=actor))
    assert f"toast:{code}" in by_chat(department.outbox())[CHAT]
    assert department.portal.ledger == []


async def test_the_requester_may_take_it_back(department: World, entry: dict[str, Any]) -> None:
    """«Отменить» closes both cards, and a lead who presses then is told who it was."""
    await department.work(press(entry, approve=False))
    assert by_chat(department.outbox()) == {CHAT: ["toast:toast-denied", "card:denied"], VERA.key: ["card:denied"]}
    await department.work(press(entry, actor=VERA))
    late = department.outbox()
    assert by_chat(late)[VERA.key][0] == "toast:card-already-denied"
    assert next(row.body["notice"]["args"]["who"] for row in late if row.kind == "toast") == "Анна"
    assert department.portal.ledger == []


async def test_of_two_presses_at_once_one_wins_and_the_other_is_told_who(tmp_path: Path) -> None:
    """From both doors in the same moment."""
    async with a_department(tmp_path, department=Department(everybody=[ANNA, VERA, GLEB], leads={})) as world:
        entry = await ask_for(world)
        async with world.working():
            presses = (press(entry, actor=VERA), press(entry, actor=GLEB, approve=False))
            await asyncio.gather(*(world.orchestrator.receive([row]) for row in presses))
            await world.idle()
        rows = world.outbox()
        toasts = {row.session.removesuffix(":toast"): row.body["notice"] for row in rows if row.kind == "toast"}
        won = card(await world.session(), entry["confirmation_id"])
        winner, loser = (VERA, GLEB) if won.status == "executed" else (GLEB, VERA)
        assert toasts[winner.key]["code"] in {"toast-running", "toast-denied"}
        assert toasts[loser.key]["code"].startswith("card-already-")
        assert toasts[loser.key]["args"]["who"] == winner.name
        assert len(world.portal.ledger) == (1 if winner is VERA else 0)
        assert {row.session for row in rows if row.kind == "card"} == {CHAT, VERA.key, GLEB.key}


async def test_a_lead_approves_their_own_request_but_never_alone_where_two_are_demanded(tmp_path: Path) -> None:
    """The limit of a manager is not that of a lead; two people are two people, not two accounts."""
    async with a_department(tmp_path) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними", actor=VERA, key=VERA.key))
        own = next(row.body for row in world.outbox() if row.kind == "card")
        assert "told" not in own
        await world.work(press(own, actor=VERA, key=VERA.key))
        assert len(world.portal.ledger) == 1
    second = VERA.model_copy(update={"key": "tg:77"})
    (tmp_path / "two").mkdir()
    async with a_department(tmp_path / "two", policy=PAIR, department=Department(everybody=[VERA, second, GLEB])) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними", actor=VERA, key=VERA.key))
        shown = world.outbox()
        entry = next(row.body for row in shown if row.kind == "card")
        assert {row.session for row in shown if row.kind == "card"} == {VERA.key, GLEB.key}
        for actor in (VERA, second):
            await world.work(press(entry, actor=actor, key=VERA.key))
            assert "toast:four-eyes" in by_chat(world.outbox())[VERA.key]
        assert world.portal.ledger == []
        await world.work(press(entry, actor=GLEB, key=VERA.key))
        assert len(world.portal.ledger) == 1


async def test_a_deputy_decides_while_the_lead_is_away(tmp_path: Path) -> None:
    """With the lead's role and sight, in their own chat; when the lead is back, no more."""
    deputy = BORIS
    department = Department(absent={VERA.key: gone(date(2026, 11, 21), deputy)})
    async with a_department(tmp_path, department=department) as world:
        entry = await ask_for(world)
        assert entry["told"] == [deputy.key]
        department.absent.clear()
        await world.work(press(entry, actor=deputy))
        assert by_chat(world.outbox())[deputy.key][0] == "toast:lead-only"
        department.absent[VERA.key] = gone(date(2026, 11, 21), deputy)
        await world.work(press(entry, actor=deputy))
        assert by_chat(world.outbox())[deputy.key][0] == "toast:toast-running"
        assert len(world.portal.ledger) == 1


async def test_where_no_lead_is_known_it_is_said(tmp_path: Path) -> None:
    """The card stays in its chat, and the person knows why nobody comes."""
    async with a_department(tmp_path, department=Department(everybody=[ANNA, BORIS])) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними"))
        rows = world.outbox()
        assert "lead-nobody" in [code for row in rows for code in codes_of(row)]
        assert {row.session for row in rows} == {CHAT}


async def test_a_second_tap_is_asked_for_only_where_the_first_one_was(tmp_path: Path) -> None:
    """The requester's card does not begin to ask anything."""
    async with a_department(tmp_path, policy={**LIMIT, "sum_jump": 10}) as world:
        entry = await ask_for(world, 25_000_000)
        assert entry["taps"] == 2
        await world.work(press(entry, actor=VERA))
        stages = {row.session: row.body["stage"] for row in world.outbox() if row.kind == "card"}
        assert stages == {CHAT: 1, VERA.key: 2}


async def test_what_was_approved_under_an_old_policy_is_judged_by_the_new_one(tmp_path: Path) -> None:
    """A card of the requester's own, pressed after the limit came: it closes, and a new one goes to the lead."""
    milder = {"rules": [{**LIMIT["rules"][0], "then": "ask"}]}  # the same sentence, another demand
    async with a_department(tmp_path, policy=milder) as world:
        entry = await ask_for(world)
        assert not entry.get("told")
        world.gate._deps = _with_policy(world.gate._deps, LIMIT)
        await world.work(press(entry))
        cards = {row.session: row.body["status"] for row in world.outbox() if row.kind == "card"}
        assert cards == {CHAT: "requested", VERA.key: "requested"}
        assert world.portal.ledger == []
        new = world.events("ConfirmationRequested")[-1].data
        assert (new["lead"], new["replaces"], new["policy"]) == (True, entry["confirmation_id"], world.gate.policy.digest)


async def test_a_refusing_rule_that_came_meanwhile_refuses_at_the_press(tmp_path: Path) -> None:
    """Approved or not, it does not run, and the card says the owner's sentence."""
    async with a_department(tmp_path, policy={}) as world:
        entry = await ask_for(world)
        world.gate._deps = _with_policy(world.gate._deps, {"rules": [{"entity": "deal", "then": "refuse", "why": "Сделки закрыты"}]})
        await world.work(press(entry))
        shown = next(row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "refused")
        assert (shown["code"], shown["args"]["why"]) == ("gate-rule-refuses", "Сделки закрыты")
        assert world.portal.ledger == []


def _with_policy(deps: Any, keys: dict[str, Any]) -> Any:
    from dataclasses import replace  # noqa: PLC0415 - as its only user

    from orchestrator.features.leads.live_policy import FixedPolicy  # noqa: PLC0415 - as above

    return replace(deps, policies=FixedPolicy(Policy.model_validate(keys)))


async def test_time_over_closes_both_cards_and_tells_both(department: World) -> None:
    """The one who waited and the one who did not come to it; the reminder's timer goes too."""
    await ask_for(department)
    department.clock.advance(timedelta(hours=24, seconds=1))
    await department.work()
    told = by_chat(department.outbox())
    assert told == {CHAT: ["card:expired", "lead-expired"], VERA.key: ["card:expired", "lead-expired-yours"]}
    assert department.sql.list_due_timers(NOW + timedelta(days=3)) == []
