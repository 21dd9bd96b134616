"""What reports read of JSON that the program stored: the steps of a recorded plan, and the calls of the effects table."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class NameProblem(View):
    """Why a reference in a step could not be resolved, as a message code and an English sentence."""

    code: str
    detail: str = ""


class PlanStep(View):
    """A step of a recorded plan, as the model wrote it with names resolved."""

    slot: str = ""
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    comment: str = ""
    prose: bool = False
    """Whether free text of others had been read when it was resolved."""
    problem: NameProblem | None = None


class SentCall(View):
    """The exact call of an effect; of an erased person only an outline is left."""

    portal: str | None = None
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    classes: Sequence[str] = ()


class EffectOrder(View):
    """The frozen request of an effect: its call, and who asked for it where."""

    call: SentCall = SentCall()
    turn_id: str = ""
    slot: str = ""
    confirmation_id: str = ""
    requested_by: str = ""
    proposed_by: str = ""
    before: JsonObject | None = None
    started_at: str = ""


class EffectOutcome(View):
    """The stored outcome of an effect."""

    commands: Sequence[JsonObject] = ()
    """Of a batch, as `CommandReport`."""
    reason: Notice | None = None
    """What the person was told."""
