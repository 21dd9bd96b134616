"""Tool calls in answers, in both forms: whole or in pieces; what is malformed is named and never guessed."""

from typing import Any

import httpx
import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, ModelOptions, ModelRequest, ModelTool
from orchestrator.model_client.providers import OpenAiProvider
from tests.unit.model_client.test_model_client import Wire, body, delta

ASK = ({"role": "user", "content": "Погода?"},)
TOOL = ModelTool(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})


def piece(arguments: object, *, name: str | None = None, index: object = 0, call_id: str | None = None) -> dict[str, Any]:
    """Return one chunk of a stream with a part of a tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return delta(None, tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}])


async def ask(*events: object, tools: tuple[ModelTool, ...] = (TOOL,)) -> ModelAnswer:
    """Return the answer to a request with these tools from a stream of these events."""
    return await OpenAiProvider(Wire(body(*events, "[DONE]")).client()).chat(ModelRequest(messages=ASK, tools=tools))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"city": "Ом', "not JSON"),
        ('["Омск"]', "not a JSON object but list"),
        ('{"city": NaN}', "NaN"),
        ("[" * 100_000, "too deeply"),
        ("Омск", "not JSON"),
    ],
)
async def test_malformed_arguments_are_named_and_empty(arguments: str, problem: str) -> None:
    """The call is there with its name, so that the caller can say what was wrong."""
    (call,) = (await ask(piece(arguments, name="weather", call_id="c1"), delta(None, "tool_calls"))).calls
    assert (call.name, call.arguments) == ("weather", {})
    assert problem in call.problem


@pytest.mark.parametrize(
    "events",
    [
        [delta(None, tool_calls="weather"), delta(None, "tool_calls")],
        [delta(None, tool_calls=[{"index": 0}]), delta(None, "tool_calls")],
        [piece("{}", name="weather", index=10**9), delta(None, "tool_calls")],
        [piece("x" * 60_000, name="weather") for _ in range(4)],
        [delta(None, "tool_calls")],
    ],
)
async def test_calls_without_a_form_are_an_error(events: list[object]) -> None:
    """No list, no function, an absurd place, endless arguments, or a promised call that never comes."""
    with pytest.raises(ModelClientError):
        await ask(*events)


async def test_a_call_although_no_tool_was_offered_is_no_answer() -> None:
    """Nobody could make it."""
    with pytest.raises(ModelClientError, match="none was offered"):
        await ask(piece("{}", name="weather"), delta(None, "tool_calls"), tools=())


async def test_options_and_tools_reach_the_wire() -> None:
    """Each under the name of the API; what is not set is not sent."""
    wire = Wire(body(delta("{}"), delta(None, "stop"), "[DONE]"))
    options = ModelOptions(model="m-2", temperature=0.1, max_tokens=7, top_p=0.5, stop=["."], seed=3, json=True)
    await OpenAiProvider(wire.client()).chat(ModelRequest(messages=ASK, options=options, tools=[TOOL]))
    sent = httpx.Response(200, content=wire.requests[0].content).json()
    assert {name: sent[name] for name in ("model", "temperature", "max_tokens", "top_p", "stop", "seed")} == {
        "model": "m-2",
        "temperature": 0.1,
        "max_tokens": 7,
        "top_p": 0.5,
        "stop": ["."],
        "seed": 3,
    }
    assert sent["response_format"] == {"type": "json_object"}
    assert sent["tools"][0]["function"]["parameters"] == TOOL.parameters


@pytest.mark.parametrize("wrong", [{"temperature": 3.0}, {"top_p": float("nan")}, {"max_tokens": 0}])
def test_an_option_that_no_provider_takes_is_refused_by_name(wrong: dict[str, Any]) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ModelOptions(**wrong)
