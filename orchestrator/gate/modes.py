"""What each mode lets through, and the mode that holds for an actor. Ring 2, pure."""

from orchestrator.gate.effects import Call
from orchestrator.messages import MODES, Actor, Mode


def resolve_mode(mode: Mode, actor: Actor) -> Mode:
    """The lower of the agent's mode and the highest mode the actor may use (DESIGN §6)."""
    return MODES[min(MODES.index(mode), MODES.index(actor.max_mode))]


def may_run(call: Call, mode: Mode) -> bool:
    """Whether the mode knows the call at all: canary = reads and safe creates, full = all listed (S004-8, S004-28, S004-68).

    Shadow runs nothing, so it lets every call through to be planned.
    """
    if mode != "canary":
        return True
    return call.reads_only or (call.spec.safe_create and set(call.classes) <= {"R", "W"})
