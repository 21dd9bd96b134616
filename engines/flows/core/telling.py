"""What a person reads when a flow is done: its result, and what each step answered as a folded quote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from engines.flows.core.definition import Flow
from engines.flows.core.operations import OPERATIONS
from engines.flows.core.outputs import StepOutputs
from engines.flows.core.prompt import CONTENT
from orchestrator.domain.outputs import Passage, Reply, Text
from orchestrator.engines.shared.model_json import is_alone
from orchestrator.language.date_format import format_day
from orchestrator.language.text import Locale
from state.canonical import dumps
from state.stored import JsonObject

LONGEST_TEXT: Final = 15_000
LONGEST_QUOTE: Final = 3_000
_ROOM: Final = 30_000
"""How many characters of JSON the last message has, so that a run whose agents write much does not fail at its end."""
_MOST_QUOTES: Final = 20
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def build_result_reply(flow: Flow, outputs: StepOutputs, result: Mapping[str, object], *, today: str, locale: Locale) -> Reply:
    """Return the last message of a flow: its payload, without one its summary, without either the last answer; then the steps' answers.

    An answer of which everything stands in the message already is not quoted below it. What is too long for a chat is cut. `today` is a
    day such as 2026-11-27.
    """
    words = _find_words(flow, today, locale)
    answers = outputs.list_all()
    main = words.list_main(result)
    text = "\n\n".join(words.tell(main)) if main else (words.tell_answer(answers[-1][1]) if answers else "")
    said = frozenset({text, *(words.write(one) for _, one in main)})
    names = {step.id: step.name or step.id for step in flow.steps}
    told = [(names[step], words.tell_answer(output)) for step, output in answers if not words.is_said(output, said)]
    quotes = [Passage(title=title, text=_cut(content, LONGEST_QUOTE)) for title, content in told if content]
    shown = _cut(text, LONGEST_TEXT)
    return Reply(parts=(*((Text(text=shown),) if shown else ()), *_keep_some(quotes, _ROOM - len(dumps(shown)))))


def tell_result(
    flow: Flow, result: Mapping[str, object], answers: Sequence[tuple[str, JsonObject]], *, today: str, locale: Locale
) -> Sequence[tuple[str, str]]:
    """Return (title, text) of all that the result of a flow tells: its payload, without one its summary, without either the answers.

    `answers` are (step, its output), of which the last one counts most. `today` is as above.
    """
    words = _find_words(flow, today, locale)
    if main := words.list_main(result):
        return tuple((words.find_title(name), words.write(one)) for name, one in main)
    names = {step.id: step.name or step.id for step in flow.steps}
    told = [(names.get(step, step), _cut(words.tell_answer(output), LONGEST_TEXT)) for step, output in reversed(answers)]
    return tuple((title, text) for title, text in told if text)[:_MOST_QUOTES]


def _find_words(flow: Flow, today: str, locale: Locale) -> "_Words":
    return _Words({one.name: one.title for one in flow.outputs.titles}, date.fromisoformat(today), locale)


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many characters as JSON, with a sign if it is not all."""
    kept = text[:most]
    while len(dumps(kept)) > most:
        kept = kept[: len(kept) * 9 // 10]
    return text if kept == text else f"{kept} …"


def _has_words(output: Mapping[str, object]) -> bool:
    """Return whether a step has answered in words, or with words around its JSON."""
    return len(output) == 1 or not is_alone(str(output[CONTENT]))


def _keep_some(quotes: Sequence[Passage], room: int) -> Iterator[Passage]:
    """Yield the first quotes that fit into the message."""
    for quote in quotes[:_MOST_QUOTES]:
        room -= len(dumps([quote.title, quote.text]))
        if room < 0:
            return
        yield quote


@dataclass(frozen=True, slots=True)
class _Words:
    """Writes JSON data for people: with the author's titles in place of names, and days as people write them."""

    titles: Mapping[str, str]
    today: date
    locale: Locale

    def tell(self, present: Sequence[tuple[str, object]]) -> Iterator[str]:
        """Return what a payload or summary says as paragraphs; a single value needs no title."""
        for name, one in present:
            yield self.write(one) if len(present) == 1 else self._write_named(f"**{self.find_title(name)}**", one)

    def tell_answer(self, output: Mapping[str, object]) -> str:
        """Return what a step answered: its fields one below the other if it is JSON alone, otherwise as it is. Cards tell of operations."""
        fields = {name: one for name, one in output.items() if name not in {CONTENT, OPERATIONS}}
        if _has_words(output):
            return str(output[CONTENT])
        return "\n".join(self._write_named(self.find_title(name), one) for name, one in self.list_present(fields))

    def is_said(self, output: Mapping[str, object], said: frozenset[str]) -> bool:
        """Return whether everything that a step answered is among the texts that were said."""
        fields = [self.write(one) for name, one in output.items() if name not in {CONTENT, OPERATIONS} and not _is_empty(one)]
        return str(output[CONTENT]) in said if _has_words(output) else all(field in said for field in fields)

    def list_main(self, result: Mapping[str, object]) -> list[tuple[str, object]]:
        """Return what `list_present` gives of the payload, without one of the summary."""
        return next((one for name in ("payload", "summary") if (one := self.list_present(result.get(name)))), [])

    def list_present(self, given: object) -> list[tuple[str, object]]:
        """Return (name, value) of what tells something; what has a title comes first, in their order, for stored JSON has no order."""
        if not isinstance(given, Mapping):
            return []
        places = {name: place for place, name in enumerate(self.titles)}
        present = [(str(name), one) for name, one in given.items() if not _is_empty(one)]
        return sorted(present, key=lambda one: places.get(one[0], len(places)))

    def write(self, value: object) -> str:
        """Return a value as text; elements of a list are lines."""
        if isinstance(value, str):
            return format_day(date.fromisoformat(value), today=self.today, locale=self.locale) if _is_day(value) else value
        if isinstance(value, Mapping):
            return self._write_record(value)
        if isinstance(value, Sequence):
            return "\n".join(f"- {self.write(one)}" for one in value)
        return dumps(value)

    def _write_record(self, record: Mapping[str, object]) -> str:
        """Return an object in a line; if fields have titles, these alone, the first without its title."""
        titled = [(name, one) for name, one in self.list_present(record) if name in self.titles]
        if titled:
            (_, first), *others = titled
            return "; ".join([self.write(first), *(f"{self.titles[name]}: {self.write(one)}" for name, one in others)])
        return "; ".join(f"{name}: {self.write(one)}" for name, one in self.list_present(record))

    def find_title(self, name: str) -> str:
        """Return what people read for a name or a path, which may also be titled by its last part."""
        last = name.rpartition(".")[2]
        return self.titles.get(name) or self.titles.get(last) or last

    def _write_named(self, title: str, value: object) -> str:
        """Return a value behind its title, or below it if it has several lines."""
        written = self.write(value)
        return f"{title}:\n{written}" if isinstance(value, list) or "\n" in written else f"{title}: {written}"


def _is_empty(value: object) -> bool:
    """Return whether a value tells nothing: null, or a text, list or object without content."""
    return value is None or (isinstance(value, str | Sequence | Mapping) and not value)


def _is_day(text: str) -> bool:
    if _DAY.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
