"""The registry of people at work: the real store, session, access list and handlers; the portal is scripted at the wire."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from bot.access.access import Access, Person
from bot.rendering.kinds import render_people_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake import people as door
from bot.telegram.intake.people import build_people_keyboard
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SessionTaken
from orchestrator.domain.inputs import PreferenceChange
from orchestrator.features.people.access_removal import build_start_row
from orchestrator.features.people.feature import build_feature
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.registry import STREAM, build_proof, create_token, seal_name
from orchestrator.features.people.staff import Employees
from orchestrator.runtime import dispatch
from orchestrator.sessions.session import open_session
from state.clock import format_iso, generate_id
from state.journal.store import InboxRow, OutboxRow
from state.model.registry import SESSION
from state.sql.store import SqlStore
from tests.unit.spine_kit import NOW, World, _shipped_rules, a_world
from tests.unit.spine_portal import Portal, user

OLGA, IRINA, ANNA, GLEB, LENA = 1001, 1002, 1007, 666, 667
"""Two administrators and a manager of the file; two strangers."""
FILE = [
    Person(telegram_id=OLGA, name="Ольга Романова", bitrix_user_id=1, role="admin"),
    Person(telegram_id=IRINA, name="Irina", role="admin", locale="en"),
    Person(telegram_id=ANNA, name="Анна Ковалёва", bitrix_user_id=7, notify="none"),
]
NAMES = {GLEB: "Gleb", LENA: "Lena"}


class Staff(Portal):
    """A portal with employees who may be dismissed, and which may be down."""

    def __init__(self) -> None:
        super().__init__()
        self.users = {
            number: user(number, *name.split()) | {"TIME_ZONE": zone}
            for number, name, zone in (
                (1, "Ольга Романова", ""), (6, "Вера Белова", ""), (7, "Анна Ковалёва", ""), (8, "Глеб Седов", "Asia/Vladivostok"),
                *((number, f"Сотрудник Номер{number}", "") for number in range(20, 30)),
            )
        }  # fmt: skip
        self.down = False

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("no route")
        return await super().__call__(request)

    def _reference(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "user.get":
                return list(self.users.values())
            case "server.time":
                return "2026-11-21T15:00:00+03:00"
            case "profile":
                return {"ID": "1", "TIME_ZONE": "Europe/Moscow"}
            case _:
                return super()._reference(method, params)

    def dismiss(self, number: int, *, active: bool = False) -> None:
        self.users[number]["ACTIVE"] = active


@dataclass
class Office:
    """Everything a test needs; one for each process of the product."""

    world: World
    portal: Staff
    access: Access
    desk: PeopleContext
    owner: str = "one"

    # what comes in

    async def work(self, *rows: InboxRow) -> None:
        """Take inputs in and work all that waits, timers too, as the workers do."""
        await self.world.put(*rows)
        while True:
            await self.world.put(*await dispatch.collect_due_rows(self.world.store, self.world.clock.now()))
            ready = await self.world.store.list_ready_sessions(self.owner, self.world.clock.now())
            if not ready:
                return
            for key, lane in ready:
                await self.drain(key, lane)

    async def drain(self, key: str, lane: Any) -> None:
        session = await open_session(self.world.store, self.world.clock, key, self.owner)
        feature = build_feature(self.desk)
        table = {**feature.inbox, "timer": feature.timers["people_check"]}
        try:
            while (row := await self.world.store.take_inbox(key, lane)) is not None:
                handler = feature.commands[row.body["name"]] if row.kind == "command" else table[row.kind]
                await handler(row, session, self.world.tools)
        finally:
            await session.close()

    async def insist(self, *rows: InboxRow) -> None:
        """As `work`, while another process works on the same."""
        while True:
            try:
                await self.work(*rows)
            except SessionTaken:
                await asyncio.sleep(0.01)
                continue
            return

    async def start(self) -> None:
        await self.work(build_start_row(self.world.clock.now()))

    async def joined(self, who: int = GLEB, *, number: int = 8, **more: Any) -> str:
        """Somebody has joined by a link; its token."""
        token, row = invitation(self, number, **more)
        await self.work(row, brings(token, who))
        return token

    # what came of it

    def types(self) -> list[str]:
        return [event.type for event in self.world.sql.read_events(STREAM)]

    def said(self) -> list[tuple[str, str, list[str]]]:
        """(chat, words, callback data) of what waits to be delivered; takes it off."""
        return [self.shown(row) for row in self.world.outbox() if row.kind == "people"]

    def shown(self, row: OutboxRow) -> tuple[str, str, list[str]]:
        tr = door.ChatPeople(self.access).build_translator(row.session)
        board = build_people_keyboard(row.body, tr)
        data = [str(button.callback_data) for line in board.inline_keyboard for button in line] if board else []
        assert all(len(item.encode()) <= 64 for item in data)
        return row.session, to_plain_text(render_people_message(row.body, tr)), data


@asynccontextmanager
async def an_office(folder: Path, *, store: SqlStore | None = None, owner: str = "one") -> AsyncIterator[Office]:
    """The product with two administrators and a manager in its access file."""
    portal = Staff()
    async with a_world(folder, store=store, portal=portal) as world:
        reads = PortalReader(world.client, _shipped_rules()[1], world.clock)
        access = Access(FILE)
        await access.load_registry(world.store)
        desk = PeopleContext(staff=access, employees=Employees(reads.reference, Naming(reads)))
        yield Office(world, portal, access, desk, owner)


def find_present(office: Office, who: int) -> Actor:
    """Somebody who has access."""
    actor = office.access.find_actor(who)
    assert actor is not None
    return actor


def invitation(office: Office, number: int = 8, *, role: str = "manager", name: str = "", hours: int = 48) -> tuple[str, InboxRow]:
    """A token and the input that `sdelka invite` stores."""
    token, now = create_token(), office.world.clock.now()
    proof = build_proof(token)
    body = {
        "fingerprint": proof.fingerprint, "bitrix_user_id": number, "role": role, "sealed_name": seal_name(name, proof),
        "expires_at": format_iso(now + timedelta(hours=hours)),
    }  # fmt: skip
    return token, given("invite", body, actor={"key": "cli:ops", "name": "ops"})


def given(kind: str, body: Mapping[str, Any], *, actor: Mapping[str, Any], session: str = "access") -> InboxRow:
    row_id = generate_id()
    return InboxRow(id=row_id, source=f"test:{row_id}", session=session, lane="express", kind=kind, actor=actor, body=body, received_at=NOW)


def writes(text: str, who: int = GLEB, **more: Any) -> tuple[InboxRow, ...]:
    """What the door makes of a stranger's message."""
    from tests.unit.bot.telegram.door_kit import message  # noqa: PLC0415 - it loads aiogram's types

    sender = {"id": who, "is_bot": False, "first_name": NAMES.get(who, "Имя"), "username": f"user{who}"}
    update = message(text, sender=who, via={**sender, **more})
    assert update.message is not None
    return door.parse_stranger_message(update.message, f"telegram:42:{generate_id()}", NOW)


def brings(token: str, who: int = GLEB, **more: Any) -> InboxRow:
    """The input that a stranger's press of a link is."""
    return writes(f"/start {token}", who, **more)[0]


def presses(data: str, actor: Actor, *, chat: str = "") -> InboxRow:
    """The input that a press of a button is."""
    row = door.parse_people_click(data, f"telegram:42:{generate_id()}", chat or actor.key, actor, NOW)
    assert row is not None
    return row


def build_preference_row(name: str, value: str, source: str, actor: Actor, now: datetime) -> InboxRow:
    """The input by which a person sets a preference, as an older program stored it."""
    said = PreferenceChange(preference=name, value=value)
    return InboxRow(
        id=generate_id(),
        source=source,
        session=SESSION,
        lane="express",
        kind=said.KIND,
        actor=actor.model_dump(mode="json"),
        body=said.to_json(),
        received_at=now,
    )
