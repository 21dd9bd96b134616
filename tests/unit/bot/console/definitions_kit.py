"""Definitions for the tests of their pages: stored through the service, as another person would, and an editor that is typed into."""

import asyncio
import json
from functools import partial
from typing import Any

from nicegui import background_tasks, ui

from orchestrator.definitions.checking import Submission
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import DefinitionService
from orchestrator.documents.reading import read_document
from state.model.definitions import DefinitionVersion
from tests.unit.bot.console.console_kit import VERA, ConsoleWorld, OpenPage

HELLO = """name: Привет
steps:
- id: hello
  type: message
  params: {text: Здравствуйте}
- id: bye
  type: end
"""
BROKEN = HELLO.replace("- id: bye", "  next_step: nowhere\n- id: bye")
DELETES = """name: Чистка
steps:
- id: gone
  type: bitrix_call
  params: {method: crm.deal.delete, params: {id: 481}}
"""


def get_service(made: ConsoleWorld) -> DefinitionService:
    """The service behind the pages."""
    return made.console.services.definitions


def be(person: Any = VERA) -> Editor:
    """Somebody who works on definitions at another door."""
    return Editor(actor=person.to_actor(), via="http")


def hand_in(text: str, **more: Any) -> Submission:
    """A text as it is handed in."""
    return Submission(read=partial(read_document, text, "yaml"), **more)


async def store(
    made: ConsoleWorld, text: str = HELLO, *, key: str = "hello", kind: str = "scenario", publish: bool = False, **more: Any
) -> DefinitionVersion:
    """Store a text as the next version, by Vera; publish it, if it is to be. A title is written into the scenario, which says its own."""
    if title := more.pop("title", ""):
        text = text.replace("name: Привет", f"name: {json.dumps(title)}")
    saved = await get_service(made).create(be(), kind, key, hand_in(text, **more))
    if publish:
        saved = await get_service(made).publish(be(), kind, saved.version.key, saved.version.version, expected=saved.version.revision)
    return saved.version


def find_code(page: OpenPage) -> ui.codemirror:
    """The text of an open editor, or the text that is shown."""
    return next(one for one in page.elements if isinstance(one, ui.codemirror))


async def change(page: OpenPage, element: Any, value: Any) -> None:
    """Choose another value in a field, and wait for what this does."""
    before = set(background_tasks.running_tasks)
    element.set_value(value)
    if begun := set(background_tasks.running_tasks) - before:
        await asyncio.wait(begun, timeout=15)
    await page.settle()


async def type_text(page: OpenPage, text: str) -> None:
    """Replace the text of an open editor, as by typing, and wait for its check."""
    find_code(page).set_value(text)
    await page.settle()


def read_lines(page: OpenPage) -> str:
    """All that the lines of the list say, which the browser draws."""
    return "\n".join(str(row) for one in page.elements if isinstance(one, ui.table) for row in one.rows)
