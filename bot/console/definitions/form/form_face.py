"""For kinds whose form is not drawn from a schema."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.definitions.form.fields import Field, Group
from bot.console.visit import Visit
from bot.plugins.plugin import Slot
from orchestrator.domain.finding import Path


class FormSource(Protocol):
    def describe(self, document: object) -> Group: ...

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Raises FieldRefused, and PlaceGone."""

    def build_item(self, document: object, path: Path) -> object: ...


@dataclass(frozen=True, kw_only=True)
class FormFace:
    open: Callable[[Visit], Awaitable[FormSource]]


FORM_FACE: Final = Slot("form", FormFace)
