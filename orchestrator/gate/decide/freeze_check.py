"""Which calls still run while operators have stopped all writes. The final check is `state.journal.freeze_switch`."""

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.serialization import StoredCall
from state.journal.freeze_switch import FreezeState

CODE = "frozen"
CARD = "frozen-card"


def may_run_while_frozen(call: Call | StoredCall) -> bool:
    """It only reads, or writes only to the bot's own database."""
    return call.kind == "schedule" or set(call.classes) <= {"R"}


def build_freeze_refusal(standing: FreezeState, call: Call) -> Refuse:
    who = f" by {standing.name}" if standing.name else ""
    detail = (
        f"writing is stopped for everybody{who} (an administrator froze it): nothing was sent. Reading goes on. "
        "Propose no other write in this turn; the person is told."
    )
    return Refuse(reason=Notice(code=CODE, args={**build_freeze_args(standing), "method": call.method}), detail=detail)


def build_card_notice(standing: FreezeState) -> Notice:
    """The card stays open."""
    return Notice(code=CARD, args=build_freeze_args(standing))


def build_freeze_args(standing: FreezeState) -> dict[str, str]:
    return to_freeze_args(standing.name, standing.at, standing.reason)


def to_freeze_args(who: str, at: str, why: str) -> dict[str, str]:
    return {"who": who, "at": at, "why": why, "known": "yes" if who else "no", "given": "yes" if why else "no"}
