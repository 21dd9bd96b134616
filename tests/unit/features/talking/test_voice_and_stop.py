"""Voice messages, and /stop with a queue behind it, over the real spine."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable, ModelClientError
from orchestrator.features.talking.voice import VoiceInput
from state.journal.store import InboxRow
from tests.unit.features.talking.talking_kit import Wire, pressed, said_of, voice, wired
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, VERA, World, command, message, raise_sum, reply, until


async def test_a_voice_message_is_shown_as_it_was_heard_and_then_worked(world: World, wire: Wire) -> None:
    """The transcript goes out before anything is proposed; nothing is fetched twice."""
    world.model.will(reply(raise_sum(), text="Подниму."))
    await world.work(voice())
    rows = world.outbox()
    assert [row.body.get("notices", [{}])[0] for row in rows[:1]] == [{"code": "heard", "args": {"words": "покажи мои сделки"}}]
    assert [row.kind for row in rows] == ["reply", "reply", "card"]
    said = world.events("MessageReceived")[0].data
    assert (said["text"], said["origin"], said["ref"]) == ("покажи мои сделки", "voice", 9)
    assert wire.asked == ["AwAC", "OggS/ru"]


async def test_a_forwarded_voice_message_is_text_of_somebody_else(world: World, wire: Wire) -> None:
    wire.words = "удали все сделки"
    world.model.will(reply())
    await world.work(voice(forwarded=True))
    assert said_of(world) == [("", "удали все сделки")]


async def test_a_spoken_yes_approves_nothing(world: World, wire: Wire) -> None:
    """DESIGN §3: typed «да» only; what was heard may have been said by anybody."""
    wire.words = "да"
    world.model.will(reply(raise_sum()), reply(text="Нажмите кнопку под карточкой."))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    await world.work(voice())
    assert world.portal.ledger == []
    assert "ConfirmationApproved" not in world.types()


async def test_a_spoken_reply_to_the_question_of_a_card_is_the_value(world: World, wire: Wire) -> None:
    """It makes a new card, which waits for its own press; a spoken request goes its usual way."""
    wire.words = "пятьсот тысяч"
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    card = world.outbox()[-1].body
    await world.work(pressed("edit", card["confirmation_id"]))
    world.outbox()
    await world.work(voice(reply_to=77))  # all messages of this world went out as number 77
    new = [row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]
    assert new[0]["preview"]["lines"][0]["after"] == "500\u00a0000\u00a0₽"
    assert world.portal.ledger == []
    await world.work(pressed("edit", new[0]["confirmation_id"]))
    world.outbox()
    wire.words = "покажи мои сделки"
    world.model.will(reply(text="Вот."))
    await world.work(voice(reply_to=77))
    assert world.events("MessageReceived")[-1].data["origin"] == "voice"


@pytest.mark.parametrize(
    ("fault", "body", "code"),
    [
        ({"file": FileUnavailable("gone")}, {}, "voice-unavailable"),
        ({"words": ModelClientError("The model service answers 500.")}, {}, "voice-failed"),
        ({"words": "  "}, {}, "voice-empty"),
        ({}, {"seconds": 301}, "voice-too-long"),
        ({}, {"size": 20_000_001}, "voice-too-long"),
    ],
)
async def test_what_cannot_be_heard_is_told_and_no_model_is_asked(world: World, wire: Wire, fault: Any, body: Any, code: str) -> None:
    for name, value in fault.items():
        setattr(wire, name, value)
    await world.work(voice(**body))
    assert world.codes() == [code]
    assert "MessageReceived" not in world.types()
    assert await world.store.list_waiting_inbox(CHAT, "turn") == []


async def test_without_a_listener_voice_is_refused_in_one_sentence(world: World, wire: Wire) -> None:
    wired(world, VoiceInput(files=wire))
    await world.work(voice())
    assert (world.codes(), wire.asked) == (["voice-off"], [])


async def test_what_was_heard_before_a_crash_is_not_heard_again(world: World, wire: Wire) -> None:
    """The transcript stands in the place of the recording: whoever goes on reads it there."""
    world.model.will(reply())
    await world.work(voice(heard="покажи мои сделки"))
    assert (wire.asked, said_of(world)) == ([], [("покажи мои сделки", "")])


def _stop(**more: Any) -> InboxRow:
    """A little later than what it stops."""
    asked: InboxRow = command("stop", **more)
    return replace(asked, received_at=NOW + timedelta(seconds=1))


async def test_stop_ends_the_hearing(world: World, wire: Wire) -> None:
    """ "/cancel that really stops" (father-bot#196): within a second, and nothing is worked of it."""
    wire.gate = asyncio.Event()
    async with world.working():
        await world.orchestrator.receive([voice()])
        await until(lambda: len(wire.asked) == 2)
        begun = asyncio.get_running_loop().time()
        await world.orchestrator.receive([_stop()])
        await world.idle()
        assert asyncio.get_running_loop().time() - begun < 1
    assert sorted(world.codes()) == ["stopped", "stopping"]
    assert "MessageReceived" not in world.types()


@pytest.mark.parametrize(
    ("actor", "codes"), [(BORIS, ["stop-not-yours"]), (VERA, ["stopping", "stopped"]), (ANNA, ["stopping", "stopped"])]
)
async def test_a_request_is_stopped_by_whoever_made_it_or_by_a_lead(world: World, wire: Wire, actor: Actor, codes: list[str]) -> None:
    """Anybody in a group could end anybody's turn; now the others are told in one sentence whose request it is."""
    world.model.gate = asyncio.Event()
    world.model.will(reply(text="Готово."))
    async with world.working():
        await world.orchestrator.receive([message("покажи сделки")])
        await until(lambda: len(world.model.prompts) == 1)
        await world.orchestrator.receive([_stop(actor=actor)])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        world.model.gate.set()
        await world.idle()
    rows = world.outbox()
    told = [notice for row in rows for notice in row.body["notices"]]
    assert sorted(notice["code"] for notice in told) == sorted(codes)
    assert (world.events("TurnFinished")[-1].data["reason"] == "stopped") == ("stopped" in codes)
    if actor is BORIS:
        assert told[0]["args"] == {"who": "Анна"}


async def test_a_recording_of_somebody_else_is_heard_to_its_end_and_ones_own_queue_is_still_left_out(world: World, wire: Wire) -> None:
    world.model.will(reply())
    wire.gate = asyncio.Event()
    async with world.working():
        await world.orchestrator.receive([voice()])
        await until(lambda: len(wire.asked) == 2)
        await world.orchestrator.receive([message("Борис", actor=BORIS), _stop(actor=BORIS)])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        wire.gate.set()
        await world.idle()
    told = next(row for row in world.outbox() if row.kind == "reply" and row.body["actions"])
    assert [notice["code"] for notice in told.body["notices"]] == ["stop-not-yours", "stop-queue"]
    assert [text for text, _ in said_of(world)] == ["покажи мои сделки"]


async def _stopped_with_a_queue(world: World, wire: Wire) -> list[str]:
    """A recording is heard, three requests wait behind it, and Anna says /stop; the words of the button that brings hers back."""
    wire.gate = asyncio.Event()
    async with world.working():
        await world.orchestrator.receive([voice()])
        await until(lambda: len(wire.asked) == 2)
        await world.orchestrator.receive([message("раз", at=1), message("два", at=50), message("Борис", actor=BORIS, at=90)])
        await world.orchestrator.receive([_stop()])
        await world.idle()
    told = next(row for row in world.outbox() if row.kind == "reply" and row.body["actions"])
    assert [(notice["code"], notice["args"]) for notice in told.body["notices"]] == [("stopping", {}), ("stop-queue", {"count": 2})]
    words = [str(word) for word in told.body["actions"][0]["words"]]
    assert words[0] == "requeue"
    return words


async def test_stop_leaves_out_what_waits_behind_and_one_press_brings_it_back_once(world: World, wire: Wire) -> None:
    """Only the stopper's own, in their order; what comes later is worked."""
    world.model.will(reply(), reply(), reply(), reply())
    words = await _stopped_with_a_queue(world, wire)
    assert [text for text, _ in said_of(world)] == ["Борис"]
    world.clock.advance(timedelta(seconds=5))
    await world.work(
        pressed(*words, actor=BORIS), pressed(*words), pressed(*words), replace(message("позже"), received_at=world.clock.now())
    )
    counts = [row.body["notice"]["args"]["count"] for row in world.outbox() if row.kind == "toast"]
    assert counts == [0, 2, 0]
    assert sorted(text for text, _ in said_of(world)) == ["Борис", "два", "позже", "раз"]


async def test_without_a_queue_stop_says_no_more_than_that(world: World, wire: Wire) -> None:
    del wire
    await world.work(_stop())
    assert world.codes() == ["nothing-to-stop"]
    assert "StopAsked" not in world.types()
