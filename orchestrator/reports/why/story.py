"""Data classes for the command `sdelka journal why`: the story of one call, and what the bot saw of a record in the portal.

All texts in them are in English and safe to show. `to_json` returns an object for programs; `CallStory.to_json` leaves out the fields that
were not set.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, PlainSerializer, model_serializer

from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.frozen import View
from orchestrator.domain.outcome import CommandReport
from orchestrator.engines.base import PlanStep
from state.model.card import Card
from state.stored import JsonObject


class Change(PreviewLine):
    """A field that a call changes, with its old and new value."""

    record: str
    """The record, "deal:481", or "new deal" for one that the call creates."""
    before_recorded: bool
    """Whether the journal knows the old value; if not, `before` is empty."""


class SeenChange(PreviewLine):
    """A field whose value differs from that of the previous reading, and the call of the bot that wrote it in between, if there is one."""

    by: str = ""
    """The person who requested that call; "" if there is none."""
    through: str = ""
    """The effect id of that call; "" if there is none."""
    perhaps_erased: bool = False
    """Whether a call of an erased person may have written the value."""
    perhaps_unreadable: bool = False
    """Whether a call whose record is damaged may have written the value."""


class Request(View):
    """The request that led to a call: who asked, when and in which words."""

    by: str
    person: str
    at: str
    """The time of the message; "" if it is not in the journal."""
    words: str
    origin: str
    with_foreign_text: bool = False
    """Whether the message contained forwarded or pasted text of somebody else."""
    run: str = ""
    """The run (execution of a scenario, flow or workflow) that proposed the call, with the node; "" if a message led to the call."""


class Proposal(View):
    """The step that the model proposed, with the model's name, iteration and thought."""

    at: str
    model: str
    iteration: int
    thought: str
    step: Annotated[InstanceOf[PlanStep], PlainSerializer(PlanStep.to_stored)]


class GateVerdict(View):
    """What the gate decided about a call, in which mode of the bot, and why."""

    decision: Literal["refused", "asked", "allowed", "withdrawn", "planned"]
    mode: str
    at: str
    codes: Sequence[str]
    reasons: Sequence[str]


class Superseded(View):
    """When and why an approved card was not run."""

    at: str
    why: str


class Decision(View):
    """Who decided a card, when, on which channel, and how long after it was shown."""

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
    """A card as it was shown, and its decision; `decided` is None while the card waits."""

    card: InstanceOf[Card]
    """Only what people saw of it, without secrets."""
    replaces: str
    erased: bool
    decided: Decision | None

    @model_serializer
    def to_json(self) -> dict[str, Any]:
        """Return the card as a JSON object for programs."""
        decided = self.decided.to_json() if self.decided else None
        return {**self.card.to_stored(), "replaces": self.replaces, "erased": self.erased, "status": "requested", "decided": decided}


class Run(View):
    """When the call was sent, and what Bitrix24 answered."""

    started_at: str
    ended_at: str
    outcome: str
    seconds: float | None
    sent: bool = True
    """False if no start was recorded: for a read, whose start is never recorded, and for a call refused before its start."""
    answer: str
    commands: Sequence[CommandReport] = ()
    unchanged: Sequence[str] = ()
    """Fields that still have their old value although the portal reported success."""
    code: str = ""


class Look(View):
    """One check in the portal whether a call with an unknown outcome was executed."""

    at: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: str


class Doubt(View):
    """When and why the outcome of a call became unknown, and the later checks in the portal."""

    at: str
    detail: str
    looks: Sequence[Look]


class CallStory(View):
    """Everything that the journal knows of one call."""

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
    """The effect id of an earlier call that this call undoes; "" if it undoes none."""
    proposed: Proposal | None
    judged: GateVerdict
    card: StoryCard | None
    run: Run | None
    doubt: Doubt | None
    erased: bool
    unreadable: bool

    def to_json(self) -> dict[str, Any]:
        """Return the story as a JSON object for programs."""
        changes = [{"record": change.record, **change.to_json()} for change in self.changes]
        return {"kind": "call", **self.model_dump(mode="json", exclude_unset=True, by_alias=True), "changes": changes}


class Sighting(View):
    """An event that the portal posted about a record, or a reading of the record that found a change."""

    at: str
    session: str
    records: Sequence[str]
    kind: Literal["portal_event", "gone", "seen", "first_seen"]
    event: str = ""
    """The name of the posted event; "" for a reading."""
    words: str = ""
    """The posted event as a sentence; "" for a reading."""
    changes: Sequence[SeenChange] = ()


Story = CallStory | Sighting
