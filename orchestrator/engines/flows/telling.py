"""What a person reads of a flow: while it works how far it is, at its end its result, with the answers of the steps as folded quotes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from orchestrator.domain.outputs import Passage, Reply, Text
from orchestrator.engines.flows.definition import Flow, FlowStep
from orchestrator.engines.flows.outputs import StepOutputs
from orchestrator.engines.flows.prompt import CONTENT
from state.canonical import dumps

LONGEST_TEXT: Final = 15_000
LONGEST_QUOTE: Final = 3_000
_ROOM: Final = 30_000
"""How many characters of JSON the last message has, so that a run whose agents write much does not fail at its end."""
_MOST_QUOTES: Final = 20
MOST_LINES: Final = 12
"""How many steps a message about progress shows."""
StepMark = Literal["done", "failed", "working", "ahead"]
_SIGNS: Final[Mapping[StepMark, str]] = {"done": "✅", "failed": "❌", "working": "⏳", "ahead": "⚪"}


def draw_progress(flow: Flow, marks: Mapping[str, StepMark], attempt: int) -> str:
    """Return the steps as lines with a sign each, without words so that every language reads it; `attempt` is that of the one at work.

    Of a flow with more steps than `MOST_LINES` those around the one at work are shown.
    """
    lines = [_draw_line(step, marks.get(step.id, "ahead"), attempt) for step in flow.steps]
    working = next((index for index, step in enumerate(flow.steps) if marks.get(step.id) == "working"), 0)
    first = max(0, min(working - MOST_LINES // 2, len(lines) - MOST_LINES))
    last = min(first + MOST_LINES, len(lines))
    shown = [*(["…"] if first else []), *lines[first:last], *(["…"] if last < len(lines) else [])]
    return "\n".join([flow.metadata.title, *shown] if flow.metadata.title else shown)


def _draw_line(step: FlowStep, mark: StepMark, attempt: int) -> str:
    tries = f" ({attempt}/{step.max_attempts})" if mark == "working" and attempt > 1 else ""
    return f"{_SIGNS[mark]} {step.name or step.id}{tries}"


def build_result_reply(flow: Flow, outputs: StepOutputs, result: Mapping[str, object]) -> Reply:
    """Return the last message of a flow: its payload, without one its summary, without either the last answer; then the steps' answers.

    An answer of which everything stands in the message already is not quoted below it. What is too long for a chat is cut.
    """
    titles = {one.name: one.title for one in flow.outputs.titles}
    answers = outputs.list_all()
    main = next((one for name in ("payload", "summary") if (one := _list_present(result.get(name), titles))), [])
    text = "\n\n".join(_tell(main, titles)) if main else (_tell_answer(answers[-1][1], titles) if answers else "")
    said = frozenset({text, *(_write(one) for _, one in main)})
    names = {step.id: step.name or step.id for step in flow.steps}
    quotes = [Passage(title=names[step], text=_cut(_tell_answer(output, titles), LONGEST_QUOTE)) for step, output in answers]
    new = [quote for quote, (_, output) in zip(quotes, answers, strict=True) if quote.text and not _is_said(output, said)]
    shown = _cut(text, LONGEST_TEXT)
    return Reply(parts=(*((Text(text=shown),) if shown else ()), *_keep_some(new, _ROOM - len(dumps(shown)))))


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many characters as JSON, with a sign if it is not all."""
    kept = text[:most]
    while len(dumps(kept)) > most:
        kept = kept[: len(kept) * 9 // 10]
    return text if kept == text else f"{kept} …"


def _keep_some(quotes: Sequence[Passage], room: int) -> Iterator[Passage]:
    """Yield the first quotes that fit into the message."""
    for quote in quotes[:_MOST_QUOTES]:
        room -= len(dumps([quote.title, quote.text]))
        if room < 0:
            return
        yield quote


def _is_said(output: Mapping[str, object], said: frozenset[str]) -> bool:
    """Return whether everything that a step answered is among the texts that were said."""
    fields = [_write(one) for name, one in output.items() if name != CONTENT and not _is_empty(one)]
    return all(one in said for one in fields) if fields else str(output[CONTENT]) in said


def _tell_answer(output: Mapping[str, object], titles: Mapping[str, str]) -> str:
    """Return what a step answered for people: its fields one below the other if it is JSON, otherwise as it is."""
    fields = {name: one for name, one in output.items() if name != CONTENT}
    if not fields:
        return str(output[CONTENT])
    return "\n".join(_write_named(_find_title(name, titles), one) for name, one in _list_present(fields, titles))


def _tell(present: Sequence[tuple[str, object]], titles: Mapping[str, str]) -> Iterator[str]:
    """Return what a payload or summary says as paragraphs; a single value needs no title."""
    for name, one in present:
        yield _write(one) if len(present) == 1 else _write_named(f"**{_find_title(name, titles)}**", one)


def _list_present(given: object, titles: Mapping[str, str]) -> list[tuple[str, object]]:
    """Return (name, value) of what tells something; what has a title comes first, in their order, for stored JSON has no order."""
    if not isinstance(given, Mapping):
        return []
    places = {name: place for place, name in enumerate(titles)}
    present = [(str(name), one) for name, one in given.items() if not _is_empty(one)]
    return sorted(present, key=lambda one: places.get(one[0], len(places)))


def _is_empty(value: object) -> bool:
    """Return whether a value tells nothing: null, or a text, list or object without content."""
    return value is None or (isinstance(value, str | Sequence | Mapping) and not value)


def _find_title(name: str, titles: Mapping[str, str]) -> str:
    """Return what people read for a name or a path, which may also be titled by its last part."""
    last = name.rpartition(".")[2]
    return titles.get(name) or titles.get(last) or last


def _write_named(title: str, value: object) -> str:
    """Return a value behind its title, or below it if it has several lines."""
    written = _write(value)
    return f"{title}:\n{written}" if isinstance(value, list) or "\n" in written else f"{title}: {written}"


def _write(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(f"- {_write(one)}" for one in value)
    return dumps(value)
