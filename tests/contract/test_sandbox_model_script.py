"""Ready answers of the demo model: which request gets which, rules that are not used up, calls of functions, files of rules."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.model.app import create_app
from sandbox.model.script import load_script
from sandbox.model.server import main
from tests.contract.sandbox_model_kit import model


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh model for each test."""
    async with model() as ready:
        yield ready


async def ask(client: httpx.AsyncClient, said: str, system: str = "", **more: Any) -> Any:
    """The message of an answer."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": said}]
    answer = await client.post("/v1/chat/completions", json={"model": "any", "messages": messages, **more})
    return answer.json()["choices"][0]["message"]


async def order(client: httpx.AsyncClient, *answers: Any, **conditions: Any) -> None:
    """Queue answers."""
    told = await client.post("/sandbox/script", json={"answers": list(answers), **conditions})
    assert told.status_code == 200, told.text


async def test_an_answer_that_a_fault_spoiled_keeps_its_condition(client: httpx.AsyncClient) -> None:
    """Otherwise the next request of anybody would get what was meant for one."""
    await order(client, "for the order", match="order")
    await client.post("/sandbox/faults", json={"kind": "truncated"})
    await ask(client, "order")
    assert (await ask(client, "hello"))["content"] != "for the order"
    assert (await ask(client, "order"))["content"] == "for the order"


async def test_each_condition_chooses_its_requests_and_all_of_them_must_hold(client: httpx.AsyncClient) -> None:
    await order(client, "by model", model="small")
    await order(client, "by marker", marker="[service: judge]")
    await order(client, "by function", tool="rag_search")
    await order(client, "by two", model="small", marker="[role: writer]")
    await order(client, "never", provider="gigachat")
    tools = [{"type": "function", "function": {"name": "rag_search"}}]
    assert (await ask(client, "a", system="x [service: judge] y"))["content"] == "by marker"
    assert (await ask(client, "a", tools=tools))["content"] == "by function"
    assert (await ask(client, "a", model="small"))["content"] == "by model"
    assert (await ask(client, "a", model="small"))["content"] != "by two"
    assert (await ask(client, "a", model="small", system="[role: writer]"))["content"] == "by two"
    assert (await client.get("/sandbox/health")).json()["scripted"] == 1


async def test_rules_are_kept_give_their_answers_in_turn_and_come_after_queued_ones(client: httpx.AsyncClient) -> None:
    await order(client, "first", "second", match="стих", keep=True)
    assert [(await ask(client, "стих"))["content"] for _ in range(3)] == ["first", "second", "first"]
    await order(client, "once", match="стих")
    assert [(await ask(client, "стих"))["content"] for _ in range(2)] == ["once", "second"]
    await client.delete("/sandbox/script")
    assert (await ask(client, "стих"))["content"] not in {"first", "second"}


async def test_a_spoiled_rule_gives_the_same_answer_again(client: httpx.AsyncClient) -> None:
    await order(client, "first", "second", keep=True)
    await client.post("/sandbox/faults", json={"kind": "empty"})
    assert (await ask(client, "a"))["content"] == ""
    assert (await ask(client, "a"))["content"] == "first"


async def test_arguments_that_cannot_be_read_go_out_as_they_are(client: httpx.AsyncClient) -> None:
    await order(client, {"tool_calls": [{"name": "rag_search"}], "raw_arguments": '{"question": "cut'})
    call = (await ask(client, "a", tools=[{"type": "function", "function": {"name": "rag_search"}}]))["tool_calls"][0]
    assert call["function"] == {"name": "rag_search", "arguments": '{"question": "cut'}


async def test_after_a_functions_result_the_model_speaks(client: httpx.AsyncClient) -> None:
    """Otherwise a loop of calls would never end."""
    tools = [{"type": "function", "function": {"name": "rag_search", "description": "Найти в документах"}}]
    messages = [{"role": "user", "content": "найти в документах"}, {"role": "tool", "tool_call_id": "1", "content": "нашлось"}]
    answer = await client.post("/v1/chat/completions", json={"messages": messages, "tools": tools, "tool_choice": "auto"})
    assert "tool_calls" not in answer.json()["choices"][0]["message"]


async def test_a_message_like_no_function_is_answered_in_words(client: httpx.AsyncClient) -> None:
    tools = [{"type": "function", "function": {"name": "rag_search", "description": "Найти ответ на вопрос в документах компании"}}]
    assert "tool_calls" not in await ask(client, "hello", tools=tools)
    assert (await ask(client, "hello", tools=tools, tool_choice="required"))["tool_calls"][0]["function"]["name"] == "rag_search"
    named = {"type": "function", "function": {"name": "rag_search"}}
    assert (await ask(client, "hello", tools=tools, tool_choice=named))["tool_calls"]
    assert "tool_calls" not in await ask(client, "найти ответ в документах", tools=tools, tool_choice="none")


async def test_a_file_of_rules_answers_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("- answers: [да]\n  marker: классификатор\n  keep: true\n- answers: [{text: раз}]\n", encoding="utf-8")
    transport = httpx.ASGITransport(app=create_app(rules=load_script(file)))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        assert (await ask(client, "а", system="Ты классификатор."))["content"] == "раз"
        assert (await ask(client, "а", system="Ты классификатор."))["content"] == "да"


@pytest.mark.parametrize("content", ["{", "answers: 1", "- answers: []", "- answers: [a]\n  mach: b"])
def test_a_file_of_rules_that_cannot_be_read_stops_the_start_with_a_sentence(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(content, encoding="utf-8")
    assert main(["--script", str(file)]) == 2
    assert f"файл ответов {file} не читается" in capsys.readouterr().err
