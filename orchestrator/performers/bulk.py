"""Starts the runs that carry out frozen files, and reads these files, their records and what such a run has done."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final

from bitrix.bulk.bulk import list_all
from bitrix.bulk.lists import extract_rows
from bitrix.limits.limiter import Priority
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.address import find_own_chat
from orchestrator.domain.bulk import BULK_ENGINE, BulkDone
from orchestrator.domain.run_inputs import RunStart
from orchestrator.domain.taint import Value
from orchestrator.gate.bulk.stored_files import ProcessTurn, StoredBulkFiles
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ignored_filters import find_ignored_field
from orchestrator.gate.call.kinds.bulk_methods import DIGEST, MARK, PERSON, build_run_key
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, TooMany, Unknown
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.normalize.batch import unpack_commands
from state.clock import Clock
from state.events.calls import CallSucceeded, OutcomeReconciled
from state.events.runs import RunFinished, RunStarted, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.pages import iterate_later
from state.journal.run_index import PREFIX
from state.journal.store import InboxRow, StoreError
from state.model.definitions import EDITION
from state.stored import JsonObject

CARD: Final = "card"
"""The run's argument with the effect whose approval covers its calls."""
FILTER_IGNORED: Final = "portal-filter-ignored"


class BulkPerformer:
    portal = ""
    is_application = True

    def __init__(self, store: AsyncStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def execute(self, call: Call) -> CallResult:
        """Starts the run; unknown if the database fails."""
        row = self._build_row(call)
        try:
            await self._store.put_inbox([row])
        except StoreError as error:
            return Unknown(detail=f"the store did not say whether the run is begun: {error}")
        return Succeeded(
            result={"run": row.session.removeprefix(PREFIX)}, note="it has begun; code shows the person how far it is and how it ends"
        )

    async def reconcile(self, call: Call, _before: BeforeImage) -> Reconciled:
        """Never unclear. Raises StoreError."""
        is_stored = await self._store.find_inbox(self._build_row(call).source) is not None
        return Reconciled(verdict="done" if is_stored else "not_done", detail="the run is begun" if is_stored else "no run is begun")

    def _build_row(self, call: Call) -> InboxRow:
        person, effect_id, key = str(call.params[PERSON]), str(call.params[MARK]), build_run_key(str(call.params[MARK]))
        pin = {"engine": BULK_ENGINE, "definition": call.method, "version": 1, "digest": str(call.params[DIGEST]), "edition": EDITION}
        order = RunStart(
            engine=BULK_ENGINE,
            definition=call.method,
            home=find_own_chat(person),
            args={CARD: Value(effect_id, frozenset({"definition"})).to_stored()},
            pinned=(pin,),
        )
        actor = {"key": person, "name": person}
        return order.to_row(key, source=f"start:{key}", actor=actor, now=self._clock.now(), lane="turn")


class PortalBulkFiles(StoredBulkFiles):
    """See `orchestrator.gate.call.ports.BulkFiles`."""

    def __init__(self, store: AsyncStore, reads: PortalReader, clock: Clock) -> None:
        super().__init__(store)
        self._reads = reads
        self._turn = ProcessTurn(store, clock)

    def hold_turn(self, owner: str) -> AbstractAsyncContextManager[None]:
        return self._turn.hold(owner)

    async def read_records(self, call: Call, most: int) -> Sequence[JsonObject] | TooMany | Rejected:
        page = await self._reads.client.call(call.method, call.params, repeatable=True, priority=Priority.INTERACTIVE)
        rows, count = extract_rows(page.result), page.total
        is_whole = count is not None and len(rows) == count
        if not is_whole and (count is None or count <= most):
            rows = await self._read_rows(call, most + 1)
            count = len(rows)
        if ignored := find_ignored_field(call, rows):
            detail = f"the portal left out the condition on {ignored}: rows contradict it, so nothing is changed by it"
            return Rejected(code=FILTER_IGNORED, detail=detail, args={"field": ignored})
        return TooMany(count) if count is not None and count > most else rows

    async def _read_rows(self, call: Call, most: int) -> list[JsonObject]:
        """In ranges of ids, which takes a few requests for thousands of records; by pages where the filter does not allow it."""
        params = {name: value for name, value in call.params.items() if name != "order"}
        rows: list[JsonObject] = []
        try:
            async with aclosing(list_all(self._reads.client, call.method, params, priority=Priority.INTERACTIVE)) as found:
                async for row in found:
                    rows.append(row)
                    if len(rows) >= most:
                        break
        except ValueError:
            return await self._reads.load_rows(call.method, call.params, limit=most)
        return rows

    async def read_run(self, run: str) -> BulkDone | None:
        started: RunStarted | None = None
        done: set[str] = set()
        is_over = False
        async for event in iterate_later(self._store, f"{PREFIX}{run}", 0):
            match event.type:
                case RunStarted.__name__:
                    started = RunStarted.from_data(event.data)
                case CallSucceeded.__name__:
                    done |= _list_done(event.data.get("commands") or ())
                case OutcomeReconciled.__name__ if event.data["verdict"] == "done":
                    done |= await self._find_done(str(event.data["effect_id"]))
                case RunFinished.__name__ | RunWoken.__name__:  # a retry wakes a run that has ended
                    is_over = event.type == RunFinished.__name__
                case _:
                    pass
        if started is None or started.engine != BULK_ENGINE or not is_over:
            return None
        file = await self.load(started.digest)
        return BulkDone(file, frozenset(done)) if file is not None else None

    async def _find_done(self, effect_id: str) -> set[str]:
        """Of a batch whose answer was lost: by command where that is known, otherwise all of it has happened."""
        row = await self._store.find_effect(effect_id)
        if row is None:
            return set()
        reports = (row.outcome or {}).get("commands") or ()
        order = StoredOrder.from_data(row.call)
        return _list_done(reports) if reports or order.is_erased else {command.key for command in unpack_commands(order.call.params["cmd"])}


def _list_done(reports: Sequence[JsonObject]) -> set[str]:
    return {str(report["key"]) for report in reports if report["status"] == "success"}
