"""MODELS_FILE and the settings as a careless or hostile hand writes them: no foreign secret is sent, nothing is chosen in silence."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.cli.doctor.model import check_model
from bot.composition.model_providers import Providers, build_providers
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.models import ModelRequest
from orchestrator.model_client.plain_calls import PlainCalls
from sandbox.model.authority import make_certificates
from tests.unit.model_client.loopback_kit import FINE, Seen, reply, serving

build_fresh_context: Any = getattr(ssl.create_default_context, "__wrapped__", ssl.create_default_context)
ASK = ({"role": "user", "content": "?"},)
ONE = "providers:\n  one: {kind: openai, base: 'https://llm.example/v1', key: LLM_KEY%s}\n"
SECRETS: dict[str, Any] = {
    "bitrix_webhook_url": SecretStr("https://portal.example/rest/1/hook-secret/"),
    "telegram_bot_token": SecretStr("123:bot-secret"),
    "database_url": SecretStr("postgresql://sdelka:base-secret@db/sdelka"),
}


def write(folder: Path, text: str | bytes, **given: Any) -> Settings:
    path = folder / "models.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Settings(_env_file=None, models_file=path, **given)  # type: ignore[call-arg]  # an argument of pydantic-settings


async def close(built: Providers) -> None:
    for client in built.clients.values():
        await client.aclose()


@pytest.mark.parametrize("key", ["BITRIX_WEBHOOK_URL", "TELEGRAM_BOT_TOKEN", "DATABASE_URL", "HTTP_API_TOKENS", "OPENAI_MODEL"])
@pytest.mark.parametrize("kind", ["openai", "gigachat"])
def test_no_other_secret_of_the_program_becomes_the_key_of_a_provider(kind: str, key: str, tmp_path: Path) -> None:
    """A provider would be sent the portal's webhook with each request."""
    with pytest.raises(SettingsError, match=f"providers.one: key names {key}, which is no key") as why:
        build_providers(write(tmp_path, f"providers: {{one: {{kind: {kind}, base: 'https://llm.example/v1', key: {key}}}}}", **SECRETS))
    assert "secret" not in why.value.reason


@pytest.mark.parametrize("key", ["sk-0123456789abcdef", "c2VjcmV0c2VjcmV0", "bitrix_webhook_url", "LLM KEY"])
def test_a_key_written_into_the_file_is_not_quoted(key: str, tmp_path: Path) -> None:
    """Nor is it taken for the name of a variable, which messages name."""
    with pytest.raises(SettingsError, match=r"providers\.one\.key") as why:
        load_plan(write(tmp_path, f"providers: {{one: {{kind: openai, base: 'https://llm.example/v1', key: '{key}'}}}}"))
    assert key not in why.value.reason


FAULTS: dict[str, tuple[str | bytes, str]] = {
    "provider twice": (ONE % "" + "  one: {kind: openai}\n", '"one" stands twice'),
    "field twice": (ONE % ", model: a, model: b", '"model" stands twice'),
    "a provider twice in a chain": (ONE % "" + "roles: {agent: [one, one]}", "agent names a provider twice"),
    "a service without a name": (ONE % "" + "services: {'': [one]}", "services"),
    "a cycle": ("providers: &p\n  one: *p\n", "anchors and aliases"),
    "a service in a cycle": (ONE % "" + "services: {one: [one], two: [two]}", "two names the provider two"),
    "no key for another base": ("providers: {one: {kind: openai, base: 'https://llm.example/v1'}}", "needs a `key`"),
    "fields of GigaChat": (ONE % ", scope: X", "scope and auth_url are of GigaChat only"),
    "no certificate": (ONE % ", ca_file: /nowhere.pem", "ca_file: /nowhere.pem holds no certificate"),
    "plain http": ("providers: {one: {kind: openai, base: 'http://llm.example/v1', key: LLM_KEY}}", "base must begin with https"),
    "plain http for a token": (
        "providers: {one: {kind: gigachat, auth_url: 'http://giga.example/oauth'}}",
        "auth_url must begin with https",
    ),
    "a fragment": ("providers: {one: {kind: openai, base: 'https://llm.example/v1#x', key: LLM_KEY}}", "address"),
    "ten megabytes": (b"#" * 10_000_000, "longer than"),
    "not UTF-8": (b"providers: \xff", "UTF-8"),
    "NUL": (b"providers: \x00", "NUL"),
    "deep": (b"[" * 50_000, "not YAML"),
    "no wait": (ONE % ", timeout: 0", "timeout"),
    "no number": (ONE % ", deadline: .nan", "not a number"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_doubtful_file_is_refused_by_one_sentence(name: str, tmp_path: Path) -> None:
    """It names the file and the place, and nothing of it is used."""
    text, says = FAULTS[name]
    with pytest.raises(SettingsError) as why:
        build_providers(write(tmp_path, text, gigachat_credentials=SecretStr("g")))
    assert says in why.value.reason


def test_an_endless_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    """Such as a device; a folder or a file that is not there is named."""
    for path in (Path("/dev/zero"), tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(SettingsError, match="MODELS_FILE"):
            load_plan(Settings(_env_file=None, models_file=path))  # type: ignore[call-arg]  # as above


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:1/v1", "http://10.1.2.3/v1", "http://model:8003/v1", "http://llm.internal/v1", "http://[fd00::1]/v1"]
)
def test_plain_http_stays_possible_in_the_own_network(base: str, tmp_path: Path) -> None:
    """And elsewhere for who asks for it."""
    build_providers(write(tmp_path, f"providers: {{one: {{kind: openai, base: '{base}', key: LLM_KEY}}}}"))
    build_providers(write(tmp_path, "providers: {one: {kind: openai, base: 'http://llm.example/v1', key: LLM_KEY, plain_http: true}}"))
    with pytest.raises(SettingsError, match="OPENAI_API_BASE must begin with https"):
        build_providers(Settings(_env_file=None, openai_api_base="http://llm.example/v1"))  # type: ignore[call-arg]  # as above


async def test_a_missing_key_is_one_sentence_and_nothing_is_sent(tmp_path: Path) -> None:
    """It names the variable; the next provider of the chain answers."""
    async with serving(lambda _: FINE) as service:
        text = f"{ONE % ''}  near: {{kind: openai, base: '{service.base}/v1'}}\nroles: {{agent: [one, near], tool: [one]}}"
        built = build_providers(write(tmp_path, text))
        with pytest.raises(ModelClientError, match="set LLM_KEY"):
            await built.router.chat(ModelRequest(messages=ASK, role="tool"))
        answer = await built.router.chat(ModelRequest(messages=ASK))
        assert (answer.provider, answer.failed_before) == ("near", ("one",))
        await close(built)


@pytest.mark.req("S001-4", "S001-5")
async def test_limits_of_time_and_length_come_from_the_settings_or_the_file(tmp_path: Path) -> None:
    """MODEL_TIMEOUT and MODEL_MESSAGE_LIMIT are for all providers, `timeout` and `message_limit` for one."""
    text = "providers:\n  one: {kind: openai, timeout: 7, message_limit: 5}\n  two: {kind: gigachat}\nroles: {tool: [one], agent: [two]}"
    given: dict[str, Any] = {"openai_api_key": SecretStr("k"), "gigachat_credentials": SecretStr("g")}
    built = build_providers(write(tmp_path, text, model_timeout="2m", model_message_limit=9, **given))
    told = {name: client.settings for name, client in built.clients.items()}
    assert [(one.request_timeout, one.silence, one.message_limit) for one in told.values()] == [(7, 7, 5), (120, 120, 9)]
    answer = await PlainCalls(built.clients["one"]).post_chat_completions({"messages": [{"role": "user", "content": "123456"}]})
    assert answer == {"error": "A message for the model has 6 characters, and at most 5 are sent (MODEL_MESSAGE_LIMIT)."}
    await close(built)
    built = build_providers(Settings(_env_file=None, **given))  # type: ignore[call-arg]  # as above
    assert {(one.settings.request_timeout, one.settings.silence) for one in built.clients.values()} == {(30, 30)}
    await close(built)


@pytest.mark.req("S001-15")
async def test_vectors_without_any_model_are_an_error_that_names_the_setting() -> None:
    """No request without a model's name is sent."""
    async with serving(lambda _: reply({})) as service:
        built = build_providers(Settings(_env_file=None, openai_api_base=f"{service.base}/v1"))  # type: ignore[call-arg]  # as above
        answer = await PlainCalls(*built.clients.values()).post_embeddings({"input": "а"})
        assert (answer, service.seen) == ({"error": "There is no embedding model: set DEFAULT_EMBEDDING_MODEL."}, [])
        await close(built)


@pytest.mark.parametrize(("works", "healthy"), [((500, 200), True), ((200, 500), True), ((500, 500), False)])
async def test_the_probe_of_a_chain_tells_whether_any_of_its_providers_works(works: tuple[int, int], healthy: bool, tmp_path: Path) -> None:  # noqa: FBT001 - as pytest hands it in
    """Else a bot whose providers failed once would be taken for ill until somebody wrote to it."""

    def answer(request: Seen) -> bytes:
        return reply({}, works[0] if request.path.startswith("/one") else works[1])

    async with serving(answer) as service:
        text = "providers:\n" + "".join(f"  {name}: {{kind: openai, base: '{service.base}/{name}'}}\n" for name in ("one", "two"))
        heard: list[Exception | None] = []
        built = build_providers(write(tmp_path, text + "roles: {agent: [one, two]}"), heard=heard.append)
        await built.probe()
        assert [one is None for one in heard] == [healthy]
        await close(built)


async def test_doctor_reads_no_endless_list_of_models() -> None:
    """And it names a provider's address whose key could be read on its way."""
    async with serving(lambda _: reply(b" " * 9_000_000)) as service:
        *_, found = [
            one async for one in check_model(Settings(_env_file=None, openai_api_base=f"{service.base}/v1"), spend=False, within=5.0)
        ]  # type: ignore[call-arg]  # as above
    assert (found.check, found.verdict) == ("answer", "wrong")
    plain = Settings(_env_file=None, openai_api_base="http://llm.example/v1", openai_api_key=SecretStr("k"))  # type: ignore[call-arg]  # as above
    *_, found = [one async for one in check_model(plain, spend=False, within=1.0)]
    assert (found.verdict, "OPENAI_API_BASE must begin with https" in found.says) == ("wrong", True)


@pytest.mark.parametrize("kind", ["openai", "gigachat"])
async def test_a_certificate_authority_of_ones_own_is_trusted_for_its_provider_only(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another provider at the same address, without the file, is not believed."""
    monkeypatch.setattr(ssl, "create_default_context", build_fresh_context)  # the tests keep one for all clients
    made = make_certificates(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made.server, made.key)

    def answer(request: Seen) -> bytes:
        return reply({"access_token": "token", "expires_at": 9e12}) if request.path == "/oauth" else FINE

    async with serving(answer, tls=tls) as service:
        told = f"kind: {kind}, base: '{service.base}/v1'" + (f", auth_url: '{service.base}/oauth'" if kind == "gigachat" else "")
        text = f"providers:\n  own: {{{told}, ca_file: '{made.authority}'}}\n  other: {{{told}}}\nroles: {{agent: [own], tool: [other]}}"
        built = build_providers(write(tmp_path, text, gigachat_credentials=SecretStr("g")))
        assert (await built.router.chat(ModelRequest(messages=ASK))).text == "Привет"
        with pytest.raises(ModelClientError, match="does not trust"):
            await built.router.chat(ModelRequest(messages=ASK, role="tool"))
        await close(built)
