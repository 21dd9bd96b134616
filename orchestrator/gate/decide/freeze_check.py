"""The freeze (all writes stopped by operations staff) in the gate: which calls still run, and how others are refused.

The final check is elsewhere: the transaction that starts a call asks the database itself (`state.journal.freeze_switch`).
"""

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.serialization import StoredCall
from state.journal.freeze_switch import FreezeState, SwitchOperator, SwitchResult
from state.journal.store import StoreError

CODE = "frozen"
CARD = "frozen-card"


class NeverFrozen:
    """The `FreezeSwitch` of a gate that has no real switch; writes are never frozen.

    The check in the database still applies.
    """

    async def find_freeze(self) -> FreezeState | None:
        """Return None: nothing is frozen."""
        return None

    async def fetch_freeze(self) -> FreezeState:
        """Return a `FreezeState` without a name, time or reason.

        The gate asks for it when the database has stopped a call because writes are frozen; this object cannot know by whom.
        """
        return FreezeState()

    async def freeze(self, _hand: SwitchOperator, _reason: str = "") -> SwitchResult:
        """Raise StoreError: there is no switch."""
        raise StoreError("this gate has no switch that freezes writes")

    async def release(self, _hand: SwitchOperator, _seq: int | None = None) -> SwitchResult:
        """Report that nothing changed, since nothing is frozen."""
        return SwitchResult(changed=False, state=None)


def may_run_while_frozen(call: Call | StoredCall) -> bool:
    """Return whether `call` may run even while writes are frozen.

    A call may if it only reads, or if it writes only to the bot's own database, as a reminder does.
    """
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
    """Return the message arguments that describe a freeze: who froze writes, when (`at`) and the reason.

    `known` and `given` ("yes" or "no") say whether the name and the reason are known.
    """
    return {"who": who, "at": at, "why": why, "known": "yes" if who else "no", "given": "yes" if why else "no"}
