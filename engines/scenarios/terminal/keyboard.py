"""Answers from the keyboard: what a rehearsal in the terminal asks, and how a typed line becomes an answer."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

from bot.cli.ops import escape_text
from engines.scenarios.rehearsal.dialogue import Dialogue
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask
from orchestrator.gate.call.value_forms import is_phone
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.rehearsal import Happening, Place
from orchestrator.rehearsals.script import AnswerUnfit, AskModel, Script, build_end, read_answer
from state.canonical import to_storable_text

_SENT: Final = "@"
"""What a line begins with that sends something in place of a text."""
_TIMEOUT: Final = "@timeout"
_PHOTOS: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic"})
_LONGEST_NUMBER: Final = 4


class Terminal(Script):
    """A rehearsal that is seen while it goes on, and that asks at the keyboard what its script does not say."""

    def __init__(
        self, dialogue: Dialogue, *, model: AskModel, show: Callable[[Happening], None], stdin: TextIO | None, find_classes: FindClasses
    ) -> None:
        """Show each thing that happens with `show`; lines of `stdin` are the answers, None for a closed one."""
        super().__init__(dialogue, ask_further=self._ask_further, model=model, find_classes=find_classes, is_strict=False)
        self._show, self._stdin = show, stdin

    def tell(self, happening: Happening) -> None:
        """Keep and show what happened."""
        super().tell(happening)
        self._show(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Return the next input, without one what is typed; a line that is no answer is asked for again. Raises ScriptEnded."""
        if self.left:
            return await super().answer(place, ask)
        while (line := await self._read_line(f"{_describe(ask)}> ")) is not None:
            try:
                return read_answer(read_typed(line, ask), ask, place)
            except AnswerUnfit as error:
                sys.stderr.write(escape_text(f"{error}.\n"))
        raise build_end(place, ask)

    async def _ask_further(self, place: Place, asked: str) -> str | None:
        """Return what is typed in place of a model or an agent, None at the end of the input."""
        return await self._read_line(f"[{place.step}] {asked}\n[{place.step}]> ")

    async def _read_line(self, prompt: str) -> str | None:
        if self._stdin is None:
            return None
        if self._stdin.isatty():
            sys.stderr.write(escape_text(prompt))
            sys.stderr.flush()
        line = await asyncio.to_thread(self._stdin.readline)
        return to_storable_text(line.rstrip("\r\n")) if line else None


def read_typed(line: str, ask: Ask) -> str | Given:
    """Return a typed line as an input: the number of a button is its words, @ with a path or a telephone sends that.

    Where no text is taken the @ may be left out. Raises AnswerUnfit, with what is wrong, for a file or telephone that is none.
    """
    labels = [one.label for one in (*ask.options, *ask.controls)]
    if line in labels:
        return line
    if line.isascii() and line.isdecimal() and len(line) <= _LONGEST_NUMBER and 0 < int(line) <= len(labels):
        return Given(press=labels[int(line) - 1])
    if line == _TIMEOUT and ask.timeout is not None:
        return Given(timeout=True)
    if not ask.takes - {"text"} or not (line.startswith(_SENT) or "text" not in ask.takes):
        return line
    sent = line.removeprefix(_SENT)
    if sent.startswith(_SENT) and "text" in ask.takes:
        return Given(text=sent)
    return _read_sent(sent, ask)


def _read_sent(sent: str, ask: Ask) -> Given:
    """Return a telephone or the path of a file as what is sent."""
    if "contact" in ask.takes and is_phone(sent) and not any(char.isalpha() for char in sent):
        return Given(contact=sent)
    path = Path(sent).expanduser()
    if not ask.takes & {"photo", "document"}:
        raise AnswerUnfit(f"{sent or 'nothing'} is no telephone such as +79990000000")
    if "\0" in sent or not path.is_file():
        raise AnswerUnfit(f"there is no file {sent}{_describe_text(ask)}")
    is_photo = "photo" in ask.takes and ("document" not in ask.takes or path.suffix.lower() in _PHOTOS)
    return Given(photo=path.name) if is_photo else Given(document=path.name)


def _describe_text(ask: Ask) -> str:
    return " (a text that begins with @ is typed with @@)" if "text" in ask.takes else ""


def _describe(ask: Ask) -> str:
    """Return how to give what is more than a text, as a line above the prompt; "" if there is nothing of that kind."""
    ways = list(_list_ways(ask))
    return f"({'; '.join(ways)})\n" if ways else ""


def _list_ways(ask: Ask) -> Iterator[str]:
    files = [kind for kind in ("photo", "document") if kind in ask.takes]
    if files:
        yield f"@PATH of a file sends a {' or '.join(files)}"
    if "contact" in ask.takes:
        yield "@+79990000000 sends a contact"
    if ask.timeout is not None:
        yield f"{_TIMEOUT} lets the time run out"
