"""The form of an open editor, as tests type into it."""

import asyncio
from functools import partial
from typing import Any

from nicegui import background_tasks, ui

from orchestrator.definitions.checking import Submission
from orchestrator.definitions.rules import Editor
from orchestrator.documents.reading import read_document
from state.model.definitions import DefinitionVersion
from tests.unit.bot.console.console_kit import OLGA, VERA, ConsoleWorld, OpenPage


async def publish(made: ConsoleWorld, kind: str, key: str, text: str) -> DefinitionVersion:
    """Store a text as the next version and publish it, by Vera at another door."""
    service, vera = made.console.services.definitions, Editor(actor=VERA.to_actor(), via="http")
    saved = await service.create(vera, kind, key, Submission(read=partial(read_document, text, "yaml")))
    version = saved.version
    return (await service.publish(vera, kind, version.key, version.version, expected=version.revision)).version


async def wait_for(before: set[Any]) -> None:
    """Wait until all that was begun since then is done, and the check of the text, which may have been under way before."""
    while begun := {
        task
        for task in set(background_tasks.running_tasks)
        if not task.done() and (task not in before or task.get_name() == "handle the check of a definition")
    }:
        done, _ = await asyncio.wait(begun, timeout=10)
        assert done, begun
        await asyncio.sleep(0)


async def open_form(made: ConsoleWorld, kind: str, key: str) -> "OpenForm":
    """Open the editor as Olga, and in it the form."""
    page = await made.open(f"/definitions/{kind}/{key}/edit", OLGA)
    form = OpenForm(page)
    before = set(background_tasks.running_tasks)
    next(one for one in page.elements if isinstance(one, ui.tabs)).set_value("form")
    await wait_for(before)
    return form


class OpenForm:
    """The form of one open editor."""

    def __init__(self, page: OpenPage) -> None:
        """Look at this page."""
        self.page = page

    @property
    def text(self) -> str:
        """The text beside the form."""
        return str(self._code.value)

    @property
    def data(self) -> Any:
        """What the text says."""
        return read_document(self.text).require_document().data

    @property
    def _code(self) -> ui.codemirror:
        return next(one for one in self.page.elements if isinstance(one, ui.codemirror))

    def list_fields(self, label: str) -> list[Any]:
        """The fields with this label, in their order."""
        found = [one for one in self.page.elements if label in (one.props.get("label"), getattr(one, "text", None))]
        return [one for one in found if isinstance(one, ui.input | ui.select | ui.checkbox)]

    async def enter(self, label: str, value: Any, number: int = 0) -> None:
        """Type a value into a field, or choose it, and wait for what this does."""
        before = set(background_tasks.running_tasks)
        self.list_fields(label)[number].set_value(value)
        await wait_for(before)

    async def type_text(self, text: str) -> None:
        """Replace the text beside the form, as by typing."""
        before = set(background_tasks.running_tasks)
        self._code.set_value(text)
        await wait_for(before)

    async def press(self, text: str, number: int = -1) -> None:
        """Press the button that has this text or name, or a part of it."""
        buttons = [one for one in self.page.elements if isinstance(one, ui.button) and text in self._read_button(one)]
        before = set(background_tasks.running_tasks)
        with self.page.visit.page:
            for one in [one for one in buttons[number]._event_listeners.values() if one.type.split(".")[0] == "click"]:
                buttons[number]._handle_event({"listener_id": one.id, "args": {}})
        await wait_for(before)

    @staticmethod
    def _read_button(button: ui.button) -> str:
        below = " ".join(str(getattr(one, "text", "")) for one in button.descendants())
        return f"{button.text} {button.props.get('aria-label', '')} {below}"

    def list_messages(self) -> list[str]:
        """What is said to be wrong at fields and groups that are shown."""
        shown = [one for one in self.page.elements if "form-message" in one.classes and one.visible]
        return [one.text for one in shown if isinstance(one, ui.label) and one.text]
