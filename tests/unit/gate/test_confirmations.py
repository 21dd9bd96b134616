"""The queue of cards: what they keep, when a decision counts, how they close."""

from datetime import timedelta
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce, find_objection
from orchestrator.sessions.session import Session
from state.clock import format_iso
from state.events.fold import list_open_confirmations
from state.journal.store import EffectConflict
from state.model.card import Card
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, World, a_world, card, effect

DELETE = ("crm.deal.delete", {"id": 481})


def decision(entry: Card, **more: Any) -> Decision:
    return Decision(
        confirmation_id=entry.confirmation_id, **{"nonce": entry.nonce, "approve": True, "actor": ANNA, "via": "button", **more}
    )


@pytest.mark.req("S004-9", "S004-53", "S004-X3")
async def test_a_card_keeps_what_is_needed_to_decide_and_to_run(world: World, session: Session, entry: Card) -> None:
    """Call, hash, before-image, who asked, when it ends, and a timer for that end, in one commit."""
    row = await session.find_effect(entry.effect_id)
    assert (row.status, row.fingerprint, row.call["confirmation_id"]) == ("requested", entry.fingerprint, entry.confirmation_id)
    assert row.call["actor"]["key"] == ANNA.key
    assert entry.expires_at == format_iso(NOW + timedelta(hours=24))
    timers = world.sql.list_due_timers(NOW + timedelta(days=2))
    assert [(timer.kind, timer.session, timer.due_at) for timer in timers] == [("confirmation_expires", CHAT, NOW + timedelta(hours=24))]
    assert list_open_confirmations(session.state) == [entry]


@pytest.mark.req("G2")
async def test_each_card_has_its_own_nonce(world: World, session: Session) -> None:
    """Two cards never share id or nonce, and both fit into a button."""
    cards = [
        await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": n}}, slot=f"t1/1/{n}"))
        for n in range(1, 9)
    ]
    assert len({entry.nonce for entry in cards}) == len({entry.confirmation_id for entry in cards}) == 8
    assert all(len(f"c1:{entry.confirmation_id}:{entry.nonce}:y") <= 64 for entry in cards)


@pytest.mark.req("G2", "S004-X3")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, ""), ({"nonce": "00000000"}, "card-outdated"), ({"nonce": ""}, "card-outdated"), ({"nonce": "нонс\ud800🙂"}, "card-outdated"),
        ({"nonce": "x" * 5000}, "card-outdated"), ({"nonce": "00000000", "approve": False}, "card-outdated"),
    ],
)  # fmt: skip
async def test_only_the_nonce_of_the_card_counts(session: Session, entry: Card, more: dict[str, Any], code: str) -> None:
    """Anything else, forged or old, changes nothing."""
    found = find_objection(entry, decision(entry, **more), session)
    assert (found.code if found else "") == code


@pytest.mark.parametrize("status", ["approved", "denied", "expired", "superseded", "executed", "refused", "unknown"])
async def test_a_settled_card_says_how_it_stands(session: Session, entry: Card, status: str) -> None:
    """The sentence names the state, and who and when where that is known."""
    found = find_objection(
        entry.with_values(**{"status": status, f"{status}_at": format_iso(NOW), "approved_by_name": "Вера"}), decision(entry), session
    )
    assert found is not None
    by = {"by": "bot"} if status == "refused" else {}
    assert (found.code, found.args) == (f"card-already-{status}", {"who": "Вера", "at": format_iso(NOW), **by})


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("gate-already-so", "не выполнено, причина на карточке"),
        ("", "не выполнено"),
        ("ACCESS_DENIED", "Битрикс24 отказал"),
        ("refused", "Битрикс24 отказал"),
    ],
)
async def test_the_portal_is_blamed_only_for_what_it_said(session: Session, entry: Card, code: str, words: str) -> None:
    """What the gate refused was never asked of it."""
    found = find_objection(entry.with_values(status="refused", refused_at=format_iso(NOW), code=code), decision(entry), session)
    assert found is not None
    assert words in Translator("ru").translate_notice(found)
    assert ("Битрикс24" in Translator("ru").translate_notice(found)) == ("Битрикс24" in words)


async def test_time_over_counts_even_before_the_timer_has_run(world: World, session: Session, entry: Card) -> None:
    """At the very moment of its end a card is over."""
    world.clock.advance(timedelta(hours=24) - timedelta(seconds=1))
    assert find_objection(entry, decision(entry), session) is None
    world.clock.advance(timedelta(seconds=1))
    found = find_objection(entry, decision(entry), session)
    assert found.code == "card-expired"


async def test_what_cannot_be_undone_needs_two_taps(tmp_path: Any) -> None:
    """The first tap asks again, the second one runs; a denial needs one; the second nonce alone is no way around a wrong card."""
    async with a_world(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as world:
        session = await world.session()
        entry = await world.asked(session, effect(*DELETE), actor=VERA)
        assert entry.taps == 2
        first = await world.gate.decide_card(decision(entry, actor=VERA), mode="full", ledger=session)
        assert first.notice.code == "card-second-tap"
        assert world.portal.ledger == []
        assert card(session, entry.confirmation_id).status == "requested"
        wrong = await world.gate.decide_card(
            decision(entry, actor=VERA, nonce=calculate_second_nonce("00000000")), mode="full", ledger=session
        )
        assert wrong.notice.code == "card-outdated"
        second = await world.gate.decide_card(
            decision(entry, actor=VERA, nonce=calculate_second_nonce(entry.nonce)), mode="full", ledger=session
        )
        assert second.outcome.status == "succeeded"
        assert [method for method, _ in world.portal.ledger] == ["crm.deal.delete"]


async def test_a_dangerous_card_is_denied_with_one_tap(tmp_path: Any) -> None:
    """Saying no is never made harder."""
    async with a_world(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as world:
        session = await world.session()
        entry = await world.asked(session, effect(*DELETE), actor=VERA)
        found = await world.gate.decide_card(decision(entry, actor=VERA, approve=False), mode="full", ledger=session)
        assert found.notice.code == "card-denied"


@pytest.mark.req("S004-32", "S004-12")
async def test_a_denial_is_final_and_drops_the_timer(world: World, session: Session, entry: Card) -> None:
    """Denied in journal, state and effects table; nothing waits any more."""
    await confirmations.deny(entry, decision(entry, approve=False, reason="не надо"), session, ())
    await session.flush()
    after = card(session, entry.confirmation_id)
    assert (after.status, after.denied_by, after.denied_at, after.via, after.reason) == (
        "denied",
        ANNA.key,
        format_iso(NOW),
        "button",
        "не надо",
    )
    assert session.state.denied[entry.essence].by == "Анна"
    assert world.sql.list_due_timers(NOW + timedelta(days=2)) == []
    with pytest.raises(EffectConflict):
        await confirmations.approve(entry, decision(entry), session, ())


async def test_an_approval_is_recorded_once(world: World, session: Session, entry: Card) -> None:
    """The second record of the same approval is refused, before the first is stored and after."""
    await confirmations.approve(entry, decision(entry), session, ())
    with pytest.raises(EffectConflict):
        await confirmations.approve(entry, decision(entry), session, ())
    await session.flush()
    assert card(session, entry.confirmation_id).approved_by == ANNA.key
    assert world.sql.list_due_timers(NOW + timedelta(days=2)) == []
    with pytest.raises(EffectConflict):
        await confirmations.approve(entry, decision(entry), session, ())


async def test_expiry_never_takes_an_approved_call_away(session: Session, entry: Card) -> None:
    """Approved in the moment in which its time ended: the decision wins."""
    await confirmations.approve(entry, decision(entry), session, ())
    with pytest.raises(EffectConflict):
        await confirmations.expire(entry, session, ())
    row = await session.find_effect(entry.effect_id)
    assert row.status == "approved"


async def test_an_expired_card_can_never_run(session: Session, entry: Card) -> None:
    """Its effect is expired too."""
    await confirmations.expire(entry, session, ())
    assert card(session, entry.confirmation_id).status == "expired"
    with pytest.raises(EffectConflict):
        await confirmations.approve(entry, decision(entry), session, ())


async def test_a_superseded_card_closes_from_requested(session: Session, entry: Card) -> None:
    """The closing carries its event and the change that belongs to it."""
    close = confirmations.build_superseded_closing(entry, why="edited", by="c2")
    await session.commit(close.event, actor="system", effects=[close.change])
    after = card(session, entry.confirmation_id)
    assert (after.status, after.why, after.by) == ("superseded", "edited", "c2")
