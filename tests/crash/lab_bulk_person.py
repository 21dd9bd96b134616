"""The person of a change of many records: asks, opens the file, approves, waits, takes it all back. Imported by the child only."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any
from zlib import crc32

from bot.i18n.translate import Translator
from bot.telegram.view.message_builder import build_message
from engines.bulk_changes.wiring import build_bulk
from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.domain import bulk
from orchestrator.domain.bulk import BULK_ENGINE
from orchestrator.domain.models import ModelAnswer
from orchestrator.runs.registry import Engines
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow, OutboxRow, Store
from tests.crash.lab_bulk import CHANGE, PART, SCRIPT
from tests.crash.lab_people import VERA
from tests.crash.lab_person import Person
from tests.crash.lab_points import Points
from tests.unit.spine_kit import Said, reply, step

_AHEAD = timedelta(seconds=120)
"""Until outcomes that stayed open are looked at again."""
_ROUNDS = 20


class BulkModel:
    """Proposes the change, and finds that nothing is left after its card."""

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        del on_delta
        last = str(payload["messages"][-1]["content"])
        return Said(reply(text="") if last.endswith(AFTER_CARDS) else reply({**step("change.all", CHANGE), "last": True}))

    async def aclose(self) -> None:
        """It holds nothing."""


def build_bulk_engines() -> Engines:
    """With small parts, so that some sixty records make several."""
    bulk.PART = PART  # type: ignore[misc]
    return Engines(runs={BULK_ENGINE: build_bulk()})


def list_bulk_runs(store: Store) -> dict[str, Any]:
    return {"runs": [run.status for run in store.list_runs(RunFilter())]}


class BulkPerson(Person):
    points: Points

    async def live(self) -> None:
        """Whatever is on the screen is answered, until nothing more comes."""
        for _ in range(_ROUNDS):
            await self.rest()
            if not await self._offer(self._list_next()):
                self._clock.ahead += _AHEAD
                await self.rest()
                if not await self._offer(self._list_next()):
                    return

    async def _busy(self) -> bool:
        """The door brings the progress while the run goes on."""
        for row in await self._due(timedelta()):
            await self._deliver(row)
        return await super()._busy()

    async def _deliver(self, row: OutboxRow) -> None:
        """Through a door that makes each message as Telegram's does, with its files."""
        label = f"door({row.kind}{',progress' if row.key.endswith(':progress') else ''})"
        self.points.hit(f"{label}:before")
        message = build_message(row, Translator("ru"))
        sizes = [len(file.build()) for file in message.files]
        ref = str(crc32((row.key or row.id).encode()))
        self._told.add(row.kind, key=row.key, body=dict(row.body), session=row.session, row=row.id, ref=ref, files=sizes)
        self.points.hit(f"{label}:after")
        await self._known(self._store.mark_outbox_sent, row.id, ref)

    def _list_next(self) -> list[InboxRow]:
        rows = [self._own("message", f"{SCRIPT}/say", {"text": "поменяй во всех сделках комментарий", "origin": "typed"})]
        cards = {line["body"]["confirmation_id"]: line["body"] for line in self._told.lines if line["kind"] == "card"}
        for number, shown in cards.items():
            if shown["status"] != "requested":
                continue
            if shown.get("is_cut") and VERA.key not in shown.get("opened", ()):
                rows.append(self._own("command", f"{SCRIPT}/details/{number}", {"name": "details", "confirmation_id": number}))
            else:
                given = {"confirmation_id": number, "nonce": shown["nonce"], "approve": True, "via": "button", "callback_id": number}
                rows.append(self._own("decision", f"{SCRIPT}/press/{number}", given))
        buttons = self._list_undo_buttons()
        undo = [self._own("press", f"{SCRIPT}/undo/{one[1]}", {"words": one, "callback_id": "u", "message_id": 5}) for one in buttons]
        return [*rows, *undo]

    def _list_undo_buttons(self) -> list[list[str]]:
        """Of the first run: what is taken back is not done once more."""
        ends = [line["body"] for line in self._told.lines if str(line.get("key")).endswith(":progress")]
        found = [list(action["words"]) for body in ends for action in body.get("actions") or () if action["words"][-1] == "undo"]
        return found[:1]

    def _own(self, kind: str, source: str, body: Mapping[str, Any]) -> InboxRow:
        return self._input(kind, source, dict(body), session=VERA.key, actor=VERA)
