"""What is said at the start about settings of models that cannot work, and about those that are probably not meant."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.cli.doctor.model import check_model
from bot.cli.doctor.settings_check import probe_settings
from bot.composition.model_checks import describe_chains, find_doubts, find_mute_reason, list_talking_models, log_models
from bot.composition.model_providers import build_providers
from bot.settings.loading import load_settings
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import ModelRequest
from orchestrator.model_client.dialects import Tuning, merge_extra
from orchestrator.model_client.settings import find_extra_fault
from tests.unit.model_client.loopback_kit import FINE, Seen, reply, serving
from tests.unit.model_client.test_model_client import delta, sse

ASK = ({"role": "user", "content": "?"},)
KEY = "sk-0123456789abcdef"


def build(**given: Any) -> Settings:
    return Settings(_env_file=None, **{"openai_api_key": SecretStr(KEY), **given})  # type: ignore[call-arg]  # an argument of pydantic-settings


def write(folder: Path, fields: str, **given: Any) -> Settings:
    """Return settings with a MODELS_FILE of one provider."""
    path = folder / "models.yaml"
    path.write_text(f"providers:\n  one: {{{fields}}}\n", encoding="utf-8")
    return build(models_file=path, **given)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no path of OpenAI": ({"openai_api_base": "https://api.openai.com"}, "OPENAI_API_BASE: the address of OpenAI ends in /v1"),
    "no path of OpenRouter": ({"openai_api_base": "https://openrouter.ai/v1"}, "OpenRouter ends in /api/v1"),
    "no path of Ollama": ({"openai_api_base": "http://localhost:11434/"}, "Ollama ends in /v1"),
    "the whole address": ({"openai_api_base": "https://llm.example/v1/chat/completions/"}, "ends in /chat/completions, which is added"),
    "a blank in the address": ({"openai_api_base": "https://llm.example/v1 "}, "OPENAI_API_BASE has a blank"),
    "a line break in the address": ({"openai_api_base": "https://llm.example/v1\n"}, "OPENAI_API_BASE has a blank or a line break"),
    "a port of nobody": ({"openai_api_base": "http://h:99999/v1"}, "OPENAI_API_BASE must be an http or https address"),
    "half an address": ({"openai_api_base": "http://[::1"}, "OPENAI_API_BASE must be an http or https address"),
    "a key with a line break": ({"openai_api_key": SecretStr(f"{KEY[:9]}\n{KEY[9:]}")}, "the key in OPENAI_API_KEY has a line break"),
    "a key with a blank": ({"openai_api_key": SecretStr(f"{KEY[:9]} {KEY[9:]}")}, "has a blank within"),
    "a key with Bearer": ({"openai_api_key": SecretStr(f"Bearer {KEY}")}, "begins with the word Bearer: leave it out"),
    "a key with Basic": ({"gigachat_credentials": SecretStr("Basic aWQ6c2VjcmV0")}, "GIGACHAT_CREDENTIALS begins with the word Basic"),
    "a key in quotes": ({"openai_api_key": SecretStr(f'"{KEY}"')}, "quotation marks"),
    "a name to fill in": ({"openai_model": "gpt://<folder>/yandexgpt/latest"}, "is to be filled in"),
    "a name with a line break": ({"openai_model": "qwen3:8b\n"}, "line break"),
    "a temperature for gpt-5": ({"openai_model": "gpt-5-mini", "model_temperature": 0.3}, "temperature: gpt-5-mini of OpenAI takes none"),
    "an effort of GigaChat": (
        {"openai_api_key": None, "gigachat_credentials": SecretStr("Z2lnYQ=="), "model_reasoning_effort": "max"},
        "reasoning_effort: GigaChat takes low, medium, high",
    ),
    "a provider nobody knows": ({"model_chain": "openai,gigachat"}, "MODEL_CHAIN names the provider gigachat, which is not among openai"),
    "a provider twice": ({"model_chain": "openai, openai"}, "MODEL_CHAIN names a provider twice"),
    "an extra body that takes over": ({"model_extra_body": '{"messages": []}'}, "extra_body: messages may not stand there"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_setting_that_cannot_work_is_refused_at_the_start_and_by_doctor(name: str) -> None:
    """By one sentence, which is the same in both places and never shows a key; nothing is asked."""
    given, says = FAULTS[name]
    settings = build(**given)
    with pytest.raises(SettingsError) as why:
        build_providers(settings)
    assert says in why.value.reason
    assert KEY[9:] not in why.value.reason
    found = [one async for one in check_model(settings, spend=True, within=1.0)]
    assert [(one.verdict, says in one.says) for one in found] == [("wrong", True)]


FILE_FAULTS: dict[str, tuple[str, str]] = {
    "of GigaChat": ("kind: openai, wide_schemas: keep", "wide_schemas is of GigaChat only"),
    "not of GigaChat": ("kind: gigachat, key: OPENAI_API_KEY, length_field: max_completion_tokens", "GigaChat takes max_tokens only"),
    "set and left out": ("kind: openai, model: m, temperature: 1, omit: [temperature]", "temperature is set and stands in `omit`"),
    "left out of nothing": ("kind: openai, omit: [heat]", "omit"),
    "no such effort": ("kind: openai, reasoning_effort: huge", "reasoning_effort"),
    "too hot": ("kind: openai, temperature: 3", "temperature"),
    "no tokens": ("kind: openai, max_tokens: 0", "max_tokens"),
    "no silence": ("kind: openai, silence: 0", "silence"),
    "no connection": ("kind: openai, connect: -1", "connect"),
    "an @ in a password": (
        "kind: openai, base: 'https://u:sec@ret@llm.example/v1', key: K",
        "base: an @ in the name or the password is written %40",
    ),
    "a text for an extra body": ("kind: openai, extra_body: 'top_k'", "one object of JSON"),
    "a list for an extra body": ("kind: openai, extra_body: [1]", "extra_body"),
    "a date in an extra body": ("kind: openai, extra_body: {a: .nan}", "not a number"),
}


@pytest.mark.parametrize("name", FILE_FAULTS)
def test_a_provider_of_the_file_that_cannot_work_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    """The file and the provider are named."""
    fields, says = FILE_FAULTS[name]
    with pytest.raises(SettingsError) as why:
        build_providers(write(tmp_path, fields))
    assert says in why.value.reason
    assert "models.yaml" in why.value.reason


@pytest.mark.parametrize("field", ["temperature", "reasoning_effort", "max_tokens", "extra_body", "chain"])
def test_settings_that_a_file_replaces_are_refused_beside_it(field: str, tmp_path: Path) -> None:
    """They would do nothing, and nobody would see why."""
    value = {"temperature": 0.5, "reasoning_effort": "low", "max_tokens": 5, "extra_body": '{"top_k": 1}', "chain": "openai"}[field]
    with pytest.raises(SettingsError, match=f"MODEL_{field.upper()} has no effect beside MODELS_FILE"):
        load_plan(write(tmp_path, "kind: openai", **{f"model_{field}": value}))


async def test_doctor_tries_all_that_a_provider_is_used_for(tmp_path: Path) -> None:
    """With --spend: an answer, a call of a tool whose result is sent back, vectors in portions that it takes, and those of a question."""
    asked: list[Any] = []

    def answer(request: Seen) -> bytes:
        if request.path.endswith("/models"):
            return reply({"data": [{"id": "m"}, {"id": "doc"}, {"id": "query"}]})
        body = json.loads(request.body)
        asked.append(body)
        if request.path.endswith("/embeddings"):
            size = 3 if body["model"] == "doc" else 2
            refused = len(body["input"]) > 1
            return reply({"message": "max items 1"}, 400) if refused else reply({"data": [{"embedding": [1.0] * size}]})
        call = {"id": "c1", "function": {"name": "get_day", "arguments": "{}"}}
        is_first = bool(body.get("tools")) and len(body["messages"]) == 1
        message = {"content": None, "tool_calls": [call]} if is_first else {"content": "OK"}
        return reply({"choices": [{"message": message, "finish_reason": "STOP"}]})

    async with serving(answer) as service:
        path = tmp_path / "models.yaml"
        own = f"kind: openai, base: '{service.base}/v1', model: m, embedding_model: doc"
        path.write_text(
            f"providers:\n  a: {{{own}, embedding_batch: 8}}\n  b: {{{own}, embedding_question_model: query}}\n", encoding="utf-8"
        )
        found = [one async for one in check_model(build(models_file=path), spend=True, within=5.0)]
    told = {one.check: (one.verdict, one.says) for one in found}
    assert told["one call of a tool of a"] == ("ok", "m called a tool and took its result.")
    assert told["vectors of a"] == ("ok", "doc made vectors of 3 numbers; it cost 15 tokens.")
    assert told["vectors of b"] == ("wrong", "doc makes vectors of 3 numbers and query of 2: they cannot be compared.")
    assert told["b.embedding_question_model"][0] == "ok"
    assert ["tool" in [message["role"] for message in body["messages"]] for body in asked if body.get("tools")].count(True) == 2


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"Model": "other"}, "model may not stand there"),
        ({"me\u017f\u017fages": []}, "messages may not stand there"),
        ({"tools": []}, "tools may not"),
        ({"stream": False}, "stream may not"),
        ({"max_completion_tokens": 5}, "write `max_tokens`"),
        ({"temperature": 1}, "a field of its own"),
        ({"plugins": [{"id": "web"}]}, "texts that the gate does not know of"),
        ({"extra_body": {}}, "no field of a request"),
        ({"user": f"of {KEY}"}, "user holds a key"),
        ({"metadata": {"note": ["Bearer abcdef123456"]}}, "metadata.note holds a key"),
        ({"metadata": {"note": "portal-hook-secret"}}, "metadata.note holds a key"),
        ({"portal-hook-secret": 1}, "a name in it holds a key"),
        ({"auth": {"api_key": "x"}}, "looks like the place of a key"),
        ({"a": float("inf")}, "JSON does not have"),
        ({"a": {1: 2}}, "JSON does not have"),
        ({"a": "x" * 10_001}, "longer than"),
        ({"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}, "max_thinking_tokens": 5, "user": "sdelka"}, ""),
    ],
)
def test_an_extra_body_neither_takes_over_a_request_nor_carries_secrets(extra: dict[str, Any], says: str) -> None:
    """What is refused is named by its place; a secret is never quoted."""
    fault = find_extra_fault(extra, ["portal-hook-secret", KEY])
    assert (says in fault) if says else fault == ""
    assert "portal-hook-secret" not in fault
    assert KEY not in fault


def test_the_key_of_another_provider_is_a_secret_for_an_extra_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that only a variable of the environment holds."""
    monkeypatch.setenv("OTHER_KEY", "other-provider-key")
    path = tmp_path / "models.yaml"
    path.write_text(
        "providers:\n  one: {kind: openai, extra_body: {user: other-provider-key}}\n"
        "  two: {kind: openai, base: 'https://llm.example/v1', key: OTHER_KEY}\n",
        encoding="utf-8",
    )
    with pytest.raises(SettingsError, match=r"providers.one: extra_body: user holds a key") as why:
        load_plan(build(models_file=path))
    assert "other-provider-key" not in why.value.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@pytest.mark.long
@given(st.dictionaries(st.text(), JSON), st.dictionaries(st.sampled_from(["messages", "model", "stream", "tools", "reasoning"]), JSON))
def test_nothing_in_an_extra_body_replaces_a_field_of_the_program(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Whatever both are, each field of the program that is no object is sent as it is."""
    merged = merge_extra(extra, fields)
    assert {name: merged[name] for name, value in fields.items() if not isinstance(value, dict)} == {
        name: value for name, value in fields.items() if not isinstance(value, dict)
    }
    assert extra.keys() | fields.keys() == merged.keys()


def test_an_extra_body_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As an object of JSON, also with the quotation marks of a shell; anything else is one sentence without its text."""
    monkeypatch.chdir(tmp_path)
    for text in ('{"top_k": 20}', "'{\"top_k\": 20}'", ' {"top_k": 20}\n'):
        monkeypatch.setenv("MODEL_EXTRA_BODY", text)
        assert load_settings().model_extra_body == {"top_k": 20}
    for text in ("{top_k: 20}", "[1]", '{"a": 1, "a": 2}', "secret-of-ours", '{"a": NaN}'):
        monkeypatch.setenv("MODEL_EXTRA_BODY", text)
        with pytest.raises(SettingsError, match=r"MODEL_EXTRA_BODY: .*object of JSON") as why:
            load_settings()
        assert "secret-of-ours" not in why.value.reason
        assert "MODEL_EXTRA_BODY" in probe_settings().faults


def test_the_options_of_people_are_those_of_the_first_of_the_chain() -> None:
    """GigaChat beside it gets none of them; the chain is that of MODEL_CHAIN, for engines it stays as it was."""
    both = {"gigachat_credentials": SecretStr("Z2lnYQ=="), "openai_model": "gpt-4.1", "model_temperature": 0.5, "model_max_tokens": 9}
    router = build_providers(build(**both, model_chain="openai,gigachat")).router
    chain = router.find_chain("agent")
    assert [(one.name, one.provider.tuning.temperature, one.provider.tuning.max_tokens) for one in chain] == [
        ("openai", 0.5, 9),
        ("gigachat", None, None),
    ]
    assert [one.name for one in router.find_chain("tool")] == ["gigachat"]
    turned = build_providers(build(**both, model_chain="gigachat,openai")).router.find_chain("agent")
    assert [(one.name, one.provider.tuning.temperature) for one in turned] == [("gigachat", 0.5), ("openai", None)]


def test_times_come_from_the_settings_or_the_file(tmp_path: Path) -> None:
    """Those of the settings are for all providers; `silence` follows `timeout` if only this is written."""
    times = {"model_deadline": "4m", "model_connect_timeout": "2s", "model_silence": "45s", "model_timeout": "20s"}
    told = build_providers(build(**times)).clients["openai"].settings
    assert (told.total_deadline, told.connect_timeout, told.silence, told.request_timeout) == (240, 2, 45, 20)
    told = (
        build_providers(write(tmp_path, "kind: openai, deadline: 9, connect: 1, silence: 3, timeout: 4", **times)).clients["one"].settings
    )
    assert (told.total_deadline, told.connect_timeout, told.silence, told.request_timeout) == (9, 1, 3, 4)
    told = build_providers(write(tmp_path, "kind: openai, timeout: 4", **times)).clients["one"].settings
    assert (told.total_deadline, told.silence, told.request_timeout) == (240, 4, 4)


async def test_a_model_that_falls_silent_or_is_late_is_replaced_after_its_own_time(tmp_path: Path) -> None:
    """The limits of one provider do not wait for those of the settings."""

    async def stop_in_the_middle() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + sse(delta("Начало"))
        await asyncio.Event().wait()

    async def begin_never() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: OPENROUTER PROCESSING\n\n"
        await asyncio.Event().wait()

    made = {"/silent": stop_in_the_middle, "/late": begin_never}
    async with serving(lambda seen: made[seen.path[: seen.path.rindex("/chat")]]() if "good" not in seen.path else FINE) as service:
        path = tmp_path / "models.yaml"
        path.write_text(
            f"providers:\n  silent: {{kind: openai, base: '{service.base}/silent', silence: 0.05}}\n"
            f"  late: {{kind: openai, base: '{service.base}/late', deadline: 0.05}}\n  good: {{kind: openai, base: '{service.base}/good'}}\n",
            encoding="utf-8",
        )
        built = build_providers(build(models_file=path))
        answer = await built.router.chat(ModelRequest(messages=ASK))
        assert (answer.text, answer.provider, answer.failed_before) == ("Привет", "good", ("silent", "late"))
        for client in built.clients.values():
            await client.aclose()


def test_a_model_takes_what_it_refuses_only_if_the_file_says_so(tmp_path: Path) -> None:
    """`omit` replaces what is known of a model, `length_field` what is known of a service."""
    spec = "kind: openai, base: 'https://api.openai.com/v1', key: OPENAI_API_KEY, model: gpt-5.1, temperature: 1, max_tokens: 5"
    with pytest.raises(SettingsError, match=r"gpt-5\.1 of OpenAI takes none"):
        load_plan(write(tmp_path, spec))
    provider = build_providers(write(tmp_path, f"{spec}, omit: [], length_field: max_tokens")).router.find_chain("agent")[0].provider
    assert provider.tuning.build_fields(ModelRequest(messages=ASK).options, "gpt-5.1") == {"temperature": 1, "max_tokens": 5}


@pytest.mark.parametrize("model", ["gpt-5", "GPT-5-mini", "o3", "o4-mini", "gpt-5-thinking", "gpt-5.6-luna"])
@pytest.mark.parametrize("chat", ["gpt-4.1", "gpt-5-chat-latest", "gpt-4o"])
def test_reasoning_models_are_known_by_their_names(model: str, chat: str) -> None:
    """The others take a temperature."""
    settings = build(openai_model=model)
    tuning: Tuning = build_providers(settings).router.find_chain("agent")[0].provider.tuning
    assert tuning.list_omitted(model) == {"temperature", "top_p", "stop"}
    assert tuning.list_omitted(chat) == frozenset()


@pytest.mark.parametrize("name", ["Qwen/Qwen3-32B", "qwen3:8b", "my model:v2", "a//b", "accounts/x/models/y@1"])
async def test_a_name_is_sent_as_it_is_written(name: str) -> None:
    """With slashes, colons and blanks; a slash at the end of the address changes nothing."""
    async with serving(lambda _: FINE) as service:
        made = build_providers(build(openai_api_base=f"{service.base}/v1/", openai_model=name))
        await made.router.chat(ModelRequest(messages=ASK))
        assert (json.loads(service.seen[0].body)["model"], service.seen[0].path) == (name, "/v1/chat/completions")
        await made.clients["openai"].aclose()


@pytest.mark.parametrize(
    ("given", "doubt"),
    [
        ({"openai_api_base": "https://llm.example"}, "has no path; most services want /v1"),
        ({"openai_api_base": "https://llm.api.cloud.yandex.net/v1", "openai_model": "yandexgpt"}, "names its models gpt://<folder>"),
        ({"openai_api_base": "https://openrouter.ai/api/v1", "openai_model": "gpt-5"}, "names its models <author>/<model>"),
        ({"gigachat_credentials": SecretStr("0c1d:secret")}, "not id and secret"),
        ({"openai_api_base": "https://api.deepseek.com/", "openai_model": "deepseek-chat"}, ""),
        ({"openai_api_base": "http://gpu.lan:11434/ollama/v1"}, ""),
        ({}, ""),
    ],
)
def test_what_is_probably_not_meant_is_a_doubt_and_no_fault(given: dict[str, Any], doubt: str) -> None:
    """It is logged and shown by doctor, and the bot starts."""
    settings = build(**given)
    told = [says for _, says in find_doubts(load_plan(settings), settings)]
    assert [doubt in says for says in told] == ([True] if doubt else [])
    assert "secret" not in "".join(told).replace("not id and secret", "")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"openai_api_key": None}, "set OPENAI_API_KEY"),
        ({"openai_api_key": None, "openai_api_base": "http://127.0.0.1:11434/v1"}, ""),
        ({"openai_api_key": None, "openai_api_base": "http://ollama:11434/v1"}, ""),
        ({"openai_api_key": None, "openai_api_base": "http://192.168.1.7:8000/v1"}, ""),
        ({"openai_api_key": None, "gigachat_credentials": SecretStr("Z2lnYQ==")}, ""),
        ({}, ""),
    ],
)
def test_only_who_really_has_no_model_is_told_so(given: dict[str, Any], reason: str) -> None:
    """A service of the own network needs no key; neither does one who uses GigaChat need that of OpenAI."""
    told = find_mute_reason(build(**given))
    assert (reason in told) if reason else told == ""


async def test_a_local_provider_is_not_sent_the_key_of_another(tmp_path: Path) -> None:
    """A `base` of its own without `key` is asked without any key."""
    async with serving(lambda _: FINE) as service:
        made = build_providers(write(tmp_path, f"kind: openai, base: '{service.base}/v1'"))
        await made.router.chat(ModelRequest(messages=ASK))
        assert "authorization" not in service.seen[0].head
        await made.clients["one"].aclose()


def test_the_chains_are_told_in_words(tmp_path: Path) -> None:
    """With model, host and what the model is told; no address with a password in it is shown."""
    path = tmp_path / "models.yaml"
    path.write_text(
        "providers:\n  main: {kind: openai, model: gpt-5, reasoning_effort: low}\n"
        "  near: {kind: openai, base: 'http://user:password@gpu.lan:8000/v1', model: q, temperature: 0.5, extra_body: {top_k: 1}}\n"
        "roles: {agent: [main, near], tool: [near]}\nservices: {writer: [main]}\n",
        encoding="utf-8",
    )
    settings = build(models_file=path)
    near = "near (q at gpu.lan:8000; temperature 0.5; extra top_k)"
    main = "main (gpt-5 at api.openai.com; reasoning_effort low)"
    assert list(describe_chains(load_plan(settings), settings)) == [
        ("agent", f"People: {main}, then {near}."),
        ("tool", f"Engines: {near}."),
        ("embedding", "Vectors: nobody, for there is no embedding model."),
        ("service writer", f"{main}."),
    ]
    assert list_talking_models(settings) == ("gpt-5", "q")


async def test_doctor_asks_each_provider_of_the_chain(tmp_path: Path) -> None:
    """For its models and, with --spend, for a word with all its options; what one refuses is said in its words."""

    def answer(request: Seen) -> bytes:
        if request.path.endswith("/models"):
            return reply({"data": [{"id": "qwen3:8b"}, {"id": "b:latest"}]})
        refused = b"top_k" in request.body
        return reply({"error": {"message": "Unsupported parameter: 'top_k'"}}, 400) if refused else FINE

    async with serving(answer) as service:
        path = tmp_path / "models.yaml"
        path.write_text(
            f"providers:\n  a: {{kind: openai, base: '{service.base}/v1', model: 'qwen3:8b', extra_body: {{top_k: 1}}}}\n"
            f"  b: {{kind: openai, base: '{service.base}/v1', model: b}}\n"
            f"  c: {{kind: openai, base: '{service.base}/v1', model: other}}\n"
            "  d: {kind: openai, base: 'https://llm.example/v1', key: NO_SUCH_KEY}\n"
            "roles: {agent: [a, b], tool: [c, d], embedding: [d]}\n",
            encoding="utf-8",
        )
        found = [one async for one in check_model(build(models_file=path), spend=True, within=5.0)]
    told = {one.check: (one.verdict, one.says) for one in found}
    assert told["a.model"] == ("ok", "The provider answers without a key and has qwen3:8b.")
    assert told["b.model"][0] == "ok"
    assert told["c.model"][0] == "warning"
    assert told["d"] == ("warning", "It was not asked: it has no key.")
    assert told["one answer of a"][0] == "wrong"
    assert "Unsupported parameter: 'top_k'" in told["one answer of a"][1]
    assert told["one answer of b"] == ("ok", "b answered; it cost 12 tokens.")
    assert told["one call of a tool of b"] == ("warning", "b answered in words and called no tool.")
    assert "one call of a tool of a" not in told
    assert told["agent"][1].startswith("People: a (qwen3:8b at 127.0.0.1:")


@pytest.mark.parametrize(
    ("base", "lacking"), [("https://llm.example/v1", 1), ("http://127.0.0.1:11434/v1", 0), ("http://ollama:11434/v1", 0)]
)
def test_the_start_warns_of_a_missing_key_only_where_one_is_needed(base: str, lacking: int, caplog: pytest.LogCaptureFixture) -> None:
    """And it says who answers people. A local model answers like any other, so nothing is said of other answers."""
    caplog.set_level(logging.INFO)
    log_models(build(openai_api_key=None, openai_api_base=base))
    warned = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert len([one for one in warned if "set OPENAI_API_KEY; until then people are told" in one]) == len(warned) == lacking
    assert caplog.records[0].getMessage().startswith("models: People: openai (gpt-5-thinking at ")


def test_the_start_names_a_provider_of_a_chain_that_cannot_be_asked(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Although another one of the chain can."""
    path = tmp_path / "models.yaml"
    path.write_text(
        "providers: {a: {kind: openai}, b: {kind: openai, base: 'https://llm.example/v1', key: NO_SUCH_KEY}}\n", encoding="utf-8"
    )
    log_models(build(models_file=path))
    assert [one.getMessage() for one in caplog.records] == ["model provider b has no key and cannot be asked"]
