"""How an effect ended, or that a person must decide first."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen
from orchestrator.domain.outputs import Notice


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
