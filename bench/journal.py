"""How fast a journal is folded and verified: SQLite on disk, conversations with one confirmed change a turn as the product records them.

Counted in seconds of the processor: the work is done by one thread and its file lies in memory, so on a quiet machine both are the same.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from state.clock import format_iso, generate_id
from state.events import fold
from state.events.base import Event
from state.events.calls import CallStarted, CallSucceeded, StateChanges
from state.events.confirmations import ConfirmationApproved, ConfirmationRequested
from state.events.conversation import MessageReceived, ModelAnswered, PlanRecorded, TurnFinished
from state.journal.store import Commit
from state.model.session_state import SessionState
from state.sql import build_sqlite_url, open_store
from state.sql.raw_records import open_raw
from state.verify.chain import Chain, check_next

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STREAMS = 16
TURNS = 400
TRIES = 5
BAR = 200_000
PERSON = "tg:7"


async def journal_benches() -> list[dict[str, Any]]:
    """Fold, verification of the chain, and the bare hashing it cannot do without."""
    return await asyncio.to_thread(_benches)


def _benches() -> list[dict[str, Any]]:
    steps = [(type(event).__name__, event.model_dump(mode="json"), format_iso(NOW)) for number in range(TURNS) for event in turn(number)]
    folded = _best(lambda: _folded(steps))
    early, late = steps[: len(steps) // 4], steps[-len(steps) // 4 :]
    state = fold.fold_events(fold.create_state(), steps)
    flat = _best(lambda: _folded(late, state)) / _best(lambda: _folded(early))
    with tempfile.TemporaryDirectory() as folder:
        url = build_sqlite_url(Path(folder) / "bench.db")
        size = _written(url)
        verified = _best(lambda: _verified(url))
    hashed = _best(lambda: _hashed(size))
    return [
        _row("fold events/s", round(folded), "1/s", f">= {BAR}", holds=folded >= BAR),
        _row("fold events/s, late / early", round(flat, 2), "x", ">= 0.8", holds=flat >= 0.8),
        _row("verify records/s", round(verified), "1/s", f">= {BAR}", holds=verified >= BAR, versus=f"records of {size} B"),
        _row("verify / bare hashing", round(verified / hashed, 2), "x", "", holds=None, versus=f"hashing alone {round(hashed)}/s"),
    ]


def turn(number: int) -> list[Event]:
    """The events of one turn: asked, answered, shown, approved, done."""
    turn_id, card = generate_id(), f"{number:010x}"
    call = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 100_000 + number}}}
    place = {"turn_id": turn_id, "slot": f"{turn_id}/1/1"}
    effect = {"effect_id": sha256(turn_id.encode()).hexdigest()[:32]}
    digest = {"fingerprint": sha256(card.encode()).hexdigest(), "essence": sha256(turn_id.encode()).hexdigest()}
    before = {"deal:481": {"OPPORTUNITY": "120000.00", "CURRENCY_ID": "RUB", "ASSIGNED_BY_ID": "7", "TITLE": "Ромашка"}}
    answer = f"THOUGHT:\nменяю\nACTION:\n[{call}]\nASSISTANT:\nМеняю сумму сделки Ромашка, подтвердите, пожалуйста."
    line = {"field": "OPPORTUNITY", "name": "Сумма", "before": "120 000 ₽", "after": f"{100_000 + number} ₽"}
    preview = {"entity": "deal", "id": 481, "title": "Ромашка", "verb": "update", "lines": [line]}
    return [
        MessageReceived(turn_id=turn_id, text=f"подними сумму сделки Ромашка, раз {number}"),
        ModelAnswered(turn_id=turn_id, iteration=1, text=answer, model="bench"),
        PlanRecorded(turn_id=turn_id, iteration=1, mode="full", steps=[call | {"slot": place["slot"], "comment": "так попросили"}]),
        ConfirmationRequested(
            **effect,
            **place,
            **digest,
            **call,
            confirmation_id=card,
            nonce="0badcafe",
            call_class="W",
            before=before,
            preview=preview,
            reasons=[{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}],
            requested_by=PERSON,
            requested_at=format_iso(NOW),
            expires_at=format_iso(NOW),
        ),
        TurnFinished(turn_id=turn_id, reason="waiting", text="Меняю сумму.", history="Меняю сумму.", targets=["deal:481"]),
        ConfirmationApproved(
            **effect, confirmation_id=card, approved_by=PERSON, approved_by_name="Борис", approved_at=format_iso(NOW), via="button"
        ),
        CallStarted(
            **effect,
            **place,
            **digest,
            **call,
            kind="bitrix",
            call_class="W",
            requested_by=PERSON,
            approved_by=PERSON,
            confirmation_id=card,
            before=before,
        ),
        CallSucceeded(
            **effect,
            **place,
            method="crm.deal.update",
            call_class="W",
            result=True,
            seconds=0.2,
            confirmation_id=card,
            changes=StateChanges(objects={"current_deal_id": 481}, done=f"crm.deal.update deal 481, раз {number}"),
        ),
    ]


def _folded(steps: list[tuple[str, dict[str, Any], str]], state: SessionState | None = None) -> float:
    begun = time.process_time()
    fold.fold_events(fold.create_state() if state is None else state, steps)
    return len(steps) / (time.process_time() - begun)


def _written(url: str) -> int:
    """Fill the database, the streams one after the other in each turn as in life; the size of a record on the average."""
    store = open_store(url)
    keys = [f"tg:{1000 + number}" for number in range(STREAMS)]
    epochs = {}
    for key in keys:
        lease = store.acquire(key, "bench", NOW, NOW + timedelta(days=1))
        if lease is None:
            raise RuntimeError(key)
        epochs[key] = lease.epoch
    size = count = 0
    for number in range(TURNS):
        for key in keys:
            commit = Commit(stream=f"session:{key}", epoch=epochs[key], actor=PERSON, now=NOW, events=turn(number))
            stored = store.commit(commit)
            size, count = size + sum(len(event.raw.encode()) for event in stored), count + len(stored)
    store.close()
    return size // count


def _verified(url: str) -> float:
    with open_raw(url) as raw:
        begun, count = time.process_time(), 0
        for stream in sorted(raw.list_streams()):
            chain = Chain(stream=stream)
            count += sum(check_next(chain, raw))
            if chain.findings:
                raise RuntimeError(chain.findings[0].why)
        return count / (time.process_time() - begun)


def _hashed(size: int) -> float:
    text, count = b"x" * (size + 64), STREAMS * TURNS
    begun = time.process_time()
    for _ in range(count):
        sha256(text).hexdigest()
    return count / (time.process_time() - begun)


def _best(measure: Callable[[], float]) -> float:
    """Of some runs the fastest: what other programs of the machine take away is no property of ours."""
    return max(measure() for _ in range(TRIES))


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None, versus: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
