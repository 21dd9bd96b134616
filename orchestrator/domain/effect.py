from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import Field

from bitrix.client.batch import BatchError, Command, build_cmd, restore_written_keys
from orchestrator.domain.frozen import Frozen, View
from orchestrator.domain.outputs import Notice
from state.events.base import DEFAULT_ENGINE
from state.stored import JsonObject

ALREADY_SO: Final = frozenset({"gate-already-so", "came-back-done"})
"""The record holds the values, or the call ran before the backup."""
WAITS_ALREADY: Final = "card-waits-already"
"""A card of an earlier request asks for the same."""
COMPUTED_CHANGED: Final = "computed-changed"
"""A computed value's record has changed, so the approved call was not made."""


class CommandReport(View):
    key: str
    method: str
    status: Literal["success", "error", "not_run", "unknown"]
    error: str = ""


class Outcome(Frozen):
    """ "unknown": nobody knows whether the call happened, a person must check."""

    status: Literal["succeeded", "refused", "unknown", "planned"]
    effect_id: str
    method: str
    call_class: str = ""
    result: object = None
    total: int | None = None
    sums: Mapping[str, str] | None = None
    reason: Notice | None = None
    detail: str = ""
    """English, for the model and operations staff."""
    commands: tuple[CommandReport, ...] = ()
    call: JsonObject = Field(default_factory=dict)
    """As checked and sent."""
    entity: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Fields unchanged although the portal reported success."""
    foreign_text: bool = False
    """`detail` or `commands` hold text of the portal, maybe of strangers: the gate then trusts the turn less."""
    is_form: bool = False
    """Refused as wrong in itself, not by a person or a rule."""
    repeat_of: str = ""
    """The effect of this turn that did the same."""
    decided: str = ""
    """For the model: "approved by Анна"; "" without a card."""
    preview: JsonObject = Field(default_factory=dict)
    records: tuple[str, ...] = ()
    """Of a change, those that it is about: "deal:481"."""
    title: str = ""
    """Of the record, as its card or message names it."""
    following: tuple[JsonObject, ...] = ()
    """Previews of the steps that follow a planned call."""

    def cut(self, limit: int) -> "Outcome":
        """The list's first `limit` rows; 0 for all."""
        if not limit or not isinstance(self.result, list):
            return self
        rows = self.result[:limit]
        return self.model_copy(update={"result": rows, "total": len(rows), "sums": None})

    @property
    def already(self) -> bool:
        """Not sent, because what it should bring about was there."""
        return self.status == "refused" and self.reason is not None and self.reason.code in ALREADY_SO


UNSTORED: Final = frozenset({"call", "repeat_of", "decided", "records", "title", "following"})
"""Fields of an outcome that are known otherwise where it is stored."""
SEEN: Final = ("entity", "reason", "detail", "foreign_text")
"""Fields of the outcome of a read that its event does not have."""


class Pending(Frozen):
    """A person must decide; the engine runs the other steps and ends its turn."""

    effect_id: str
    confirmation_id: str
    method: str
    reasons: tuple[Notice, ...] = ()
    notice: Notice | None = None


class StoredCall(View):
    kind: str = "bitrix"
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    entity: str = ""
    targets: Sequence[tuple[str, int]] = ()
    commands: Sequence["StoredCall"] = ()

    @property
    def leaves(self) -> "Sequence[StoredCall]":
        """The commands of a batch, or the call itself."""
        return self.commands or [self]


class EffectRecord(View):
    """From `EffectRow.call`. After an erasure `call` is None, and texts are empty."""

    call: StoredCall | None = None
    requested_by: str = ""
    approved_by: str = ""
    actor: JsonObject = Field(default_factory=dict)
    """A stored `Actor`, for a call that waited; else {}."""
    slot: str = ""
    started_at: str = ""
    before: Mapping[str, JsonObject | None] = Field(default_factory=dict)
    """Such as "deal:481" → its fields."""
    named: JsonObject = Field(default_factory=dict)
    is_computed: bool = False


class EffectOutcome(View):
    status: str = ""
    created: str = ""
    """Such as "deal:481"; "" if nothing was created."""
    commands: Sequence[JsonObject] = ()
    reason: Notice | None = None


EffectKind = Literal["bitrix", "telegram", "mongo", "schedule", "order", "http", "file", "knowledge", "bulk"]


class MessageFacts(Frozen):
    orders: int = 0
    is_plain: bool = False
    """Short, and nothing in it is marked as text of others."""
    changes: int = 1
    asks_beside: bool = False


class Provenance(Frozen):
    """Where the words of an effect come from, so that the gate sees whether the person ordered it.

    `targets` ("deal:481") the person named or chose. `external` are titles and names read in this conversation. `prose`: free text of
    others was read in this turn; `pasted`: it came with the message.
    """

    message: MessageFacts | None = MessageFacts()
    """It must order the effect; None if none has to: what is published writes it, or a person pressed."""
    prose: bool = False
    pasted: bool = False
    targets: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    """Records that code showed the person, or that people named before, with no free text of others since."""
    external: tuple[str, ...] = ()
    runs: frozenset[int] = frozenset()
    """Hashes of free text of others, by `orchestrator.language.word_runs`."""
    person_text: str = ""
    numbers: frozenset[int] = frozenset()
    keys: frozenset[str] = frozenset()
    """In objects from outside; only in runs. A database would read some, such as `$ne`, as orders."""


STAND_IN: Final = 999_999_937
"""For a record not made yet, in calls that are only drawn and never sent."""


class NewRecord(Frozen):
    """What a step of the plan is to make, with the number that stands for it till then."""

    kind: str
    stand_in: int
    method: str
    params: JsonObject
    slot: str = ""


class FollowingStep(Frozen):
    """`made` is the kind of the record that the card's call makes."""

    method: str
    params: JsonObject
    made: str
    slot: str = ""
    beside: tuple[NewRecord, ...] = ()
    """Records that it needs of other steps."""


class MissedStep(Frozen):
    """An earlier step of the plan that has no card of this turn and did not run; `waiting` for a card of an earlier request."""

    method: str
    params: JsonObject
    slot: str
    why: Literal["refused", "unknown", "waiting"]


class Effect(Frozen):
    """Before the gate has checked, normalized or stored it."""

    kind: EffectKind = "bitrix"
    method: str
    params: JsonObject = Field(default_factory=dict)
    comment: str = ""
    proposed_by: str = DEFAULT_ENGINE
    provenance: Provenance = Provenance()
    requires_confirmation: bool = False
    must_read: bool = False
    """A call that might change anything is refused, whatever the policy allows."""
    is_trial: bool = False
    """Only asks what the gate would refuse: any other call is planned, and not made."""
    is_computed: bool = False
    """From records: once these have changed, the call is refused."""
    came_back: bool = False
    """From a run or card of a backup, which may have made it since: it is looked for or asked about."""
    confirmed: bool = False
    confirmation_decision: str | None = None
    withdraws: str = ""
    """The card that a denial means ("": the one with the same call), or in whose place another call stands."""
    is_held: bool = False
    """Neither made nor asked about: a step of the plan that needs its record is refused."""
    following: tuple[FollowingStep, ...] = ()
    missed: tuple[MissedStep, ...] = ()
    notes: tuple[Notice, ...] = ()
    """What code says of it beside the reasons for which its card asks."""
    planned: tuple[Outcome, ...] = ()
    """Earlier steps of the plan, where they are only planned."""
    slot: str = ""
    in_place_of: str = ""
    """The slot of the plan's step whose card it replaces; "" for a call of its own."""
    part_of: str = ""
    """The approved effect whose frozen file it carries out a part of: it needs no card, and nothing else runs as such."""


def to_written_params(method: str, params: JsonObject) -> dict[str, object]:
    """For the model and for logs: with the keys that the model gave."""
    if "cmd" not in params or method.lower() != "batch":
        return dict(params)
    return {**params, "cmd": restore_written_keys(params["cmd"])}


class BatchUnwritable(ValueError):
    """The message names the command and says why."""


def write_batch(commands: Mapping[str, tuple[str, JsonObject]]) -> JsonObject:
    """By key: (method, params). Raises BatchUnwritable."""
    try:
        return dict(build_cmd([Command(key, method, dict(params)) for key, (method, params) in commands.items()]))
    except BatchError as error:
        raise BatchUnwritable(f"{error.key}: {error.why}") from None
