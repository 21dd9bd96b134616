"""Starts another run or a turn as a child."""

from collections.abc import Mapping

from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.run_inputs import RunOrder, RunStart
from orchestrator.domain.taint import NOWHERE, Value
from orchestrator.engines.runs import Reasons, RunFailed, RunResult, RunSuspended
from orchestrator.runs.memo import Memo, format_args
from orchestrator.runs.run_pass import RunPass
from orchestrator.runs.turns import play_turn
from state.canonical import hash_text
from state.events.runs import RunWaits, RunWoken
from state.journal.run_index import PREFIX, RunFilter

MAX_DEPTH = 12
"""Deeper than this a definition probably starts itself."""


class Children:
    def __init__(self, context: RunPass) -> None:
        self._context = context

    async def run_child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Raises RunSuspended until the child has ended."""
        ctx = self._context
        if (woken := ctx.known.woken.get(node)) is not None:
            return read_child_result(woken)
        if engine in ctx.tools.engines:
            if ctx.actor.for_customers:  # a turn reads whatever the words ask for
                raise RunFailed("run-not-for-customers", f"a turn of {engine} is not for customers")
            return await play_turn(ctx, node, ctx.tools.engines[engine], args)
        ctx.check_going_on(node)
        if not ctx.is_waiting(node):
            depth = int(ctx.run.depth) + 1
            if depth > MAX_DEPTH:
                raise RunFailed("run-too-deep", f"more than {MAX_DEPTH} runs wait for each other", most=MAX_DEPTH)
            child = build_child_key(ctx.session.key, node, ctx.known.count_attempt(node))
            order = RunStart(
                engine=engine,
                definition=definition,
                home=ctx.run.home,
                args=format_args(args),
                parent=ctx.session.key,
                parent_node=node,
                depth=depth,
                pinned=tuple(dict(pin) for pin in ctx.run.pins),
                since=ctx.known.since,
            )
            if node in ctx.known.retried and (status := await self._find_status(child)):
                return await self._go_on(node, child, status)
            row = order.to_row(
                child,
                source=f"start:{child}" if node not in ctx.known.retried else f"start:{child}:{ctx.session.seq}",
                actor=ctx.actor.model_dump(mode="json") if ctx.actor else SYSTEM,
                now=ctx.now,
                lane="turn",
            )
            await ctx.store(RunWaits(node=node, on="run", waits_for=child), inbox_new=[row])
        raise RunSuspended(node)

    async def _find_status(self, child: str) -> str:
        runs = await self._context.tools.store.list_runs(RunFilter(run_id=child.removeprefix(PREFIX)))
        return runs[0].status if runs else ""

    async def _go_on(self, node: str, child: str, status: str) -> RunResult:
        """Nothing is done twice. What somebody else retried is waited for; if over, its result counts."""
        ctx = self._context
        is_orphan = node in ctx.known.orphaned
        if status == "done" or (status == "cancelled" and not is_orphan):
            memo = Memo()
            await memo.read(ctx.tools.store, child)
            if (end := memo.finished) is not None:
                value = Value(end.result, frozenset(end.origins))  # type: ignore[arg-type]  # stored as text
                return RunResult(value=value, status=end.status, code=end.code, title=memo.started.title if memo.started else "")
        retry = RunOrder(order="retry", parent=ctx.session.key).to_row(
            child, source=f"retry:{child}:{ctx.session.seq}", actor=ctx.actor.model_dump(mode="json"), now=ctx.now
        )
        await ctx.store(RunWaits(node=node, on="run", waits_for=child), inbox_new=[retry] if status == "failed" or is_orphan else [])
        raise RunSuspended(node)


def build_child_key(parent: str, node: str, attempt: int) -> str:
    """The same each time it is computed."""
    digits = hash_text(f"{parent}/{node}/{attempt}")
    return f"run:{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def read_child_result(woken: RunWoken) -> RunResult:
    stored = woken.value if isinstance(woken.value, Mapping) else {}
    value = Value.from_stored(stored["value"]) if isinstance(stored.get("value"), Mapping) else Value(None, NOWHERE)
    return RunResult(
        value=value,
        status=stored.get("status", "failed"),
        code=str(stored.get("code", "")),
        title=str(stored.get("title", "")),
        reasons=Reasons.from_stored(stored.get("reasons") or {}),
    )
