"""A form of its own of a kind of definitions; others are drawn from their schemas."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.definitions.form.fields import Field, Group
from bot.console.visit import Visit
from bot.plugins.plugin import Slot
from orchestrator.domain.finding import Path


class FormSource(Protocol):
    """The form of one kind of definitions."""

    def describe(self, document: object) -> Group:
        """Return the fields of a document."""

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Return the document with a text typed into a field. Raises FieldRefused, and PlaceGone."""

    def build_item(self, document: object, path: Path) -> object:
        """Return what a new element of the list at a place begins as."""


@dataclass(frozen=True, kw_only=True)
class FormFace:
    """Opens the form."""

    open: Callable[[Visit], Awaitable[FormSource]]


FORM_FACE: Final = Slot("form", FormFace)
