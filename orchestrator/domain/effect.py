"""What an engine wants done outside, and where the words behind it came from."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen

EffectKind = Literal["bitrix", "telegram", "mongo", "schedule", "http", "run"]


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
