"""The story of a call, and sightings of a record. All texts are English and safe to show.

`CallStory.to_json` leaves out fields that were not set.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, PlainSerializer, model_serializer

from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.effect import CommandReport
from orchestrator.domain.frozen import View
from orchestrator.engines.base import PlanStep
from state.model.card import Card
from state.stored import JsonObject


class Change(PreviewLine):
    record: str
    """Such as "deal:481", or "new deal" for one that the call creates."""
    before_recorded: bool
    """If not, `before` is empty."""


class SeenChange(PreviewLine):
    """A field that differs from the previous reading, and the bot's call in between, if any."""

    by: str = ""
    """Who requested that call; "" if there is none."""
    through: str = ""
    """Its effect id; "" if there is none."""
    perhaps_erased: bool = False
    """A call of an erased person may have written it."""
    perhaps_unreadable: bool = False
    """A call with a damaged record may have written it."""


class Request(View):
    by: str
    person: str
    at: str
    """Empty if the message is not in the journal."""
    words: str
    origin: str
    with_foreign_text: bool = False
    """Forwarded or pasted text of somebody else."""
    run: str = ""
    """The run and node that proposed the call; "" if a message led to it."""


class Proposal(View):
    at: str
    model: str
    iteration: int
    thought: str
    step: Annotated[InstanceOf[PlanStep], PlainSerializer(PlanStep.to_stored)]


class GateVerdict(View):
    decision: Literal["refused", "asked", "allowed", "withdrawn", "planned"]
    mode: str
    at: str
    codes: Sequence[str]
    reasons: Sequence[str]


class Superseded(View):
    at: str
    why: str


class Decision(View):
    status: str
    at: str
    by: str
    person: str
    via: str
    reason: str
    replaced_by: str
    waited_seconds: float
    superseded: Superseded | None = None


class StoryCard(View):
    """`decided` is None while the card waits."""

    card: InstanceOf[Card]
    """Only what people saw, without secrets."""
    replaces: str
    erased: bool
    decided: Decision | None

    @model_serializer
    def to_json(self) -> dict[str, Any]:
        decided = self.decided.to_json() if self.decided else None
        return {**self.card.to_stored(), "replaces": self.replaces, "erased": self.erased, "status": "requested", "decided": decided}


class Run(View):
    started_at: str
    ended_at: str
    outcome: str
    seconds: float | None
    sent: bool = True
    """False without a recorded start: reads, and calls refused before it."""
    answer: str
    commands: Sequence[CommandReport] = ()
    unchanged: Sequence[str] = ()
    """They kept the old value although the portal reported success."""
    code: str = ""


class Look(View):
    """A check in the portal whether a call of unknown outcome was executed."""

    at: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: str


class Doubt(View):
    at: str
    detail: str
    looks: Sequence[Look]


class CallStory(View):
    at: str
    effect_id: str
    confirmation_id: str
    session: str
    outcome: str
    method: str
    params: JsonObject
    call_class: str = Field(serialization_alias="class")
    records: Sequence[str]
    changes: Sequence[Change]
    asked: Request | None
    undoes: str
    """Effect id of an earlier call; "" if it undoes none."""
    proposed: Proposal | None
    judged: GateVerdict
    card: StoryCard | None
    run: Run | None
    doubt: Doubt | None
    erased: bool
    unreadable: bool

    def to_json(self) -> dict[str, Any]:
        changes = [{"record": change.record, **change.to_json()} for change in self.changes]
        return {"kind": "call", **self.model_dump(mode="json", exclude_unset=True, by_alias=True), "changes": changes}


class Sighting(View):
    """An event posted by the portal, or a reading that found a change."""

    at: str
    session: str
    records: Sequence[str]
    kind: Literal["portal_event", "gone", "seen", "first_seen"]
    event: str = ""
    """Empty for a reading."""
    words: str = ""
    """As a sentence; "" for a reading."""
    changes: Sequence[SeenChange] = ()


Story = CallStory | Sighting
