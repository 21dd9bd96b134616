"""What a person reads when a flow is done: its result, and each step's answer as a folded quote."""

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
"""Characters of JSON, so that a run whose agents write much does not fail at its end."""
_MOST_QUOTES: Final = 20
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def build_result_reply(flow: Flow, outputs: StepOutputs, result: Mapping[str, object], *, today: str, locale: Locale) -> Reply:
    """Return the result, then the steps' answers. Repeated answers are left out, long texts are cut."""
    words = _find_words(flow, today, locale)
    answers = outputs.list_all()
    main = words.list_main(result)
    text = "\n\n".join(words.tell(main)) if main else (words.tell_answer(answers[-1][1]) if answers else "")
    quoted_texts = frozenset({text, *(words.write(one) for _, one in main)})
    names = {step.id: step.name or step.id for step in flow.steps}
    quoted_answers = [(names[step], words.tell_answer(output)) for step, output in answers if not words.is_said(output, quoted_texts)]
    quotes = [Passage(title=title, text=_cut(content, LONGEST_QUOTE)) for title, content in quoted_answers if content]
    reply_text = _cut(text, LONGEST_TEXT)
    return Reply(parts=(*((Text(text=reply_text),) if reply_text else ()), *_keep_some(quotes, _ROOM - len(dumps(reply_text)))))


def tell_result(
    flow: Flow, result: Mapping[str, object], answers: Sequence[tuple[str, JsonObject]], *, today: str, locale: Locale
) -> Sequence[tuple[str, str]]:
    """Return (title, text). `answers` are (step, its output), the last one most important; `today` is a day such as 2026-11-27."""
    words = _find_words(flow, today, locale)
    if main := words.list_main(result):
        return tuple((words.find_title(name), words.write(one)) for name, one in main)
    names = {step.id: step.name or step.id for step in flow.steps}
    quotes = [(names.get(step, step), _cut(words.tell_answer(output), LONGEST_TEXT)) for step, output in reversed(answers)]
    return tuple((title, text) for title, text in quotes if text)[:_MOST_QUOTES]


def _find_words(flow: Flow, today: str, locale: Locale) -> "_Words":
    return _Words({one.name: one.title for one in flow.outputs.titles}, date.fromisoformat(today), locale)


def _cut(text: str, most: int) -> str:
    """Cut to so many characters as JSON, with a sign if it is not all."""
    cut = text[:most]
    while len(dumps(cut)) > most:
        cut = cut[: len(cut) * 9 // 10]
    return text if cut == text else f"{cut} …"


def _has_words(output: Mapping[str, object]) -> bool:
    return len(output) == 1 or not is_alone(str(output[CONTENT]))


def _keep_some(quotes: Sequence[Passage], room: int) -> Iterator[Passage]:
    for quote in quotes[:_MOST_QUOTES]:
        room -= len(dumps([quote.title, quote.text]))
        if room < 0:
            return
        yield quote


@dataclass(frozen=True, slots=True)
class _Words:
    """Writes JSON data for people, with the author's titles and with days as people write them."""

    titles: Mapping[str, str]
    today: date
    locale: Locale

    def tell(self, present: Sequence[tuple[str, object]]) -> Iterator[str]:
        for name, field_value in present:
            yield self.write(field_value) if len(present) == 1 else self._write_named(f"**{self.find_title(name)}**", field_value)

    def tell_answer(self, output: Mapping[str, object]) -> str:
        fields = {name: one for name, one in output.items() if name not in {CONTENT, OPERATIONS}}
        if _has_words(output):
            return str(output[CONTENT])
        return "\n".join(self._write_named(self.find_title(name), one) for name, one in self.list_present(fields))

    def is_said(self, output: Mapping[str, object], texts: frozenset[str]) -> bool:
        fields = [self.write(one) for name, one in output.items() if name not in {CONTENT, OPERATIONS} and not _is_empty(one)]
        return str(output[CONTENT]) in texts if _has_words(output) else all(field in texts for field in fields)

    def list_main(self, result: Mapping[str, object]) -> list[tuple[str, object]]:
        return next((present for name in ("payload", "summary") if (present := self.list_present(result.get(name)))), [])

    def list_present(self, json_object: object) -> list[tuple[str, object]]:
        """(name, value) of what is not empty, titled ones first and in their order, as stored JSON has none."""
        if not isinstance(json_object, Mapping):
            return []
        places = {name: place for place, name in enumerate(self.titles)}
        present = [(str(name), field_value) for name, field_value in json_object.items() if not _is_empty(field_value)]
        return sorted(present, key=lambda field_value: places.get(field_value[0], len(places)))

    def write(self, value: object) -> str:
        if isinstance(value, str):
            return format_day(date.fromisoformat(value), today=self.today, locale=self.locale) if _is_day(value) else value
        if isinstance(value, Mapping):
            return self._write_record(value)
        if isinstance(value, Sequence):
            return "\n".join(f"- {self.write(one)}" for one in value)
        return dumps(value)

    def _write_record(self, record: Mapping[str, object]) -> str:
        """In a line; if fields have titles, these alone, the first without its title."""
        titled = [(name, one) for name, one in self.list_present(record) if name in self.titles]
        if titled:
            (_, first), *others = titled
            return "; ".join([self.write(first), *(f"{self.titles[name]}: {self.write(one)}" for name, one in others)])
        return "; ".join(f"{name}: {self.write(one)}" for name, one in self.list_present(record))

    def find_title(self, name: str) -> str:
        last = name.rpartition(".")[2]
        return self.titles.get(name) or self.titles.get(last) or last

    def _write_named(self, title: str, value: object) -> str:
        text = self.write(value)
        return f"{title}:\n{text}" if isinstance(value, list) or "\n" in text else f"{title}: {text}"


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | Sequence | Mapping) and not value)


def _is_day(text: str) -> bool:
    if _DAY.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
