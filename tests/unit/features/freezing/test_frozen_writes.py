"""While writes are frozen nothing is sent that changes anything: each way to a write says so, and what waited still waits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Pending
from orchestrator.features.freezing import freeze_switch
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.runtime import worker
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, merge_features
from state.journal import freeze_switch as stored_switch
from state.journal.freeze_switch import SwitchOperator
from state.journal.journal import load_state
from state.journal.store import OutboxRow, StoreUnwritable
from state.model.card import Card
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, World, _row, a_world, card, codes_of, command, effect, message, press, reply, step

OLGA = Actor(key="tg:1001", name="Ольга", role="admin", bitrix_user_id=1, sees="all")
HAND = SwitchOperator(key=OLGA.key, name=OLGA.name, via="tg", at=NOW)
SUM = ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}})
FREE = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Ромашка-2"}})
READ = ("crm.deal.get", {"id": 481})
LATER = ("reminder.add", {"text": "Позвонить", "at": "2026-11-22T12:00:00+03:00"})


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due by itself is found at once: administrators hear of a freeze in sessions of their own."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@dataclass
class Staff:
    """The access list, as far as it is asked here."""

    everybody: list[Actor]

    def list_people(self) -> Sequence[Actor]:
        return self.everybody

    def find_lead(self, key: str) -> str:
        return ""

    def find_absence(self, key: str) -> None:
        return None


def by_chat(rows: Sequence[OutboxRow]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.session, []).extend(codes_of(row))
    return found


def freeze(world: World, reason: str = "проверка") -> None:
    """By another process: this one is not told."""
    assert stored_switch.freeze_writes(world.sql, HAND, reason).changed


def release(world: World) -> None:
    assert stored_switch.release_writes(world.sql, HAND).changed


async def standing(world: World, entry: Card) -> Card:
    """The card as it stands now."""
    state, _ = await world.store.read(load_state, f"session:{CHAT}")
    return state.agent.confirmations[entry.confirmation_id]


def events(world: World, name: str) -> int:
    return len(world.events(name))


@pytest.mark.req("S004-28")
@pytest.mark.parametrize("known", [False, True], ids=["found by the transaction", "known to the process"])
@pytest.mark.parametrize(("wish", "ends"), [(FREE, "refused"), (READ, "succeeded"), (SUM, "card or refused")])
async def test_a_write_that_is_asked_for_is_refused_with_who_and_why(
    world: World, session: Session, wish: Any, ends: str, *, known: bool
) -> None:
    """Whether the process knows of the freeze or learns of it from the very transaction; reads go on."""
    await world.gate.deps.switch.find_freeze()  # sure for a second that writes may start
    freeze(world)
    if known:
        world.gate.deps.switch._free_at = None  # type: ignore[attr-defined]
    found = await world.submit(session, effect(*wish))
    if ends == "succeeded":
        assert found.status == "succeeded"
    elif wish is SUM and not known:
        assert isinstance(found, Pending)  # a card that waits does no harm
    else:
        assert (found.status, found.reason.code) == ("refused", "frozen")
        assert (found.reason.args["who"], found.reason.args["why"]) == ("Ольга", "проверка")
        assert "stopped" in found.detail
    assert world.portal.ledger == []
    assert events(world, "CallStarted") == 0


async def test_reminders_of_the_bot_itself_go_on(world: World, session: Session) -> None:
    """They write nothing to the portal."""
    freeze(world)
    found = await world.submit(session, effect(*LATER, kind="schedule"))
    assert found.status == "succeeded", found


@pytest.mark.req("S004-10")
@pytest.mark.parametrize("known", [True, False], ids=["known", "in this very moment"])
async def test_a_press_while_frozen_leaves_the_card_open_and_a_later_one_runs_it_once(
    world: World, session: Session, entry: Card, *, known: bool
) -> None:
    """The press is answered, nothing is sent; after the release the same card is approved by a new press, once."""
    await session.close()
    await world.gate.deps.switch.find_freeze()
    freeze(world)
    if known:
        world.gate.deps.switch._free_at = None  # type: ignore[attr-defined]
    await world.work(press(entry))
    said = [code for row in world.outbox() for code in codes_of(row)]
    assert "card:requested" in said[-2:]
    assert ("toast:frozen-card" if known else "frozen-card") in said
    assert events(world, "ConfirmationReopened") == (0 if known else 1)
    assert world.portal.ledger == []
    assert world.sql.find_effect(entry.effect_id).status == "requested"  # type: ignore[union-attr]
    assert [timer.kind for timer in world.sql.list_due_timers(world.clock.now().replace(year=2027))].count("confirmation_expires") == 1

    release(world)
    if not known:  # the press was used up: repeated, however late, it runs nothing
        await world.work(press(entry), press(entry))
        assert world.portal.ledger == []
        assert {code for row in world.outbox() for code in codes_of(row)} == {"toast:card-outdated", "card:requested"}
    entry = await standing(world, entry)
    await world.work(press(entry), press(entry))
    assert len(world.portal.written("crm.deal.update")) == 1
    assert (await standing(world, entry)).status == "executed"


async def test_a_card_may_be_denied_and_runs_out_while_frozen(world: World, session: Session) -> None:
    """To say no is no write, and time goes on."""
    first = await world.asked(session, effect(*SUM))
    second = await world.asked(session, effect("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 5}}, slot="t1/1/2"))
    await session.close()
    freeze(world)
    await world.work(press(first, approve=False))
    world.clock.advance(timedelta(days=3))
    await world.work()
    state, _ = await world.store.read(load_state, f"session:{CHAT}")
    found = {key: item.status for key, item in state.agent.confirmations.items()}
    assert found == {first.confirmation_id: "denied", second.confirmation_id: "expired"}


async def test_an_approval_that_a_crash_left_behind_does_not_run_while_frozen(world: World, session: Session, entry: Card) -> None:
    """The next process opens the session, finds writes frozen, and lets the card wait for a press again."""
    decision = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=ANNA, via="button")
    await confirmations.approve(card(session, entry.confirmation_id), decision, session, ())
    await session.close()
    freeze(world)
    await world.work(command("pending"))
    said = [code for row in world.outbox() for code in codes_of(row)]
    assert said[:2] == ["frozen-card", "card:requested"]
    assert world.portal.ledger == []
    release(world)
    await world.work(press(await standing(world, entry)))
    assert len(world.portal.written("crm.deal.update")) == 1


async def test_a_turn_tells_one_sentence_and_the_model(world: World) -> None:
    """Two writes of a plan are refused, the person reads it once; what was read is answered."""
    freeze(world)
    steps = [step(*FREE), step("crm.deal.update", {"id": 482, "fields": {"TITLE": "x"}})]
    world.model.will(reply(*steps, text="Меняю."), reply(text="Запись остановлена, я ничего не изменил."))
    await world.work(message("переименуй 481 и 482"))
    said = [code for row in world.outbox() for code in codes_of(row)]
    assert said.count("frozen") == 1
    assert "writing is stopped for everybody by Ольга" in str(world.model.prompts[-1])
    assert world.portal.ledger == []


async def test_the_switch_that_cannot_be_read_lets_nothing_start(world: World, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer is no permission."""

    def gone(key: str) -> str:
        raise StoreUnwritable("gone")

    monkeypatch.setattr(world.sql, "get_value", gone)
    with pytest.raises(StoreUnwritable):
        await world.submit(session, effect(*FREE))
    assert world.portal.ledger == []


class TestCommands:
    """/freeze, /unfreeze and its button."""

    @pytest.mark.slow
    async def test_an_administrator_freezes_with_a_word_and_lifts_with_a_press(self, tmp_path: Path) -> None:
        """Who is no administrator does neither; the journal tells who did what."""
        async with a_world(tmp_path) as world:
            home = {"actor": OLGA, "key": OLGA.key}
            await world.work(command("freeze"), command("unfreeze"))
            assert world.codes() == ["freeze-admins-only"] * 2
            assert stored_switch.find_freeze(world.sql) is None

            await world.work(command("unfreeze", **home))
            await world.work(command("freeze", args="сверка  ", **home))
            await world.work(command("freeze", args="ещё", **home), command("status"), command("mode"))
            assert sorted(world.codes()) == sorted(
                ["frozen-not", "frozen-done", "frozen-already", "status", "frozen-now", "mode", "frozen-now"]
            )
            standing = stored_switch.find_freeze(world.sql)
            assert (standing.name, standing.reason) == ("Ольга", "сверка")

            await world.work(command("unfreeze", **home))
            (shown,) = world.outbox()
            words = shown.body["actions"][0]["words"]
            assert words == ["unfreeze", "1"]
            await world.work(_pressed(words, ANNA))
            assert stored_switch.find_freeze(world.sql) is not None
            await world.work(_pressed(words, OLGA))
            assert stored_switch.find_freeze(world.sql) is None
            await world.work(command("freeze", **home))
            await world.work(_pressed(words, OLGA))
            assert stored_switch.find_freeze(world.sql) is not None
            assert world.codes()[-1] == "frozen-again"
            stream = world.sql.read_events(stored_switch.STREAM)
            assert [(item.type, item.data["by"]) for item in stream] == [
                ("WritesFrozen", OLGA.key),
                ("WritesReleased", OLGA.key),
                ("WritesFrozen", OLGA.key),
            ]

    @pytest.mark.slow
    async def test_administrators_are_told_once_whoever_froze(self, tmp_path: Path) -> None:
        """The one who did it is answered and not told besides."""
        async with a_world(tmp_path) as world:
            staff = Staff([ANNA, VERA, OLGA, OLGA.model_copy(update={"key": "tg:1002"})])
            told = Feature(inbox={freeze_switch.NEWS_KIND: partial(freeze_switch.tell_administrators, staff=staff)})
            world.orchestrator.tools = replace(world.tools, features=merge_features(world.tools.features, told))
            await world.work(command("freeze", actor=OLGA, key=OLGA.key))
            assert by_chat(world.outbox()) == {OLGA.key: ["frozen-done"], "tg:1002": ["frozen-news"]}
            switch = LiveSwitch(world.store)
            await switch.release(SwitchOperator(key="cli:root", name="root", via="cli", at=NOW))
            await world.work()
            assert by_chat(world.outbox()) == {OLGA.key: ["released-news"], "tg:1002": ["released-news"]}


def _pressed(words: list[str], actor: Actor) -> Any:
    return _row("press", "express", {"words": words, "callback_id": "c1"}, actor, OLGA.key)
