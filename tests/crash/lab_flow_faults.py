"""Faults planted into edits, undos, decisions of leads, forwarded leads, second requests and turns that go on. Imported by the child only."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from orchestrator.features.cards import resubmit
from orchestrator.features.talking import feature
from orchestrator.features.undo import rules
from orchestrator.gate.undo import undo_policy
from orchestrator.runtime import recovery
from orchestrator.sessions import paused_turns, steps, turn_context
from orchestrator.sessions.session import Session
from orchestrator.turns import turn
from state.clock import generate_id
from state.events.cards import EditClosed
from state.events.leads import DenialReasonGiven


def _in_two(parted: Callable[[Any], bool], apart: Sequence[str]) -> None:
    """Commits with such an event are made in two: what is named in `apart` comes in a commit of its own afterwards, with the events or without."""
    whole = Session.commit

    async def commit(self: Any, *events: Any, actor: str, **more: Any) -> None:
        if not any(parted(event) for event in events):
            await whole(self, *events, actor=actor, **more)
            return
        later = {name: more.pop(name) for name in apart if name in more}
        own = () if "events" in apart else events
        await whole(self, *own, actor=actor, **more)
        await whole(self, *(events if "events" in apart else ()), actor=actor, **later)

    Session.commit = commit  # type: ignore[method-assign]


def edit_apart() -> None:
    """The new card is shown first, and the old one closes in a commit of its own."""
    _in_two(lambda event: isinstance(event, EditClosed) and event.how == "replaced", ("events", "effects", "timers"))


def reason_apart() -> None:
    """What a lead wrote is done with before the reason is on its way to the conversation of the card."""
    _in_two(lambda event: isinstance(event, DenialReasonGiven), ("inbox_new",))


def undo_blind() -> None:
    """What somebody has changed since is no reason not to take a call back."""
    rules.is_same_value = lambda *given: True


def undo_found_alone() -> None:
    """Of an undo that is found carried out later, the card that it took back is not drawn anew."""
    alone = SimpleNamespace(
        add_undo_status=undo_policy.add_undo_status, is_undo_offered=undo_policy.is_undo_offered, find_original=lambda *given: None
    )
    recovery.undo_policy = alone  # type: ignore[assignment, attr-defined]


def forward_every_time() -> None:
    """Each press makes a request of its own out of a forwarded message."""
    made = feature.build_request

    def anew(*given: Any, **more: Any) -> Any:
        number = generate_id()
        return replace(made(*given, **more), id=number, source=f"press:{number}")

    feature.build_request = anew  # type: ignore[attr-defined]


def again_every_time() -> None:
    """Each press asks for the same thing once more."""
    submitted = resubmit.submit_again

    async def anew(entry: Any, params: Any, slot: str, *given: Any, **more: Any) -> Any:
        return await submitted(entry, params, f"{slot}/{generate_id()}", *given, **more)

    resubmit.submit_again = anew


def go_on_apart() -> None:
    """The last card is settled in one commit, and the input with which its turn goes on is stored in the next one."""
    build, commit = steps.build_go_on_rows, Session.commit
    late: list[Any] = []

    def put_off(*given: Any) -> list[Any]:
        late.extend(build(*given))
        return []

    async def in_two(self: Any, *events: Any, actor: str, **more: Any) -> None:
        await commit(self, *events, actor=actor, **more)
        if late:
            rows = [late.pop() for _ in range(len(late))]
            await commit(self, actor="system", inbox_new=rows)

    steps.build_go_on_rows = put_off  # type: ignore[attr-defined]
    Session.commit = in_two  # type: ignore[method-assign]


def go_on_forgotten() -> None:
    """Once a turn has begun to go on, the input that made it do so is thought to be done with."""
    restore = turn._restore_turn

    async def only_paused(said: Any, session: Any, tools: Any) -> Any:
        return await restore(said, session, tools) if said.turn_id in (session.state.paused or {}) else None

    turn._restore_turn = only_paused


def go_on_early() -> None:
    """A turn goes on when the first of its cards is decided, and not when the last one is."""
    paused_turns.OPEN_STATUSES = frozenset()  # type: ignore[attr-defined]


def told_again() -> None:
    """What a turn had done before its cards is submitted once more, as if it were new, and nobody looks what the turn has done already."""
    submit = turn_context.Context.submit

    async def anew(self: Any, effect: Any) -> Any:
        told = effect.slot in self.recorded.told.slots
        return await submit(self, effect.model_copy(update={"slot": f"{effect.slot}/anew"}) if told else effect)

    turn_context.Context.submit = anew  # type: ignore[method-assign]
    turn_context.Context._list_earlier_effects = lambda self, slot: []  # type: ignore[method-assign]


def told_as_first() -> None:
    """Of a card that was replaced the turn reads what became of the first, not of the last."""
    paused_turns.find_origin_slots = lambda cards: {one.confirmation_id: one.slot for one in cards.values()}  # type: ignore[attr-defined]


PLANTED: tuple[Callable[[], None], ...] = (
    edit_apart,
    reason_apart,
    undo_blind,
    undo_found_alone,
    forward_every_time,
    again_every_time,
    go_on_apart,
    go_on_forgotten,
    go_on_early,
    told_again,
    told_as_first,
)
