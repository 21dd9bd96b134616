"""What it means for the gate that writes are frozen: which calls go on, and how the others are refused. Ring 2, pure but for the port.

The last word is not here: the transaction that would start a call asks the database itself (`state.journal.freeze_switch`).
"""

from collections.abc import Sequence

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Refuse
from state.journal.freeze_switch import FreezeState, SwitchOperator, SwitchResult
from state.journal.store import StoreError

CODE = "frozen"
CARD = "frozen-card"


class NeverFrozen:
    """For a gate beside which nobody freezes anything; what the store says still holds."""

    async def find_freeze(self) -> FreezeState | None:
        """None."""
        return None

    async def fetch_freeze(self) -> FreezeState:
        """Somebody did after all; nobody knows who."""
        return FreezeState()

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """There is nothing to freeze with."""
        del hand, reason
        raise StoreError("this gate has no switch that freezes writes")

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """Nothing is frozen."""
        del hand, seq
        return SwitchResult(changed=False, state=None)


def may_run_while_frozen(kind: str, classes: Sequence[str]) -> bool:
    """Whether such a call goes on while writes are frozen: it only reads, or is kept by the bot alone, as reminders are."""
    return kind == "schedule" or set(classes) <= {"R"}


def may_call_run_while_frozen(call: Call) -> bool:
    """The same of a call."""
    return may_run_while_frozen(call.kind, call.classes)


def build_freeze_refusal(standing: FreezeState) -> Refuse:
    """The refusal of a write: one sentence for the person, one for the model."""
    who = f" by {standing.name}" if standing.name else ""
    detail = (
        f"writing is stopped for everybody{who} (an administrator froze it): nothing was sent. Reading goes on. "
        "Propose no other write in this turn; the person is told."
    )
    return Refuse(reason=_build_notice(CODE, standing), detail=detail)


def build_card_notice(standing: FreezeState) -> Notice:
    """What somebody is told who wants to approve a card: it stays open."""
    return _build_notice(CARD, standing)


def _build_notice(code: str, standing: FreezeState) -> Notice:
    return Notice(code=code, args=build_freeze_args(standing))


def build_freeze_args(standing: FreezeState) -> dict[str, str]:
    """The arguments of a sentence that tells of it."""
    return to_freeze_args(standing.name, standing.at, standing.reason)


def to_freeze_args(who: str, at: str, why: str) -> dict[str, str]:
    """The same of the parts; catalogues choose by `known` and `given` whether there is anything to name."""
    return {"who": who, "at": at, "why": why, "known": "yes" if who else "no", "given": "yes" if why else "no"}
