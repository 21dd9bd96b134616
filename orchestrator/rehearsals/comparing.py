"""Says how what came of a rehearsal differs from what was expected."""

from collections.abc import Iterator, Sequence
from difflib import ndiff

from orchestrator.domain.outputs import Reply
from orchestrator.engines.runs import RunResult
from orchestrator.rehearsals.case import ExpectedEffect
from orchestrator.rehearsals.rehearsal import Happening
from state.canonical import dumps
from state.stored import JsonObject


def list_messages(happenings: Sequence[Happening]) -> list[str]:
    return [say_reply(happening) for happening in happenings if happening.kind in {"message", "question"}]


def say_reply(happening: Happening) -> str:
    """Return its text, and sentences of the program as [their-code]."""
    reply = happening.reply or Reply()
    return "\n".join([*([happening.text] if happening.text else []), *(f"[{notice.code}]" for notice in reply.notices)])


def list_effects(happenings: Sequence[Happening]) -> list[ExpectedEffect]:
    effects = [happening for happening in happenings if happening.kind == "effect"]
    return [ExpectedEffect(step=one.place.step, method=one.data["method"], params=one.data["params"]) for one in effects]


def compare_outcome(outcome: str, code: str, result: RunResult, happenings: Sequence[Happening]) -> Iterator[str]:
    if outcome != result.status or (code and code != result.code):
        expected_end, came = f"{outcome} {code}".strip(), f"{result.status} {result.code}".strip()
        details = [happening.text for happening in happenings if happening.kind == "failure" and happening.text]
        yield f"outcome: expected {expected_end}, came {came}{f' ({details[-1]})' if details else ''}"


def compare_left(left: int) -> Iterator[str]:
    """`left` are inputs that were not asked for."""
    if left:
        yield f"inputs: the last {left} were not asked for"


def compare_values(name: str, expected: JsonObject, came: JsonObject) -> Iterator[str]:
    for key, value in expected.items():
        if key not in came:
            yield f"{name}.{key}: expected {dumps(value)}, and nothing set it"
        elif dumps(came[key]) != dumps(value):
            yield f"{name}.{key}: expected {dumps(value)}, came {dumps(came[key])}"


def compare_effects(name: str, expected: Sequence[ExpectedEffect] | None, came: Sequence[ExpectedEffect]) -> Iterator[str]:
    """None is not looked at."""
    if expected is not None and (len(came) != len(expected) or not all(map(_is_effect_fitting, expected, came))):
        yield from compare_lists(name, list(map(_write_effect, expected)), list(map(_write_effect, came)))


def compare_lists(name: str, expected: Sequence[str] | None, came: Sequence[str]) -> Iterator[str]:
    """None is not looked at."""
    if expected is None or list(expected) == list(came):
        return
    yield f"{name}: - expected, + came"
    expected_lines, lines_that_came = ([line.replace("\n", " ⏎ ") for line in lines] for lines in (expected, came))
    yield from (f"  {line}" for line in ndiff(expected_lines, lines_that_came) if not line.startswith("?"))


def _is_effect_fitting(expected: ExpectedEffect, came: ExpectedEffect) -> bool:
    is_right = expected.method == came.method and expected.step in {None, came.step}
    return is_right and (expected.params is None or dumps(expected.params) == dumps(came.params))


def _write_effect(effect: ExpectedEffect) -> str:
    where = f"{effect.step}: " if effect.step else ""
    return f"{where}{effect.method}" + (f" {dumps(effect.params)}" if effect.params is not None else "")
