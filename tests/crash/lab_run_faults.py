"""Faults planted into runs: their wake-ups, their memory, their children, their messages. Never imported by anything but the child."""

from collections.abc import Callable
from typing import Any

from orchestrator.runs import children, ending, runner
from orchestrator.runs.context import Context
from orchestrator.runs.memo import Memo
from orchestrator.sessions import steps
from orchestrator.sessions.session import Session
from state.clock import generate_id
from state.events.runs import RunWaits
from state.journal.store import Commit


def _commit_apart(name: str, parted: Callable[[Any], bool]) -> None:
    """Rows of this argument of a commit that `parted` names come in a commit of their own afterwards."""
    whole = Session.commit

    async def commit(self: Any, *events: Any, actor: str, **more: Any) -> None:
        later = [row for row in more.get(name, ()) if parted(row)]
        if later:
            more[name] = [row for row in more[name] if not parted(row)]
        await whole(self, *events, actor=actor, **more)
        if later:
            await whole(self, actor=actor, **{name: later})

    Session.commit = commit  # type: ignore[method-assign]


def run_wake_apart() -> None:
    """What settles an effect is stored first, and that its node is woken by it in a second transaction."""
    found, commit, buffer = steps._build_wakes, Session.commit, Session.buffer
    steps._build_wakes = lambda step, run: []

    def list_woken(self: Any, effects: Any) -> list[Any]:
        run = self.state.run
        return found(Commit(**self._build_head("system"), effects=effects), run) if run is not None else []

    async def wake(self: Any, woken: list[Any]) -> None:
        if woken:
            await commit(self, *woken, actor="system", inbox_new=[steps.build_play_row(self.key, self.now)])

    async def commit_in_two(self: Any, *events: Any, actor: str, **more: Any) -> None:
        woken = list_woken(self, more.get("effects", ()))
        await commit(self, *events, actor=actor, **more)
        await wake(self, woken)

    async def buffer_in_two(self: Any, *events: Any, actor: str, **more: Any) -> None:
        woken = list_woken(self, more.get("effects", ()))
        await buffer(self, *events, actor=actor, **more)
        if woken:
            await self.flush()
        await wake(self, woken)

    Session.commit = commit_in_two  # type: ignore[method-assign]
    Session.buffer = buffer_in_two  # type: ignore[method-assign]


def run_play_apart() -> None:
    """An answer is stored, and the order to go on in a second transaction."""
    _commit_apart("inbox_new", lambda row: row.kind == "run_play")


def run_end_apart() -> None:
    """A child's end is stored, and the news for its parent in a second transaction."""
    _commit_apart("inbox_new", lambda row: row.kind == "run_child_end")


def run_start_apart() -> None:
    """The command that starts a run is done with before the run is ordered."""
    _commit_apart("inbox_new", lambda row: row.kind == "run_start" and not row.body.get("parent"))


def run_memo_ignored() -> None:
    """A run that is played again does not look for the answers of the model that it has."""
    add = Memo.add

    def forgetful(self: Any, kind: str, data: Any) -> None:
        if kind != "NodeDone" or data.get("kind") != "model":
            add(self, kind, data)

    Memo.add = forgetful  # type: ignore[method-assign]


def run_child_twice() -> None:
    """A child is ordered before it is stored that its parent waits for it, and each order is for a new one."""
    children.build_child_key = lambda parent, node, attempt: f"run:{generate_id()}"
    store = Context.store

    async def in_two(self: Any, event: Any, **more: Any) -> None:
        if isinstance(event, RunWaits) and event.on == "run":
            await self.session.commit(actor=self.run.owner, inbox_new=more.pop("inbox_new"))
        await store(self, event, **more)

    Context.store = in_two  # type: ignore[method-assign]


def run_wait_late() -> None:
    """A run is put to rest before it is stored what it waits for."""
    store, rest = Context.store, runner.Runner._rest
    kept: dict[str, list[Any]] = {}

    async def keep(self: Any, event: Any, **more: Any) -> None:
        if isinstance(event, RunWaits) and event.on == "input":
            kept.setdefault(self.session.key, []).append((self, event, more))
        else:
            await store(self, event, **more)

    async def rest_first(self: Any, ctx: Any, queued: Any) -> None:
        waits = kept.pop(ctx.session.key, [])
        if not waits:
            await rest(self, ctx, queued)
            return
        await ctx.session.commit(actor="system", inbox_done=queued)
        for own, event, more in waits:
            own._is_counted = False
            more.pop("inbox_new", None)
            await store(own, event, **more)

    Context.store = keep  # type: ignore[method-assign]
    runner.Runner._rest = rest_first  # type: ignore[method-assign]


def run_say_again() -> None:
    """What was said is said again each time the run is played, as a message of its own."""
    say = Context.say

    async def anew(self: Any, reply: Any, *, key: str) -> None:
        fresh = f"{key}/{generate_id()}"
        await say(self, reply, key=fresh)

    Context.say = anew  # type: ignore[method-assign]


def run_effect_anew() -> None:
    """Each time a node is played it proposes an effect of its own."""
    build = Context._build_effect

    def anew(self: Any, node: str, effect: Any, attempt: int) -> Any:
        built = build(self, node, effect, attempt)
        return built.model_copy(update={"slot": f"{built.slot}/{generate_id()}"})

    Context._build_effect = anew  # type: ignore[method-assign]


def run_cards_kept() -> None:
    """The cards of a run that was cancelled stay open."""

    async def leave(session: Any, run: Any) -> None:
        del session, run

    ending._withdraw_cards = leave


def run_timer_lost() -> None:
    """The timer of a node that sleeps is set after it is stored that it waits."""
    store = Context.store

    async def in_two(self: Any, event: Any, **more: Any) -> None:
        timers = more.pop("timers", ())
        await store(self, event, **more)
        if timers:
            await self.session.commit(actor=self.run.owner, timers=timers)

    Context.store = in_two  # type: ignore[method-assign]


def run_retry_blind() -> None:
    """What was refused is not attempted anew when a person asks for that."""
    Memo._forget_refused = lambda self: None  # type: ignore[method-assign]


PLANTED: tuple[Callable[[], None], ...] = (
    run_wake_apart,
    run_play_apart,
    run_end_apart,
    run_start_apart,
    run_memo_ignored,
    run_child_twice,
    run_wait_late,
    run_say_again,
    run_effect_anew,
    run_cards_kept,
    run_timer_lost,
    run_retry_blind,
)
