"""The spine with the undo button wired in, on a portal that moves tasks and keeps phones as Bitrix24 does."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Pending
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from tests.unit.spine_kit import ANNA, CHAT, World, _row, a_world, effect, press
from tests.unit.spine_portal import Portal, PortalError

_MOVES = {"start": ("2", "3"), "pause": ("3", "2"), "defer": ("23", "6"), "complete": ("236", "5"), "renew": ("456", "2")}
MULTI = ("PHONE", "EMAIL")


class Office(Portal):
    """See the module docstring."""

    def __init__(self) -> None:
        super().__init__()
        self._element = 200
        self.records["contact", 43]["PHONE"] = [
            {"ID": "156", "TYPE_ID": "PHONE", "VALUE": "+79990000001", "VALUE_TYPE": "WORK"},
            {"ID": "157", "TYPE_ID": "PHONE", "VALUE": "+79990000002", "VALUE_TYPE": "MOBILE"},
        ]

    def _classic(self, kind: str, verb: str, method: str, params: dict[str, Any]) -> Any:
        if verb != "update" or not set(MULTI) & set(params["fields"]):
            return super()._classic(kind, verb, method, params)
        record, fields = self._found(kind, params["id"]), dict(params["fields"])
        for name in MULTI:
            given = fields.pop(name, [])
            for element in given.values() if isinstance(given, dict) else given:
                self._put_element(record.setdefault(name, []), name, element)
        self.ledger.append((method, params))
        record.update(fields)
        return True

    def _put_element(self, held: list[dict[str, Any]], name: str, element: Mapping[str, Any]) -> None:
        known = next((one for one in held if one["ID"] == str(element.get("ID", ""))), None)
        if known is not None and (element.get("DELETE") == "Y" or not element.get("VALUE")):
            held.remove(known)
        elif known is not None:
            known.update({key: value for key, value in element.items() if key != "ID"})
        else:
            self._element += 1
            held.append({"ID": str(self._element), "TYPE_ID": name, "VALUE_TYPE": "WORK", **element})

    def _task(self, method: str, params: dict[str, Any]) -> Any:
        verb = method.rpartition(".")[2]
        if verb not in {*_MOVES, "delegate"}:
            return super()._task(method, params)
        record = self.records["task", int(params["taskId"])]
        self.ledger.append((method, params))
        if verb == "delegate":
            record["responsibleId"] = str(params["userId"])
            return {"task": record}
        allowed, state = _MOVES[verb]
        if record["status"] not in allowed:
            raise PortalError("0", "Action on the task is not allowed")
        record["status"] = state
        return {"task": record}


@asynccontextmanager
async def an_office(folder: Path, *, policy: Mapping[str, Any] | None = None) -> AsyncIterator[World]:
    """The product with the undo button."""
    async with a_world(folder, policy=policy, portal=Office()) as world:
        yield world


def undo(effect_id: str, *, actor: Actor = ANNA, key: str = CHAT) -> InboxRow:
    """A press of the button."""
    return _row("press", "express", {"words": ["undo", effect_id], "callback_id": generate_id(), "message_id": 5}, actor, key)


async def done(world: World, what: Effect, *, actor: Actor = ANNA) -> str:
    """Carry a call out, with the card where it asks; its effect id."""
    session = await world.session(actor.key)
    try:
        result = await world.submit(session, what, actor=actor)
        entry = session.state.agent.confirmations[result.confirmation_id] if isinstance(result, Pending) else None
    finally:
        await session.close()
    if entry is not None:
        await world.work(press(entry, actor=actor, key=actor.key))
    else:
        assert result.status == "succeeded", result
    row = await world.store.find_effect(result.effect_id)
    assert row.status == "succeeded", row
    world.outbox()
    return result.effect_id


async def pressed(world: World, effect_id: str, **more: Any) -> list[OutboxRow]:
    """What a press of the button leads to."""
    await world.work(undo(effect_id, **more))
    return world.outbox()


def cards(rows: Sequence[OutboxRow]) -> list[Mapping[str, Any]]:
    return [row.body for row in rows if row.kind == "card"]


def codes(rows: Sequence[OutboxRow]) -> list[str]:
    """The sentences, of toasts and replies."""
    found = []
    for row in rows:
        if row.kind == "toast":
            found.append(row.body["notice"]["code"])
        if row.kind == "reply":
            found.extend(notice["code"] for notice in row.body["notices"])
    return found


async def restored(world: World, effect_id: str, *, actor: Actor = ANNA) -> Mapping[str, Any]:
    """Press, approve the card, and give back the card as it ended."""
    rows = await pressed(world, effect_id, actor=actor, key=actor.key)
    shown = cards(rows)
    assert len(shown) == 1, codes(rows)
    await world.work(press(shown[0], actor=actor, key=actor.key))
    ended = [card for card in cards(world.outbox()) if card["confirmation_id"] == shown[0]["confirmation_id"]]
    return ended[-1]


def update(fields: Mapping[str, Any], *, method: str = "crm.deal.update", number: int = 481, **more: Any) -> Effect:
    """An update that the person has asked for."""
    return effect(method, {"id": number, "fields": dict(fields)}, slot=f"t1/1/{generate_id()}", **more)


def cmd(*lines: str) -> dict[str, str]:
    return {f"k{number}": line for number, line in enumerate(lines)}
