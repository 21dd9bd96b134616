"""Faults planted into a child to see that the lab finds them. Each takes one safeguard of the product away."""

import os
from collections.abc import Callable
from typing import Any

from orchestrator import recovering, turns, workers
from orchestrator.gate import executor, gate
from state.canonical import sha256
from state.sql.store import SqlStore


def act_before_intent() -> None:
    """The call is sent first and its intent stored afterwards."""

    async def write(order: Any, performer: Any, ledger: Any) -> Any:
        performed = await performer.perform(order.call)
        await executor._intend(order, ledger)
        await executor._settle(order, performed, ledger, seconds=0.0)
        return executor._outcome(order, performed)

    executor._write = write


def retry_after_unknown() -> None:
    """Recovery sends again what was started and has no outcome."""

    async def recover(ledger: Any, catalogue: Any, performers: Any, announce: Any) -> list[Any]:
        for row in await ledger.effects("started"):
            order = gate._order_of(row, gate.thaw(row.call["call"], catalogue), approved_by="")
            performed = await performers[order.call.kind].perform(order.call)
            await executor._settle(order, performed, ledger, seconds=0.0)
        return []

    gate.recover_started = recover


def ids_of_this_process() -> None:
    """The same step of the same plan gets another effect id after a restart."""
    gate.effect_id_of = lambda slot: sha256(f"{slot}/{os.getpid()}")[:32]


def forget_answers() -> None:
    """A resumed turn does not look for the answers it already has."""
    begin = turns._begin

    async def fresh(*args: Any) -> dict[int, Any]:
        await begin(*args)
        return {}

    turns._begin = fresh


def acknowledge_before_work() -> None:
    """An input is closed when it is taken, not when it is worked."""
    take = SqlStore.next_inbox

    def taken(store: SqlStore, session: str, lane: Any) -> Any:
        row = take(store, session, lane)
        if row is not None:
            store.finish_inbox(row.id, "done")
        return row

    SqlStore.next_inbox = taken  # type: ignore[method-assign]


def no_recovery() -> None:
    """A session is opened without looking at what a dead process left."""

    async def nothing(*args: Any) -> None:
        pass

    workers.recover = nothing


def tell_nobody() -> None:
    """What a look at the portal shows is stored and not said."""
    recovering._announce = lambda session: lambda found: []


FAULTS: dict[str, Callable[[], None]] = {
    fault.__name__: fault
    for fault in (act_before_intent, retry_after_unknown, ids_of_this_process, forget_answers, acknowledge_before_work, no_recovery, tell_nobody)
}
