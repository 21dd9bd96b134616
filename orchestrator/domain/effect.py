"""An effect (an outside action that an engine proposes), and where its values come from: the person, or text of others."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from bitrix.client.batch import BatchError, Command, build_cmd, restore_written_keys
from orchestrator.domain.frozen import Frozen
from state.events.base import DEFAULT_ENGINE
from state.stored import JsonObject

EffectKind = Literal["bitrix", "telegram", "mongo", "schedule", "http", "file", "knowledge"]


class MessageFacts(Frozen):
    """What is known of the message that an effect of the CRM agent follows from; without any of it, the person has ordered nothing."""

    orders: int = 0
    """How many changes the message orders; of a short answer to a question, those of the message that was asked about."""
    is_plain: bool = False
    """Whether it is short, and nothing in it is marked as text of others."""
    changes: int = 1
    """How many changes the answer proposes, and the turn has made without a card before."""
    asks_beside: bool = False
    """Whether another change of the same answer needs the person's consent."""


class Provenance(Frozen):
    """The origin of the words in an effect; the gate uses it to check whether the person ordered it or texts of others may have caused it.

    `targets` are the records ("deal:481") that the person named or chose, that the conversation was about, or that this turn created.
    `external` holds the short texts (titles, names) of records that were read in this conversation. `prose` is True if free text written
    by others was read in this turn. `pasted` is True if such text came with the person's message. `person_text` is what the person wrote.
    """

    message: MessageFacts | None = MessageFacts()
    """The message that must order the effect; None if none has to: what people have published writes it, or a person pressed for it."""
    prose: bool = False
    pasted: bool = False
    targets: frozenset[str] = frozenset()
    external: tuple[str, ...] = ()
    runs: frozenset[int] = frozenset()
    """What free text of others that was read in this conversation says, as `orchestrator.language.word_runs` hashes it."""
    person_text: str = ""
    numbers: frozenset[int] = frozenset()
    """Numbers of records that the person or the author of a definition gave, whatever kind of record each belongs to; only in runs."""
    keys: frozenset[str] = frozenset()
    """The names of fields in objects that came from outside of the definition as whole values; only in runs.

    A database would read some of them, such as `$ne`, as orders.
    """


STAND_IN: Final = 999_999_937
"""Stands for the number of a record that is not made yet, in calls that are only drawn on a card and never sent."""


class FollowingStep(Frozen):
    """A step that follows when the call of a card has created its record: it needs the number of that record, and is shown on the card.

    In `params` a stand-in stands for the number, and `made` is the kind of the new record, such as "lead".
    """

    method: str
    params: JsonObject
    made: str
    slot: str = ""
    """Its place in the turn's plan, "" for a step that only stands on the card."""


class Effect(Frozen):
    """An outside action that an engine proposes, before the gate has checked, normalized or stored it."""

    kind: EffectKind = "bitrix"
    method: str
    params: JsonObject = Field(default_factory=dict)
    comment: str = ""
    proposed_by: str = DEFAULT_ENGINE
    provenance: Provenance = Provenance()
    requires_confirmation: bool = False
    must_read: bool = False
    """Whether the engine asks only for a read: a call that might change anything is refused, whatever the policy allows."""
    is_trial: bool = False
    """Whether the engine only asks what the gate would refuse: any other call is planned, and neither asked about nor made."""
    is_computed: bool = False
    """Whether values were computed from the records: once these have changed, the call is not asked about again but refused."""
    came_back: bool = False
    """Whether it comes from a run or card that was restored from a backup and may have made it since: it is looked for or asked about."""
    confirmed: bool = False
    confirmation_decision: str | None = None
    following: tuple[FollowingStep, ...] = ()
    """The steps of the same plan that need the record which this effect creates."""
    slot: str = ""
    """The place of the effect in the turn's plan: "<turn>/<iteration>/<step>".

    The id of the effect is derived from it, so a turn that is repeated after a crash gives the same effect the same id.
    """


def to_written_params(method: str, params: JsonObject) -> dict[str, object]:
    """Return the parameters of a call for the model and for logs: the commands of a batch have the keys that the model gave them."""
    if "cmd" not in params or method.lower() != "batch":
        return dict(params)
    return {**params, "cmd": restore_written_keys(params["cmd"])}


class BatchUnwritable(ValueError):
    """Raised for calls that no batch can hold; the message names the command and says why."""


def write_batch(commands: Mapping[str, tuple[str, JsonObject]]) -> JsonObject:
    """Return the parameter `cmd` of a batch that makes these calls, by key: (method, params). Raises BatchUnwritable."""
    try:
        return dict(build_cmd([Command(key, method, dict(params)) for key, (method, params) in commands.items()]))
    except BatchError as error:
        raise BatchUnwritable(f"{error.key}: {error.why}") from None
