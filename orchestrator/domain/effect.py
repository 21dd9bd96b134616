"""An effect (an outside action that an engine proposes), and the origin of the words in it."""

from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen
from state.stored import JsonObject

EffectKind = Literal["bitrix", "telegram", "mongo", "schedule", "http", "run"]


class Provenance(Frozen):
    """The origin of the words in an effect; the gate reads it to find taint.

    `targets` are the records ("deal:481") that the person named or selected, that were the current object, or that this turn
    created. `external` holds the label texts read in this turn. `prose` says whether free text written by others was read, `pasted`
    whether it came with the person's message.
    """

    prose: bool = False
    pasted: bool = False
    targets: frozenset[str] = frozenset()
    external: tuple[str, ...] = ()
    person_text: str = ""


class Effect(Frozen):
    """An outside action that an engine proposes, before the gate has checked, normalized or stored it."""

    kind: EffectKind = "bitrix"
    method: str
    params: JsonObject = Field(default_factory=dict)
    comment: str = ""
    proposed_by: str = "crm_agent"
    provenance: Provenance = Provenance()
    requires_confirmation: bool = False
    confirmed: bool = False
    confirmation_decision: str | None = None
    slot: str = ""
    """Place in the plan ("<turn>/<iteration>/<step>"): the same place gives the same effect id after a crash."""
