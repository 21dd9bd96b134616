"""A world that hears: recordings and a listener that are scripts, and the inputs of talking."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.features.talking.feature import build_feature
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.turns.feature import merge_features
from state.clock import generate_id
from state.journal.store import InboxRow, Lane
from tests.unit.spine_kit import ANNA, CHAT, NOW, World


class Wire:
    """Recordings and what is heard of them; an exception instead fails."""

    def __init__(self) -> None:
        self.file: bytes | Exception = b"OggS"
        self.words: str | Exception = "покажи мои сделки"
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def read(self, file_id: str, limit: int) -> bytes:
        del limit
        if isinstance(self.file, Exception):
            raise self.file
        self.asked.append(file_id)
        return self.file

    async def transcribe(self, recording: bytes, *, language: str) -> str:
        self.asked.append(f"{recording.decode()}/{language}")
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.words, Exception):
            raise self.words
        return self.words


def wired(world: World, ear: VoiceInput) -> None:
    tools = world.orchestrator.tools
    names = build_feature(ear)
    bare = replace(
        tools.features,
        inbox={kind: one for kind, one in tools.features.inbox.items() if kind not in names.inbox},
        buttons={word: one for word, one in tools.features.buttons.items() if word not in names.buttons},
        commands={word: one for word, one in tools.features.commands.items() if word not in names.commands},
    )
    world.orchestrator.tools = replace(tools, features=merge_features(bare, names))


def row(kind: str, body: dict[str, Any], *, lane: Lane = "express", actor: Actor = ANNA) -> InboxRow:
    row_id = generate_id()
    sender = actor.model_dump(mode="json")
    return InboxRow(id=row_id, source=f"test:{row_id}", session=CHAT, lane=lane, kind=kind, actor=sender, body=body, received_at=NOW)


def pressed(*words: str, actor: Actor = ANNA) -> InboxRow:
    return row("press", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, actor=actor)


def voice(**body: Any) -> InboxRow:
    return row("voice", {"file_id": "AwAC", "seconds": 3, "size": 900, "forwarded": False, "message_id": 9, **body}, lane="turn")


def edit(text: str, ref: int = 7, *, actor: Actor = ANNA) -> InboxRow:
    return row("edited", {"text": text, "message_id": ref, "at": 1}, actor=actor)


def said_of(world: World) -> list[tuple[str, str]]:
    return [(event.data["text"], event.data["quoted"]) for event in world.events("MessageReceived")]


def later(world: World) -> None:
    """What waits was received a while ago: it is looked at together."""
    world.clock.advance(timedelta(seconds=2))
