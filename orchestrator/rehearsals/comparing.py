"""Says how what came of a rehearsal differs from what was expected, as lines to read."""

from collections.abc import Iterator, Sequence
from difflib import ndiff

from orchestrator.domain.outputs import Reply
from orchestrator.engines.runs import RunResult
from orchestrator.rehearsals.case import ExpectedEffect
from orchestrator.rehearsals.rehearsal import Happening
from state.canonical import dumps
from state.stored import JsonObject


def list_messages(happenings: Sequence[Happening]) -> list[str]:
    """Return everything that the person read, in order."""
    return [say_reply(happening) for happening in happenings if happening.kind in {"message", "question"}]


def say_reply(happening: Happening) -> str:
    """Return a message as a test holds it: its text, and sentences of the program as [their-code], in whatever language they are."""
    reply = happening.reply or Reply()
    return "\n".join([*([happening.text] if happening.text else []), *(f"[{notice.code}]" for notice in reply.notices)])


def list_effects(happenings: Sequence[Happening]) -> list[ExpectedEffect]:
    """Return the effects that were asked for, in order."""
    told = [happening for happening in happenings if happening.kind == "effect"]
    return [ExpectedEffect(step=one.place.step, method=one.data["method"], params=one.data["params"]) for one in told]


def compare_outcome(outcome: str, code: str, result: RunResult, happenings: Sequence[Happening]) -> Iterator[str]:
    """Yield how the end of the run differs; a code is looked at only if one is expected."""
    if outcome != result.status or (code and code != result.code):
        wanted, came = f"{outcome} {code}".strip(), f"{result.status} {result.code}".strip()
        details = [happening.text for happening in happenings if happening.kind == "failure" and happening.text]
        yield f"outcome: expected {wanted}, came {came}{f' ({details[-1]})' if details else ''}"


def compare_values(name: str, expected: JsonObject, came: JsonObject) -> Iterator[str]:
    """Yield how the values that are expected differ; others are not looked at."""
    for key, value in expected.items():
        if key not in came:
            yield f"{name}.{key}: expected {dumps(value)}, and nothing set it"
        elif dumps(came[key]) != dumps(value):
            yield f"{name}.{key}: expected {dumps(value)}, came {dumps(came[key])}"


def compare_effects(name: str, expected: Sequence[ExpectedEffect], came: Sequence[ExpectedEffect]) -> Iterator[str]:
    """Yield how the effects differ, all of them in order."""
    if len(came) != len(expected) or not all(map(_is_effect_fitting, expected, came)):
        yield from compare_lists(name, list(map(_write_effect, expected)), list(map(_write_effect, came)))


def compare_lists(name: str, expected: Sequence[str], came: Sequence[str]) -> Iterator[str]:
    """Yield the lines of both lists with what is only in the one (-) or the other (+); none if they are equal."""
    if list(expected) == list(came):
        return
    yield f"{name}: - expected, + came"
    wanted, found = ([line.replace("\n", " ⏎ ") for line in lines] for lines in (expected, came))
    yield from (f"  {line}" for line in ndiff(wanted, found) if not line.startswith("?"))


def _is_effect_fitting(wanted: ExpectedEffect, came: ExpectedEffect) -> bool:
    is_right = wanted.method == came.method and wanted.step in {None, came.step}
    return is_right and (wanted.params is None or dumps(wanted.params) == dumps(came.params))


def _write_effect(effect: ExpectedEffect) -> str:
    where = f"{effect.step}: " if effect.step else ""
    return f"{where}{effect.method}" + (f" {dumps(effect.params)}" if effect.params is not None else "")
