"""What a person reads when a flow is done: its result, and what each step answered as a folded quote."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.domain.outputs import Passage, Reply, Text
from orchestrator.engines.flows.definition import Flow
from orchestrator.engines.flows.outputs import StepOutputs
from orchestrator.engines.flows.prompt import CONTENT
from state.canonical import dumps

LONGEST_QUOTE: Final = 3_000
_MOST_QUOTES: Final = 20


def build_result_reply(flow: Flow, outputs: StepOutputs, result: Mapping[str, object]) -> Reply:
    """Return the last message of a flow: its payload, without one its summary, without either the last answer; then the steps' answers."""
    told = list(_tell(result.get("payload"))) or list(_tell(result.get("summary")))
    answers = outputs.list_contents(CONTENT)
    text = "\n\n".join(told) if told else (answers[-1][1] if answers else "")
    names = {step.id: step.name or step.id for step in flow.steps}
    quotes = [Passage(title=names[step], text=content[:LONGEST_QUOTE]) for step, content in answers if content != text]
    return Reply(parts=(*((Text(text=text),) if text else ()), *quotes[:_MOST_QUOTES]))


def _tell(given: object) -> Iterator[str]:
    """Return what a payload or summary says as paragraphs: names of single values stand before them, nothing is left of what is null."""
    if not isinstance(given, Mapping):
        return
    present = {name: one for name, one in given.items() if one is not None}
    for name, one in present.items():
        written = _write(one)
        yield written if len(present) == 1 else f"**{name.rpartition('.')[2]}**: {written}"


def _write(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(f"- {_write(one)}" for one in value)
    return dumps(value)
