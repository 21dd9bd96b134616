"""`sdelka ask` asks models by the two functions of the seed: its log has what they log, and what is missing is said at the start."""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

import bot
from bot.composition.model_providers import build_providers
from bot.settings.settings import Settings
from orchestrator.domain.models import EmbedRequest
from orchestrator.model_client.plain_calls import PlainClient
from tests.forker import forked
from tests.unit.engines.tool_agent.ask_kit import ANALYSING, HELP, RELEVANT, SELECTING
from tests.unit.model_client.loopback_kit import Answer, Seen, reply, serving

ROOT = Path(bot.__file__).parents[1]
KEY = "very-secret-0123456789"
LLM_ERROR, PARSE_ERROR = "Ошибка при запросе LLM, завершаюсь..", "Ошибка при разборе ответа LLM, завершаюсь.."
YES = reply({"choices": [{"index": 0, "message": {"role": "assistant", "content": "да"}, "finish_reason": "length"}]})
pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of a conversation of one question."""

    code: int
    out: list[str]
    told: str
    """What stands on stderr."""
    log: str
    seen: list[Seen]


async def ask(folder: Path, answer: Answer, *options: str, typed: str = "Когда звонить?\n") -> Asked:
    """Talk with the program as a process of its own; the model answers so."""
    async with serving(answer) as service:
        env = {"OPENAI_API_BASE": f"{service.base}/v1", "OPENAI_API_KEY": KEY, "HAIKU_SERVICE_URL": "http://127.0.0.1:1"}
        ran = await asyncio.to_thread(start, folder, env, *options, typed=typed)
        seen = list(service.seen)
    log = folder / "logs" / "tool_agent.log"
    written = log.read_text(encoding="utf-8") if log.exists() else ""
    return Asked(code=ran.returncode, out=ran.stdout.splitlines()[len(HELP) :], told=ran.stderr, log=written, seen=seen)


def start(folder: Path, env: Mapping[str, str], *options: str, typed: str) -> subprocess.CompletedProcess[str]:
    """Run the program with these lines typed."""
    folder.mkdir(exist_ok=True)
    settings = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LOG_DIR": str(folder / "logs"), "PYTHONIOENCODING": "utf-8", **env}
    command = forked("-m", "bot", "ask", *options)
    return subprocess.run(command, cwd=folder, env=settings, input=typed, capture_output=True, encoding="utf-8", check=False, timeout=60)


def answer_then_refuse(seen: Seen) -> bytes:
    """The first question is answered, the second refused with the key in the reason."""
    return YES if json.loads(seen.body).get("max_tokens") == 1 else reply({"error": {"message": f"Invalid params: top_p {KEY}"}}, 400)


@pytest.mark.req("S001-7", "S001-11", "S001-39", "S001-2")
async def test_a_refused_request_leaves_its_stack_trace_in_the_log(tmp_path: Path) -> None:
    """At the level critical, under the prefix of its step and without the key; a line on stderr says where the log is."""
    came = await ask(tmp_path, answer_then_refuse)
    assert (came.code, came.out) == (1, [ANALYSING, RELEVANT, SELECTING, LLM_ERROR])
    first, *rest = [line.split(" ", 1)[1] for line in came.log.splitlines() if " CRITICAL " in line]
    assert first == "CRITICAL [select] chat completions failed"
    assert rest == ["CRITICAL [select] select_tool_call // LLM Error: The model service answers 400: Invalid params: top_p ***."]
    assert "\n    Traceback (most recent call last):\n" in came.log
    assert KEY not in came.log + came.told
    assert came.told == f"Why it ended stands in {tmp_path / 'logs' / 'tool_agent.log'}.\n"
    assert [json.loads(one.body)["stream"] for one in came.seen] == [False, False]


@pytest.mark.req("S001-10", "S001-2")
async def test_payload_and_response_are_logged_when_the_log_is_verbose(tmp_path: Path) -> None:
    """At the level debug, under the prefix of their step and without the key; else the log has neither."""
    verbose, quiet = [await ask(tmp_path / one, answer_then_refuse, *options) for one, options in (("a", ["--verbose"]), ("b", []))]
    for log in (verbose.log, verbose.told):
        assert ' DEBUG [cls] chat completions request: {"' in log
        assert "Когда звонить?" in log
        assert ' DEBUG [cls] chat completions response: {"choices"' in log
        assert " DEBUG [select] chat completions request: " in log
        assert KEY not in log
    assert "request: " not in quiet.log
    assert verbose.out == quiet.out


@pytest.mark.req("S001-30", "S001-A2")
@pytest.mark.parametrize("body", [b"<html>busy</html>", b"[]", b"just a text", {"choices": [{"message": {}}]}, {"choices": []}])
async def test_an_answer_of_another_form_is_one_that_cannot_be_read(tmp_path: Path, body: Any) -> None:
    """Whatever came with the status 200 and is no completion."""
    came = await ask(tmp_path, lambda _: reply(body))
    assert (came.code, came.out) == (1, [ANALYSING, PARSE_ERROR])
    assert "CRITICAL [cls] classify_intent // LLM Response Parse Error: " in came.log


@pytest.mark.req("S001-43", "S001-55")
async def test_an_unknown_tool_is_named_with_its_parameters(tmp_path: Path) -> None:
    """As the model gave them, also in an answer that does not say why it ended."""
    call = {"function": {"name": "delete_all", "arguments": '{"deal": 1, "name": "x"}'}, "type": "function", "id": "1"}
    whole = reply({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]})
    came = await ask(tmp_path, lambda seen: YES if json.loads(seen.body).get("max_tokens") == 1 else whole)
    assert came.out[3] == "Выбран инструмент delete_all с параметрами deal: 1, name: x"


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({}, "OPENAI_API_KEY"),
        ({"OPENAI_API_BASE": "https://llm.example/v1", "OPENAI_API_KEY": " "}, "OPENAI_API_KEY"),
        ({"OPENAI_APIKEY": "sk-0123456789"}, "OPENAI_API_KEY (OPENAI_APIKEY is set: was OPENAI_API_KEY meant?)"),
    ],
)
def test_a_missing_key_is_said_at_the_start(tmp_path: Path, env: dict[str, str], told: str) -> None:
    """In one sentence on stderr that names the setting, with the exit code 2; nothing is asked of the person."""
    ran = start(tmp_path, env, typed="Когда звонить?\n")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"there is no key for a model that answers: set {told}" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.req("S001-13", "S001-16", "S001-17")
async def test_vectors_are_made_by_the_function_for_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is asked and answered is logged, and so is the stack trace of what failed."""
    bodies = [{"data": [{"embedding": [0.5], "index": 0}]}, {"data": "none"}]
    wire = httpx.MockTransport(lambda _: httpx.Response(200, json=bodies.pop(0)) if bodies else httpx.Response(400))
    settings = Settings(_env_file=None, openai_api_key=KEY, default_embedding_model="e")  # type: ignore[call-arg]  # as pydantic takes it
    built = build_providers(settings, wrap=lambda client: PlainClient(client, verbose=True), transports={"openai": wire})
    with caplog.at_level("DEBUG", logger="orchestrator.model_client"):
        assert (await built.router.embed(EmbedRequest(texts=["а"]))).vectors == [[0.5]]
        assert [one.getMessage().partition(":")[0] for one in caplog.records] == ["embeddings request", "embeddings response"]
        bodies.clear()
        with pytest.raises(Exception, match="400"):
            await built.router.embed(EmbedRequest(texts=["а"]))
    assert [one.getMessage() for one in caplog.records if one.levelname == "CRITICAL" and one.exc_info] == ["embeddings failed"]
    for client in built.clients.values():
        await client.aclose()
