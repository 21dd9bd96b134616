"""The freeze (all writes stopped by operations staff) in the gate: which calls still run, and how others are refused.

The final check is elsewhere: the transaction that starts a call asks the database itself (`state.journal.freeze_switch`).
"""

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.serialization import StoredCall
from state.journal.freeze_switch import FreezeState

CODE = "frozen"
CARD = "frozen-card"


def may_run_while_frozen(call: Call | StoredCall) -> bool:
    """Return whether `call` may run while writes are frozen: it only reads, or writes only to the bot's own database."""
    return call.kind == "schedule" or set(call.classes) <= {"R"}


def build_freeze_refusal(standing: FreezeState, call: Call) -> Refuse:
    """Return the refusal of a write while writes are frozen: one sentence for the person, one for the model."""
    who = f" by {standing.name}" if standing.name else ""
    detail = (
        f"writing is stopped for everybody{who} (an administrator froze it): nothing was sent. Reading goes on. "
        "Propose no other write in this turn; the person is told."
    )
    return Refuse(reason=Notice(code=CODE, args={**build_freeze_args(standing), "method": call.method}), detail=detail)


def build_card_notice(standing: FreezeState) -> Notice:
    """Return the message for a person who wants to approve a card while writes are frozen: the card stays open."""
    return Notice(code=CARD, args=build_freeze_args(standing))


def build_freeze_args(standing: FreezeState) -> dict[str, str]:
    """Return the message arguments that describe the freeze `standing`."""
    return to_freeze_args(standing.name, standing.at, standing.reason)


def to_freeze_args(who: str, at: str, why: str) -> dict[str, str]:
    """Return the message arguments that describe a freeze: who froze writes, when (`at`) and the reason."""
    return {"who": who, "at": at, "why": why, "known": "yes" if who else "no", "given": "yes" if why else "no"}
