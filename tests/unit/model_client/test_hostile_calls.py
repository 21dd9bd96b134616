"""Tool calls as careless and hostile services send them: no call gets another one's arguments, and every answer can be stored."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelTool, ToolCall
from orchestrator.model_client.tool_calls import MAX_CALLS, CallCollector
from orchestrator.sessions.model_calls import to_stored_calls
from state.canonical import dumps
from tests.unit.model_client.test_model_client import delta
from tests.unit.model_client.test_tool_calls import ask

TOOLS = (ModelTool(name="read"), ModelTool(name="delete"))
END = delta(None, "tool_calls")


def part(name: str | None, arguments: object, **more: object) -> dict[str, Any]:
    """Return one part of a call, with its `id` and `index` if they are given."""
    return {"function": {"arguments": arguments} | ({"name": name} if name else {}), **more}


def event(*parts: dict[str, Any]) -> dict[str, Any]:
    return delta(None, tool_calls=list(parts))


def show(calls: tuple[ToolCall, ...]) -> list[tuple[str, object]]:
    return [(one.name, one.problem or dict(one.arguments)) for one in calls]


READ, DELETE = ("read", {"id": 1}), ("delete", {"id": 2})
TWO_CALLS: dict[str, list[dict[str, Any]]] = {
    "no places, objects": [event(part("read", {"id": 1}, id="a")), event(part("delete", {"id": 2}, id="b"))],
    "no places, texts": [event(part("read", '{"id": 1}', id="a")), event(part("delete", '{"id"', id="b")), event(part(None, ": 2}"))],
    "no places and no ids": [event(part("read", {"id": 1})), event(part("delete", {"id": 2}))],
    "no places, one event": [event(part("read", {"id": 1}), part("delete", {"id": 2}))],
    "all in one place": [event(part("read", {"id": 1}, id="a", index=0)), event(part("delete", {"id": 2}, id="b", index=0))],
    "pieces mixed by id": [
        event(part("read", '{"id"', id="a")),
        event(part("delete", '{"id"', id="b")),
        event(part(None, ": 1}", id="a")),
        event(part(None, ": 2}", id="b")),
    ],
}


@pytest.mark.parametrize("name", TWO_CALLS)
async def test_no_call_gets_the_arguments_of_another(name: str) -> None:
    """Whatever a service leaves out of two calls, each keeps its own name and arguments."""
    answer = await ask(*TWO_CALLS[name], END, tools=TOOLS)
    assert show(answer.calls) == [READ, DELETE]
    assert len({one.id for one in answer.calls}) == len(answer.calls)


async def test_calls_of_one_id_are_told_apart() -> None:
    """An engine names its nodes by these ids."""
    answer = await ask(event(part("read", {"id": 1}, id="a", index=0), part("read", {"id": 2}, id="a", index=1)), END, tools=TOOLS)
    assert [one.id for one in answer.calls] == ["a", "a-2"]


async def test_a_call_in_both_forms_is_one_call() -> None:
    """Some services send `function_call` beside `tool_calls` for old clients."""
    both = delta(None, tool_calls=[part("read", '{"id": 1}', id="a")], function_call={"name": "read", "arguments": '{"id": 1}'})
    assert show((await ask(both, END, tools=TOOLS)).calls) == [READ]


AMBIGUOUS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "two tools in one call": ([event(part("read", '{"id": 1}', index=0)), event(part("delete", "", index=0))], "names two tools"),
    "two functions where one is possible": (
        [delta(None, function_call={"name": name, "arguments": {"id": number}}) for name, number in (("read", 1), ("delete", 2))],
        "sent twice and differ",
    ),
    "an object after a text": ([event(part("read", '{"id": 1}', index=0)), event(part("read", {"id": 2}, index=0))], "sent twice"),
    "a name twice": ([event(part("delete", '{"id": 1, "id": 2}'))], "stands twice"),
    "a name twice, deeper": ([event(part("delete", '{"x": [{"id": 1, "id": 2}]}'))], "stands twice"),
    "no name": ([event(part(None, {"id": 1}, index=0))], "names no tool"),
    "infinity": ([event(part("read", '{"id": 1e999}'))], "NaN or infinity"),
    "NaN in an object": ([event(part("read", {"id": float("nan")}))], "NaN"),
    "half of a character": ([event(part("read", {"id": "\ud800"}))], "cannot be stored"),
    "NUL": ([event(part("read", {"id": "a\x00"}))], "cannot be stored"),
    "an endless number": ([event(part("read", '{"id": ' + "9" * 5_000 + "}"))], "not JSON"),
    "a number that loses digits": ([event(part("read", {"id": 2**60}))], "cannot be stored"),
    "deep": ([event(part("read", '{"id": ' + "[" * 900 + "]" * 900 + "}"))], "cannot be stored"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_what_is_not_certain_is_a_problem_and_no_argument_is_guessed(name: str) -> None:
    """The call has no arguments and says why; the answer, which was paid, can be stored."""
    events, problem = AMBIGUOUS[name]
    (call,) = (await ask(*events, END, tools=TOOLS)).calls
    assert (problem in call.problem, call.arguments) == (True, {})
    dumps(to_stored_calls((call,)))


async def test_a_tool_that_was_not_offered_is_a_problem() -> None:
    """What the model gave for it can be shown."""
    (call,) = (await ask(event(part("drop_all", {"id": 1})), END, tools=TOOLS)).calls
    assert ("no tool of this name" in call.problem, call.arguments) == (True, {"id": 1})


async def test_names_that_no_journal_takes_are_replaced() -> None:
    """Text, model, id and name of an answer can be stored whatever bytes they hold."""
    events = [{**delta("a\x00b"), "model": "m\ud800"}, event(part("read\ud800", {}, id="x\x00", index=0)), END]
    answer = await ask(*events, tools=TOOLS)
    dumps([answer.text, answer.model, answer.finish_reason, to_stored_calls(answer.calls)])
    assert answer.text == "a�b"


@pytest.mark.parametrize(
    "events",
    [
        [event(*(part("read", {}, id=str(number)) for number in range(MAX_CALLS + 1)))],
        [event(part("read", {}, id=str(number), index=0)) for number in range(MAX_CALLS + 1)],
        [event(part("read", {"text": "x" * 50_000}, index=number)) for number in range(5)],
    ],
)
async def test_endless_calls_are_an_error(events: list[dict[str, Any]]) -> None:
    """Too many calls without places or in one place, or arguments that are endless as objects."""
    with pytest.raises(ModelClientError):
        await ask(*events, END, tools=TOOLS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5) | st.floats(allow_nan=True),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(
    st.lists(st.tuples(st.sampled_from(["read", "delete"]), st.dictionaries(st.text(max_size=3), JSON, max_size=4)), max_size=6), st.data()
)
def test_calls_survive_any_cutting(wanted: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    """Calls whose arguments are cut anywhere and mixed by place come out as they went in, or name a problem if they cannot be stored."""
    pieces: list[list[dict[str, Any]]] = []
    for index, (name, arguments) in enumerate(wanted):
        text = json.dumps(arguments)
        at = data.draw(st.integers(0, len(text)))
        pieces.append([part(name, text[:at], index=index, id=f"c{index}"), part(None, text[at:], index=index)])
    collector = CallCollector()
    while any(pieces):
        turn = data.draw(st.sampled_from([one for one in pieces if one]))
        collector.take([turn.pop(0)], None)
    calls = collector.finish()
    assert [one.name for one in calls] == [name for name, _ in wanted]
    dumps(to_stored_calls(calls))
    for call, (_, arguments) in zip(calls, wanted, strict=True):
        assert call.problem or call.arguments == arguments
