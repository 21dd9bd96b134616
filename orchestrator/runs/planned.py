"""What a run in shadow mode only planned."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import MAX_NODES, RunFailed
from orchestrator.runs.children import build_child_key
from orchestrator.runs.memo import CHILD, Memo, load_output
from state.journal.async_store import AsyncStore

MAX_SHOWN: Final = 40
"""Beyond it only the number is told."""
MAX_CHILDREN: Final = 200
"""Runs below the run that are looked at."""


async def build_plan_notices(key: str, memo: Memo, store: AsyncStore) -> list[Notice]:
    """Also of the runs below; a turn inside has told its own plan."""
    items = await _list_planned(memo, store)
    below = _list_children(key, memo)
    for number, child in enumerate(below):  # it grows by the children of each
        if number >= MAX_CHILDREN or len(below) > MAX_NODES:
            break
        inner = Memo()
        await inner.read(store, child)
        items += await _list_planned(inner, store)
        below += _list_children(child, inner)
    if not items:
        return []
    plan = Notice(code="shadow-plan", args={"items": items[:MAX_SHOWN]})
    more = len(items) - MAX_SHOWN
    return [plan, Notice(code="run-plan-more", args={"count": more})] if more > 0 else [plan]


async def _list_planned(memo: Memo, store: AsyncStore) -> list[dict[str, Any]]:
    """{method, preview} of each call, in the order of nodes."""
    calls: list[dict[str, Any]] = []
    for done in memo.done.values():
        if done.kind != "effect":
            continue
        try:
            outcome = (await load_output(done, store)).data
        except RunFailed:  # removed meanwhile, or damaged: the rest of the plan is worth telling
            continue
        if isinstance(outcome, Mapping) and outcome.get("status") == "planned":
            calls.append({"method": outcome["method"], "preview": outcome.get("preview") or {}})
    return calls


def _list_children(key: str, memo: Memo) -> list[str]:
    ended = (node for node, woken in memo.woken.items() if woken.by == CHILD)
    return [build_child_key(key, node, memo.count_attempt(node)) for node in ended]
