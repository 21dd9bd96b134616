"""Providers from the settings and from MODELS_FILE; every fault of the file is one sentence that names the place."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.cli.doctor.model import check_model
from bot.composition.model_providers import build_providers
from bot.settings.model_plan import list_model_secrets, load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.models import EmbedRequest, ModelRequest
from tests.unit.model_client.test_model_client import sse

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "models.md"
ASK = ({"role": "user", "content": "?"},)


def build(**given: Any) -> Settings:
    """Return settings with these values and nothing from outside."""
    return Settings(_env_file=None, **given)


def write(folder: Path, text: str) -> Settings:
    """Return settings with this MODELS_FILE and both keys."""
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return build(models_file=path, openai_api_key=SecretStr("open-key"), gigachat_credentials=SecretStr("giga-key"))


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ({"openai_api_key": SecretStr("k")}, ("openai", "openai", "openai")),
        ({}, ("openai", "openai", "openai")),
        ({"gigachat_credentials": SecretStr("g")}, ("gigachat", "gigachat", "gigachat")),
        ({"openai_api_key": SecretStr("k"), "gigachat_credentials": SecretStr("g")}, ("openai", "gigachat", "gigachat")),
    ],
)
def test_without_a_file_the_settings_make_the_providers(given: dict[str, Any], roles: tuple[str, ...]) -> None:
    """OPENAI_* alone is as before; GigaChat beside it serves engines and vectors, alone it serves everything."""
    router = build_providers(build(**given)).router
    assert tuple(router.find_chain(role)[0].name for role in ("agent", "tool", "embedding")) == roles  # type: ignore[arg-type]  # roles all


@pytest.mark.req("S001-80", "S001-81")
def test_the_default_models_of_gigachat_are_those_of_the_seed() -> None:
    """And DEFAULT_MODEL and DEFAULT_EMBEDDING_MODEL replace them."""
    (route,) = build_providers(build(gigachat_credentials=SecretStr("g"))).router.find_chain("tool")
    assert (route.provider.model, route.provider.embedding_model) == ("GigaChat-2-Max", "Embeddings")
    own = build(gigachat_credentials=SecretStr("g"), default_model="GigaChat-3", default_embedding_model="E2")
    (route,) = build_providers(own).router.find_chain("tool")
    assert (route.provider.model, route.provider.embedding_model) == ("GigaChat-3", "E2")


async def test_the_example_of_the_documents_works_over_the_wire(tmp_path: Path) -> None:
    """The main provider is down: GigaChat answers a person, and a service that is not listed goes by its role."""
    found = re.search(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    settings = write(tmp_path, found[1])
    heard: list[Exception | None] = []

    def sber(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/oauth"):
            return httpx.Response(200, json={"access_token": "token", "expires_at": 0})
        if request.url.path.endswith("/embeddings"):
            return httpx.Response(200, json={"data": [{"embedding": [1.0], "index": 0}]})
        delta = {"model": "GigaChat", "choices": [{"index": 0, "delta": {"content": "да"}, "finish_reason": "stop"}]}
        return httpx.Response(200, content=sse(delta, "[DONE]"))

    wires = {"main": httpx.MockTransport(lambda _: httpx.Response(401)), "sber": httpx.MockTransport(sber)}
    models = build_providers(settings, heard=heard.append, transports=wires)
    answer = await models.router.chat(ModelRequest(messages=ASK))
    assert (answer.text, answer.provider, answer.failed_before) == ("да", "sber", ("main",))
    assert (await models.router.embed(EmbedRequest(texts=["а"]))).provider == "sber"
    with pytest.raises(ModelClientError, match="OPENAI_API_KEY"):
        await models.router.chat(ModelRequest(messages=ASK, service="writer"))
    assert heard[-1] is None  # the chain of the agent works, though its first provider does not
    assert set(list_model_secrets(settings)) == {"open-key", "giga-key"}
    for client in models.clients.values():
        await client.aclose()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("providers: {a: {kind: openai}}\nroles: {agent: [b]}", "agent names the provider b"),
        ("providers: {a: {kind: other}}", "providers.a.kind"),
        ("providers: {}", "providers"),
        ("providers: {a: {kind: openai, paralel: 3}}", "paralel"),
        ("providers: {a: {kind: openai}}\nroles: {boss: [a]}", "boss"),
        ("providers: {a: {kind: openai}}\nroles: {agent: []}", "agent"),
        ("a: [", "line 1"),
        ("- 1", "the file"),
        ("x" * 100_001, "longer than"),
        ("!!python/object/apply:os.system ['true']", "not YAML"),
    ],
)
def test_a_fault_of_the_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    """With its place, and never with a traceback."""
    with pytest.raises(SettingsError) as why:
        load_plan(write(tmp_path, text))
    assert told in why.value.reason
    assert "MODELS_FILE" in why.value.reason


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"gigachat_ca_file": Path("/nowhere.pem")}, "GIGACHAT_CA_FILE"),
        ({"gigachat_auth_url": "ftp://x"}, "GIGACHAT_AUTH_URL"),
        ({"gigachat_api_base": "giga"}, "gigachat"),
    ],
)
def test_a_wrong_setting_of_gigachat_is_named(wrong: dict[str, Any], told: str) -> None:
    """At the start."""
    with pytest.raises(SettingsError, match=told):
        build_providers(build(gigachat_credentials=SecretStr("g"), **wrong))


async def test_doctor_names_a_provider_that_cannot_be_used(tmp_path: Path) -> None:
    """Each provider has a line; what is wrong with one says which setting to look at."""
    file = "providers: {near: {kind: openai, base: 'http://127.0.0.1:9/v1'}, sber: {kind: gigachat, auth_url: 'http://127.0.0.1:9/oauth'}}"
    found = [one async for one in check_model(write(tmp_path, file), spend=False, within=1.0)]
    assert [(one.check, one.verdict) for one in found[-2:]] == [("near", "wrong"), ("sber", "wrong")]
    assert "near (gpt-5-thinking at 127.0.0.1:9), then sber (GigaChat-2-Max at gigachat.devices.sberbank.ru)" in found[0].says
    (fault,) = [one async for one in check_model(write(tmp_path, "providers: 1"), spend=False, within=1.0)]
    assert fault.check == "MODELS_FILE"
