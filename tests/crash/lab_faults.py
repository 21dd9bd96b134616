"""Faults planted into a child to see whether the lab has teeth. Never imported by anything but the child."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

from orchestrator import turns
from orchestrator.context import Recorded
from orchestrator.gate import approved, confirmations, executor, gate
from orchestrator.gate.freeze import thaw
from orchestrator.gate.ports import Reconciled, Unknown
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.session import Session
from orchestrator.workers import Orchestrator
from state.sql import commit as writing
from state.store import EffectStatus


def intent_after_send() -> None:
    """The call is made first and its intent written afterwards."""

    async def write(order: Any, performer: Any, ledger: Any) -> Any:
        performed = await performer.perform(order.call)
        await executor._intend(order, ledger)
        await executor._settle(order, performed, ledger, seconds=0.0)
        return executor._outcome(order, performed)

    executor._write = write


def retry_unknown() -> None:
    """A write whose answer was lost is sent again."""
    once = BitrixPerformer.perform

    async def perform(self: Any, call: Any) -> Any:
        performed = await once(self, call)
        return await once(self, call) if isinstance(performed, Unknown) else performed

    BitrixPerformer.perform = perform  # type: ignore[method-assign]


def objection_ignored() -> None:
    """A press on a card that was decided already counts; alone it does no harm, because the compare-and-set holds."""
    judged = confirmations.objection

    def objection(entry: Any, decision: Any, ledger: Any) -> Any:
        return judged({**entry, "status": "requested"}, decision, ledger)

    confirmations.objection = objection


def no_compare_and_set() -> None:
    """An effect may go from any status to any other, so that an approved call runs with every press."""
    objection_ignored()
    change_effect = writing._change_effect

    def changed(transaction: Any, statements: Any, commit: Any, change: Any) -> None:
        change_effect(transaction, statements, commit, replace(change, expect=("absent", *get_args(EffectStatus))))

    writing._change_effect = changed


def recovery_resends() -> None:
    """What a dead process had begun is sent again at the start."""

    async def recover_started(ledger: Any, catalogue: Any, performers: Any, announce: Any) -> list[Any]:
        del announce
        for row in await ledger.effects("started"):
            call = thaw(row.call["call"], catalogue)
            performed = await performers[call.kind].perform(call)
            await executor._settle(approved.order_of(row, call, approved_by=""), performed, ledger, seconds=0.0)
        return []

    gate.recover_started = recover_started  # type: ignore[attr-defined]


def recovery_guesses() -> None:
    """What a dead process had begun is said to be done without a look."""

    async def reconcile(self: Any, call: Any, before: Any) -> Reconciled:
        return Reconciled(verdict="done", detail="surely")

    BitrixPerformer.reconcile = reconcile  # type: ignore[method-assign]


def outbox_apart() -> None:
    """What a person is told is stored after the commit that ends the step, not with it."""
    together = Session.commit

    async def commit(self: Any, *events: Any, actor: str, outbox: Sequence[Any] = (), **more: Any) -> None:
        await together(self, *events, actor=actor, **more)
        if outbox:
            await together(self, actor=actor, outbox=outbox)

    Session.commit = commit  # type: ignore[method-assign]


def model_asked_again() -> None:
    """A turn that is run again does not look for the answers it already has."""
    begin = turns._begin

    async def forgetful(*given: Any) -> Any:
        await begin(*given)
        return Recorded()

    turns._begin = forgetful  # type: ignore[assignment]


def early_acknowledgement() -> None:
    """An input is acknowledged before it is stored."""
    receive, idle = Orchestrator.receive, Orchestrator.idle
    kept: list[Any] = []

    async def hasty(self: Any, rows: Any) -> list[bool]:
        kept.append(rows)
        return [True] * len(rows)

    async def stored_by_then(self: Any) -> bool:
        while kept:
            await receive(self, kept.pop())
        return await idle(self)

    Orchestrator.receive = hasty  # type: ignore[method-assign]
    Orchestrator.idle = stored_by_then  # type: ignore[method-assign]


FAULTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    **{
        made.__name__: made
        for made in (
            intent_after_send,
            retry_unknown,
            objection_ignored,
            no_compare_and_set,
            recovery_resends,
            recovery_guesses,
            outbox_apart,
            model_asked_again,
            early_acknowledgement,
        )
    },
}
