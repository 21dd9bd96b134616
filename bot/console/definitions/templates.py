"""Definitions to begin with, as an author chooses them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlencode

from nicegui import ui

from bot.console.definitions.work import ROOT
from bot.console.visit import Visit
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind
from orchestrator.documents.reading import read_document

PARAMETER = "template"


@dataclass(frozen=True, kw_only=True)
class Template:
    kind: str
    key: str
    title: str
    description: str
    text: str
    """As its author wrote it, with what to change in its comments."""

    @property
    def address(self) -> str:
        return f"{ROOT}/{self.kind}/new?{urlencode({PARAMETER: self.key})}"


@cache
def list_templates(kind: str) -> tuple[Template, ...]:
    face = find_part_of_kind(KIND_FACE, kind)
    return tuple(_read(kind, path.name.removesuffix(".yaml"), path.read_text(encoding="utf-8")) for path in face.templates) if face else ()


def find_template(kind: str, key: str) -> Template | None:
    return next((one for one in list_templates(kind) if one.key == key), None)


def _read(kind: str, key: str, text: str) -> Template:
    data = read_document(text, "yaml").require_document().data
    said = {**data, **(data.get("metadata") or {})}
    return Template(
        kind=kind, key=key, title=said.get("name") or said.get("title") or key, description=said.get("description", ""), text=text
    )


def draw_templates(visit: Visit, kinds: Iterable[str]) -> ui.dialog | None:
    """Closed; None if there is nothing to choose."""
    found = list(_list_all(kinds))
    if not found:
        return None
    with ui.dialog() as dialog, ui.card().classes("ask ask-wide"):
        ui.label(visit.say("console-templates")).classes("strong").props("role=heading aria-level=2")
        with ui.element("div").classes("def-templates"):
            for template in found:
                with ui.link(target=template.address).classes("line def-template"):
                    ui.label(template.title).classes("strong")
                    ui.label(visit.say("console-definition-kind", kind=template.kind)).classes("muted small")
                    ui.label(template.description).classes("small")
    return dialog


def _list_all(kinds: Iterable[str]) -> Iterator[Template]:
    for kind in kinds:
        yield from list_templates(kind)
