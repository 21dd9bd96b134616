"""The words that the parts of ring 2 exchange: actors, effects, outcomes, replies. Plain data; imports nothing of ours."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["shadow", "canary", "full"]
Role = Literal["manager", "lead", "admin"]
EffectKind = Literal["bitrix", "telegram", "mongo", "schedule", "http", "run"]

MODES: tuple[Mode, ...] = ("shadow", "canary", "full")


class Frozen(BaseModel):
    """A value: immutable, and refusing fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Actor(Frozen):
    """Who acts: a person of the access file, a named HTTP token, or the local CLI user (DESIGN §2).

    `sees` limits whose records the actor may touch; `max_mode` is the highest mode the actor may use.
    """

    key: str
    name: str
    role: Role = "manager"
    max_mode: Mode = "full"
    sees: Literal["own", "all"] | tuple[int, ...] = "own"
    bitrix_user_id: int | None = None
    time_zone: str = "Europe/Moscow"
    locale: Literal["ru", "en"] = "ru"
    may_approve: bool = True


class Provenance(Frozen):
    """Where the words behind an effect came from; the gate reads it to find taint (DESIGN §3).

    `targets` are records the person named, pressed, had as the current object, or that this turn created, as
    "deal:481". `external` holds label texts read in this turn, `prose` tells that free text of others was read.
    """

    prose: bool = False
    targets: frozenset[str] = frozenset()
    external: tuple[str, ...] = ()
    person_text: str = ""


class Effect(Frozen):
    """Something an engine wants done outside. Not yet judged, normalised or durable."""

    kind: EffectKind = "bitrix"
    method: str
    params: Mapping[str, Any] = Field(default_factory=dict)
    comment: str = ""
    proposed_by: str = "crm_agent"
    provenance: Provenance = Provenance()
    requires_confirmation: bool = False
    confirmed: bool = False
    confirmation_decision: str | None = None
    slot: str = ""
    """Place in the plan ("<turn>/<iteration>/<step>"): the same place gives the same effect id after a crash."""


class Notice(Frozen):
    """A sentence for a person as a code with arguments; doors put it into the person's language."""

    code: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class CommandReport(Frozen):
    """What became of one command of a batch (S004-71)."""

    key: str
    method: str
    status: Literal["success", "error", "not_run", "unknown"]
    error: str = ""


class Outcome(Frozen):
    """How an effect ended. `unknown` means: it may or may not have happened, and a person must look."""

    status: Literal["succeeded", "refused", "unknown", "planned"]
    effect_id: str
    method: str
    call_class: str = ""
    result: Any = None
    total: int | None = None
    sums: Mapping[str, str] | None = None
    """Sums by currency ("RUB" → "1200000.50") over all `total` rows of which `result` holds the first; empty if they could not be had."""
    reason: Notice | None = None
    detail: str = ""
    """English sentence for the model and for ops."""
    commands: tuple[CommandReport, ...] = ()
    call: Mapping[str, Any] = Field(default_factory=dict)
    """The exact params that were judged and sent."""
    entity: str = ""
    """What kind of record the call is about: "deal"."""
    created: str = ""
    """The record that the call made: "deal:481"."""
    unchanged: tuple[str, ...] = ()
    """Fields that the portal left as they were although it said yes; `reason` then says so in words."""
    foreign_text: bool = False
    """Texts of the portal in `detail` or in `commands` are not the system's own sentences: reading them is reading prose."""
    preview: Mapping[str, Any] = Field(default_factory=dict)
    """What a planned call would have shown a person."""


class Pending(Frozen):
    """A person must decide first. The engine finishes what is free and ends its turn."""

    effect_id: str
    confirmation_id: str
    method: str
    reasons: tuple[Notice, ...] = ()
    notice: Notice | None = None
    """What the person is told besides the card: that it has been waiting since an earlier request."""


class Choice(Frozen):
    """One answer button under a question; pressing it sends `token` back. Never consent to a write."""

    token: str
    label: str


class Action(Frozen):
    """A button of a feature under a reply; pressing it sends `words` back, the first says whose they are. Never consent to a write."""

    words: tuple[str, ...]
    label: Notice


class Row(Frozen):
    """One line of a list shown to a person, made by code."""

    label: str
    url: str = ""


class Text(Frozen):
    """Plain text of the model or of code; doors never read markup in it."""

    kind: Literal["text"] = "text"
    text: str


class Table(Frozen):
    """A list of records with count and sum over all pages, computed by code and never by the model."""

    kind: Literal["table"] = "table"
    rows: tuple[Row, ...] = ()
    shown: int = 0
    total: int = 0
    sum_text: str = ""


class Reply(Frozen):
    """What one turn says to the person. Doors render it; exactly one final reply ends a turn."""

    parts: tuple[Annotated[Text | Table, Field(discriminator="kind")], ...] = ()
    sections: tuple[tuple[Notice, Table], ...] = ()
    """Headed lists made by code (/today)."""
    notices: tuple[Notice, ...] = ()
    choices: tuple[Choice, ...] = ()
    confirmations: tuple[str, ...] = ()
    examples: tuple[Notice, ...] = ()
    """Requests the person may send with one press (first contact, help)."""
    undo: tuple[str, ...] = ()
    """Effects that this turn carried out without a card and that the person may take back with one press."""
    actions: tuple[Action, ...] = ()
    """What a feature offers to do next."""
    turn_id: str = ""

    @property
    def text(self) -> str:
        """The words without lists and notices."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


def build_reply(*notices: Notice, text: str = "") -> Reply:
    """A reply of plain words and notices."""
    return Reply(parts=(Text(text=text),) if text else (), notices=notices)
