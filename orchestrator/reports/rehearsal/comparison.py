"""Compares two sets of rules over the recorded plans. Sends and writes nothing.

Stream by stream, the latest first, so that others can read between.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.domain.outputs import Notice
from orchestrator.reports.rehearsal.recorded_plans import may_hold_plans, read_stream_plans
from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, RehearsedStep, RehearsedVerdict, Rules, evaluate_plans
from state.clock import read_boottime
from state.journal.async_store import AsyncStore
from state.journal.store import Store

MOST_STEPS: Final = 5_000
MOST_SECONDS: Final = 60.0
MOST_CHANGES: Final = 200
"""Kept one by one; all are counted."""
_TOGETHER: Final = 200
"""Looked up in one read."""


@dataclass(frozen=True, kw_only=True)
class ChangedStep:
    at: str
    session: str
    call: str
    method: str
    person: str
    before: RehearsedVerdict
    after: RehearsedVerdict
    reasons: tuple[Notice, ...]
    """Of the new rules."""


@dataclass(kw_only=True)
class Comparison:
    streams: int = 0
    read: int = 0
    plans: int = 0
    steps: int = 0
    changed: int = 0
    changes: list[ChangedStep] = field(default_factory=list)
    verdicts: Counter[tuple[RehearsedVerdict, RehearsedVerdict]] = field(default_factory=Counter)
    """(old, new) → steps."""
    is_cut: bool = False
    """Older plans were left out: too many, or out of time."""


async def compare_rules(
    store: AsyncStore, old: Rules, new: Rules, *, since: str, show: Callable[[Comparison], None] = lambda _: None
) -> Comparison:
    """From `since` on (ISO 8601). `show` is called after each stream. Raises StoreError and UnknownEvent."""
    comparison, until = Comparison(), read_boottime() + MOST_SECONDS
    streams = await _list_recent_streams(store, since)
    comparison.streams = len(streams)
    for stream in streams:
        if comparison.steps >= MOST_STEPS or read_boottime() > until:
            comparison.is_cut = True
            break
        for before, after in await store.read(_evaluate_stream, stream, old, new, since):
            _add(comparison, before, after)
        comparison.read += 1
        show(comparison)
    comparison.changes.sort(key=lambda change: change.at, reverse=True)
    return comparison


async def _list_recent_streams(store: AsyncStore, since: str) -> Sequence[str]:
    heads = [(stream, seq) for stream, seq, _ in await store.read(lambda opened: opened.list_heads()) if may_hold_plans(stream)]
    latest: list[tuple[str, str]] = []
    for start in range(0, len(heads), _TOGETHER):
        latest += await store.read(_read_last_times, heads[start : start + _TOGETHER])
    return [stream for at, stream in sorted(latest, reverse=True) if at >= since]


def _read_last_times(store: Store, heads: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    last_events = ((stream, store.read_events(stream, seq - 1, 1)) for stream, seq in heads)
    return [(events[-1].ts, stream) for stream, events in last_events if events]


def _evaluate_stream(store: Store, stream: str, old: Rules, new: Rules, since: str) -> list[tuple[RehearsedPlan, RehearsedPlan]]:
    plans = [plan for plan in read_stream_plans(store, stream, since=since) if not plan.left_out]
    return list(zip(evaluate_plans(plans, old), evaluate_plans(plans, new), strict=True))


def _add(comparison: Comparison, before: RehearsedPlan, after: RehearsedPlan) -> None:
    comparison.plans += 1
    for old, new in zip(before.steps, after.steps, strict=True):
        comparison.steps += 1
        comparison.verdicts[old.now, new.now] += 1
        if _describe(old) != _describe(new):
            comparison.changed += 1
            if len(comparison.changes) < MOST_CHANGES:
                comparison.changes.append(_build_change(after, old, new))


def _describe(step: RehearsedStep) -> tuple[object, ...]:
    return step.now, step.taps, frozenset(reason.model_dump_json() for reason in step.reasons)


def _build_change(plan: RehearsedPlan, old: RehearsedStep, new: RehearsedStep) -> ChangedStep:
    return ChangedStep(
        at=plan.plan.at,
        session=plan.plan.session,
        call=new.step.call,
        method=new.step.method,
        person=plan.actor.name if plan.actor is not None else plan.plan.person,
        before=old.now,
        after=new.now,
        reasons=new.reasons,
    )
