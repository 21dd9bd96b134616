"""A run that asks for contacts and files in Anna's chat, and messages that hold them; files come over the door's wire."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.telegram.intake.files import TelegramFiles
from orchestrator.domain.outputs import build_reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, RunContext, RunEffect, RunResult
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.turns.feature import merge_features
from state.events.runs import RunWoken
from state.sql.store import SqlStore
from tests.unit.bot.telegram.door_kit import ANNA, opened_door, person, raw_message
from tests.unit.runs.runs_kit import RUN, events, start
from tests.unit.runs.test_runs_telegram import Chat
from tests.unit.spine_kit import CHAT, World, a_world


class AskingEngine:
    """Asks for one thing after the other; with "note" it writes the name that came into a comment, with "read" it says what a file holds."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Ask everything, and return what came."""
        document = ctx.run.definition.document
        came = []
        for number, takes in enumerate(document["asks"]):
            answers = tuple(document.get("answers", ()))
            heard = await ctx.wait_input(f"ask{number}", Ask(text=f"Жду: {', '.join(takes)}", takes=frozenset(takes), answers=answers))
            came.append([heard.kind, heard.value.data])
            if document.get("read"):
                content = await ctx.load_file(heard.value)
                await ctx.say(build_reply(text=f"{content.data.decode()} {sorted(content.origins)}"), key=f"read{number}")
            if document.get("note"):
                fixed = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}
                fields = {name: Value(one, frozenset({"definition"})) for name, one in fixed.items()} | {"COMMENT": heard.value.get("name")}
                await ctx.submit(f"note{number}", RunEffect(method="crm.timeline.comment.add", params={"fields": fields}))
        return RunResult(value=Value(came), reply=build_reply(text="Готово."))


@asynccontextmanager
async def a_sent_world(
    folder: Path, *asks: Sequence[str], home: str = CHAT, store: SqlStore | None = None, **more: Any
) -> AsyncIterator[Chat]:
    """A run under way that asks for these things in the chat `home`."""
    engines = Engines(
        runs={"asking": RegisteredEngine(engine=AskingEngine())},
        definitions=StaticDefinitions({("asking", "plan"): {"asks": [list(one) for one in asks], **more}}),
    )
    async with a_world(folder, store=store) as world, world.working(), opened_door(world) as (door, wire):
        feature = build_feature(engines, files=TelegramFiles(door.bot))
        world.orchestrator.tools = replace(world.tools, features=merge_features(world.tools.features, feature))
        chat = Chat(world, door, wire)
        await world.orchestrator.receive([start("plan", engine="asking", home=home)])
        await chat.settle()
        yield chat


def contact(owner: int | None = ANNA, **more: Any) -> dict[str, Any]:
    """The part of a message that is a shared contact of the person `owner`."""
    known = {"user_id": owner} if owner is not None else {}
    return {"contact": {"phone_number": "+7 916 000-00-01", "first_name": "Анна", "last_name": "Петрова", **known, **more}}


def document(file_id: str = "doc", **more: Any) -> dict[str, Any]:
    """The part of a message that is a document."""
    told = {"file_name": "смета.pdf", "mime_type": "application/pdf", "file_size": 5}
    return {"document": {"file_id": file_id, "file_unique_id": file_id, **told, **more}}


def photo(file_id: str = "big", **more: Any) -> dict[str, Any]:
    """The part of a message that is a photo, in two sizes."""
    sizes = [("small", 90, 90), (file_id, 800, 600)]
    return {"photo": [{"file_id": one, "file_unique_id": one, "width": width, "height": height} for one, width, height in sizes], **more}


async def send(chat: Chat, number: int, sent: dict[str, Any], *, who: int = ANNA, where: int = 0, **more: Any) -> None:
    """Hand in the update `number` with what a person sent, and wait until all is handled and delivered."""
    raw = raw_message(None, sender=who, chat=where or who, message_id=1000 + number, **sent, **more)
    await chat.door._intake.take({"update_id": 10_000 + number, "message": raw})
    await chat.settle()


def answers(world: World) -> list[RunWoken]:
    """What the run has taken as answers."""
    return [RunWoken.from_data(one.data) for one in events(world, "RunWoken", key=RUN)]


def said(chat: Chat) -> list[str]:
    """The texts of all messages that were sent or edited."""
    return [str(one["text"]) for one in chat.shown()]


REPLY_TO_BOT: dict[str, Any] = {"reply_to_message": raw_message("Жду", sender=42, chat=-500, via=person(42, bot=True))}
"""What makes a message in a group one to the bot."""
