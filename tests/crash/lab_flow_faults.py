"""Faults planted into edits, undos, decisions of leads, forwarded leads and second requests. Never imported by anything but the child."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from orchestrator.features.cards import resubmit
from orchestrator.features.talking import button_requests
from orchestrator.features.undo import rules
from orchestrator.gate.approve import undo_policy
from orchestrator.runtime import recovery
from orchestrator.runtime.session import Session
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
    made = button_requests.build_request

    def anew(*given: Any, **more: Any) -> Any:
        number = generate_id()
        return replace(made(*given, **more), id=number, source=f"press:{number}")

    button_requests.build_request = anew  # type: ignore[attr-defined]


def again_every_time() -> None:
    """Each press asks for the same thing once more."""
    submitted = resubmit.submit_again

    async def anew(entry: Any, params: Any, slot: str, *given: Any, **more: Any) -> Any:
        return await submitted(entry, params, f"{slot}/{generate_id()}", *given, **more)

    resubmit.submit_again = anew


PLANTED: tuple[Callable[[], None], ...] = (edit_apart, reason_apart, undo_blind, undo_found_alone, forward_every_time, again_every_time)
