"""Faults planted into a child to see whether the lab has teeth. Never imported by anything but the child."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, get_args

from orchestrator.gate import gate
from orchestrator.gate.approve import confirmations, run_approved
from orchestrator.gate.call.kept_files import KeptFiles
from orchestrator.gate.call.ports import Reconciled, Unknown
from orchestrator.gate.call.serialization import StoredOrder, decode_call
from orchestrator.gate.execute import executor
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions import merge_inputs, session, turn_context
from orchestrator.sessions.recorded_turn import RecordedTurn
from orchestrator.sessions.session import Session
from orchestrator.turns import turn
from state.journal import journal
from state.journal.store import EffectStatus, StoreUnwritable
from state.sql import commit as writing
from state.sql import database, dialect
from tests import chain_kit
from tests.crash import lab_flow_faults, lab_run_faults


def intent_after_send() -> None:
    """The call is made first and its intent written afterwards."""

    async def write(order: Any, performer: Any, ledger: Any) -> Any:
        performed = await performer.execute(order.call)
        await executor._store_intent(order, ledger)
        await executor._store_outcome(order, performed, ledger, seconds=0.0, kept=KeptFiles())
        return executor._build_outcome(order, performed)

    executor._run_call = write


def retry_unknown() -> None:
    """A write whose answer was lost is sent again."""
    once = BitrixPerformer.execute

    async def perform(self: Any, call: Any) -> Any:
        performed = await once(self, call)
        return await once(self, call) if isinstance(performed, Unknown) else performed

    BitrixPerformer.execute = perform  # type: ignore[method-assign]


def objection_ignored() -> None:
    """A press on a card that was decided already counts; alone it does no harm, because the compare-and-set holds."""
    judged = confirmations.find_objection

    def objection(entry: Any, decision: Any, ledger: Any) -> Any:
        return judged(entry.with_values(status="requested"), decision, ledger)

    confirmations.find_objection = objection


def no_compare_and_set() -> None:
    """An effect may go from any status to any other, so that an approved call runs with every press."""
    objection_ignored()
    change_effect, foresee = writing._change_effect, Session._check_effects
    anything = ("absent", *get_args(EffectStatus))

    def changed(transaction: Any, statements: Any, commit: Any, change: Any) -> None:
        change_effect(transaction, statements, commit, replace(change, expect=anything))

    async def foreseen(self: Any, step: Any) -> None:
        await foresee(self, step._replace(effects=[replace(change, expect=anything) for change in step.effects]))

    writing._change_effect = changed
    Session._check_effects = foreseen  # type: ignore[method-assign]


def recovery_resends() -> None:
    """What a dead process had begun is sent again at the start."""

    async def recover_started(ledger: Any, catalogue: Any, performers: Any, announce: Any) -> list[Any]:
        del announce
        for row in await ledger.list_effects("started"):
            call = decode_call(row.call["call"], catalogue)
            performed = await performers[call.kind].execute(call)
            stored = StoredOrder.from_data(row.call)
            order = run_approved.build_order(row.effect_id, stored, call, approved_by="", before=stored.before)
            await executor._store_outcome(order, performed, ledger, seconds=0.0, kept=KeptFiles())
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
    begin = turn._begin

    async def forgetful(*given: Any, **more: Any) -> Any:
        await begin(*given, **more)
        return RecordedTurn()

    turn._begin = forgetful  # type: ignore[assignment]


def model_asked_twice() -> None:
    """Every question is put to the model twice, and the second answer counts; nobody dies between the two."""
    once = turn_context.Context._ask

    async def twice(self: Any, *given: Any) -> Any:
        await once(self, *given)
        return await once(self, *given)

    turn_context.Context._ask = twice  # type: ignore[method-assign]


def early_acknowledgement() -> None:
    """An input is acknowledged before it is stored."""
    receive, idle = Orchestrator.receive, Orchestrator.is_idle
    kept: list[Any] = []

    async def hasty(self: Any, rows: Any) -> list[bool]:
        kept.append(rows)
        return [True] * len(rows)

    async def stored_by_then(self: Any) -> bool:
        while kept:
            await receive(self, kept.pop())
        return await idle(self)

    Orchestrator.receive = hasty  # type: ignore[method-assign]
    Orchestrator.is_idle = stored_by_then  # type: ignore[method-assign]


def half_a_step() -> None:
    """The events of a step are stored first, and all that belongs to them in a second transaction."""
    change_effect = writing._change_effect

    def apart(transaction: Any, *given: Any) -> None:
        transaction._cursor.execute("COMMIT")
        transaction._cursor.execute("BEGIN IMMEDIATE")
        change_effect(transaction, *given)

    writing._change_effect = apart  # type: ignore[assignment]
    writing._count = lambda *_: None  # a refused count would undo the second half of the step each time, and it would never get on
    session.BUFFER_SECONDS = 60.0  # else, on a busy machine, what is noted is stored by itself and there is no step left to part


def no_journal() -> None:
    """The database writes in place, with nothing to repair it from when it dies in the middle."""

    def in_place(engine: Any) -> None:
        connection = engine.raw_connection()
        for mode in ("DELETE", "OFF"):
            connection.cursor().execute(f"PRAGMA journal_mode={mode}")
        connection.close()

    dialect._set_write_ahead = in_place
    _pragmas("PRAGMA journal_mode=OFF")


def no_flush() -> None:
    """The database does not flush at all."""
    _pragmas("PRAGMA synchronous=OFF")


def lazy_flush() -> None:
    """The database flushes when it tidies up, not with each step."""
    _pragmas("PRAGMA synchronous=NORMAL")


def _pragmas(wrong: str) -> None:
    """One setting of every connection is another."""
    pragmas = dialect._set_pragmas

    def set_wrong(connection: Any, record: object) -> None:
        pragmas(connection, record)
        connection.execute(wrong)

    dialect._set_pragmas = set_wrong  # type: ignore[assignment]


def no_hash_check() -> None:
    """A chain is whole whatever is in it."""
    chain_kit.verify_stream = lambda store, stream: chain_kit.Verified(seq=store.read_head(stream)[0], hash=store.read_head(stream)[1])


def snapshot_ahead() -> None:
    """A snapshot says that it holds more of the journal than it does."""
    session.SNAPSHOT_EVERY = 5  # type: ignore[attr-defined]

    def ahead(self: Any) -> Any:
        due = self._seq - self._snapshot_seq >= 5
        return journal.build_snapshot(self.stream, self._seq + 2, self._state) if due else None

    Session._build_due_snapshot = ahead  # type: ignore[method-assign]


def errors_ignored() -> None:
    """What the disk says to a commit is not listened to."""
    transaction = database.Database._transaction

    @contextmanager
    def deaf(self: Any, *given: Any) -> Iterator[Any]:
        try:
            with transaction(self, *given) as opened:
                yield opened
        except StoreUnwritable:
            pass

    database.Database._transaction = deaf  # type: ignore[method-assign, assignment]


def handle_kept() -> None:
    """A connection whose flush failed is used again, before all others: else a busy machine may never come to it."""
    failed: list[Any] = []
    take_any = database.Database.take_connection

    def keep(self: Any, connection: Any, error: Any = None) -> None:
        del error
        connection.rollback()
        failed.append(connection)
        self._idle.append(connection)

    def take(self: Any) -> Any:
        for connection in failed:
            if connection in self._idle:
                self._idle.remove(connection)
                return connection
        return take_any(self)

    database.Database._forget = keep  # type: ignore[method-assign]
    database.Database.take_connection = take  # type: ignore[method-assign]


def intent_optional() -> None:
    """A call is made although its intent could not be stored."""
    intend = executor._store_intent

    async def anyhow(order: Any, ledger: Any) -> None:
        with suppress(StoreUnwritable):
            await intend(order, ledger)

    executor._store_intent = anyhow


def unstored_acknowledged() -> None:
    """An input that could not be stored is acknowledged all the same."""
    receive = Orchestrator.receive

    async def lenient(self: Any, rows: Any) -> list[bool]:
        try:
            return await receive(self, rows)
        except StoreUnwritable:
            return [True] * len(rows)

    Orchestrator.receive = lenient  # type: ignore[method-assign]


def inbox_doubles() -> None:
    """An input that is known by its source is stored once more."""
    put = writing.put_inbox

    def all_new(transaction: Any, statements: Any, new: Sequence[Any]) -> list[bool]:
        fresh = put(transaction, statements, new)
        known = [replace(row, source=f"{row.source}#{row.id}") for row, is_new in zip(new, fresh, strict=True) if not is_new]
        put(transaction, statements, known)
        return fresh

    writing.put_inbox = all_new


def nonce_ignored() -> None:
    """Any nonce is the right one."""
    confirmations._is_same_nonce = lambda given, wanted: True


def entitlement_ignored() -> None:
    """Anybody may decide."""
    confirmations.check_entitlement = lambda entry, decision, catalogue: None


def expiry_ignored() -> None:
    """A card is good for ever."""
    judged = confirmations.find_objection

    def objection(entry: Any, decision: Any, ledger: Any) -> Any:
        return judged(entry.with_values(expires_at="9999-01-01T00:00:00Z") if entry else None, decision, ledger)

    confirmations.find_objection = objection


def drift_ignored() -> None:
    """What changed since the card was shown is not looked at."""
    run_approved.revalidate = lambda *given, **more: None  # type: ignore[attr-defined]


def paste_apart() -> None:
    """The pieces of a paste are done with before the joined input is stored."""
    whole = merge_inputs.merge_fragments

    async def parted(message: Any, session: Any, store: Any) -> Any:
        commit = session.commit

        async def twice(*events: Any, inbox_new: Sequence[Any] = (), **more: Any) -> None:
            await commit(*events, **more)
            if inbox_new:
                await commit(actor="system", inbox_new=inbox_new)

        session.commit = twice
        try:
            return await whole(message, session, store)
        finally:
            session.commit = commit

    merge_inputs.merge_fragments = parted


_PLANTED: tuple[Callable[[], None], ...] = (
    intent_after_send,
    retry_unknown,
    objection_ignored,
    no_compare_and_set,
    recovery_resends,
    recovery_guesses,
    outbox_apart,
    model_asked_again,
    model_asked_twice,
    early_acknowledgement,
    half_a_step,
    no_journal,
    no_flush,
    lazy_flush,
    no_hash_check,
    snapshot_ahead,
    errors_ignored,
    handle_kept,
    intent_optional,
    unstored_acknowledged,
    inbox_doubles,
    nonce_ignored,
    entitlement_ignored,
    expiry_ignored,
    drift_ignored,
    paste_apart,
    *lab_flow_faults.PLANTED,
    *lab_run_faults.PLANTED,
)
FAULTS: dict[str, Callable[[], None]] = {"": lambda: None} | {made.__name__: made for made in _PLANTED}
