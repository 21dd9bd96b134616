"""Settings, `.env.example` and files of an administrator: a wrong one is one sentence that names the place and never shows a value."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.access.access_file import read_access_file
from bot.cli.doctor.files import check_files
from bot.composition.model_checks import find_mute_reason
from bot.settings.faults import check_required, find_misspelt
from bot.settings.http_credentials import list_http_secrets, load_http_credentials
from bot.settings.loading import load_settings
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings, list_secrets
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import load_policy
from state.clock import SystemClock

EXAMPLE = Path(__file__).parents[4] / ".env.example"
SECRET = "https://romashka.example/rest/1/abcdef0123456789/"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine reaches the settings."""
    for name in os.environ:
        if name.lower() in Settings.model_fields:
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def _example() -> dict[str, tuple[str, str]]:
    """Name -> (comment above it, value)."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    found = {}
    for above, line in zip(["", *lines], lines, strict=False):
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            assert name not in found, name
            found[name] = (above.removeprefix("# "), value)
    return found


@pytest.mark.req("S004-41")
def test_the_example_lists_every_setting_with_its_sentence_and_nothing_else() -> None:
    shown = {name: comment for name, (comment, _) in _example().items()}
    assert shown == {name.upper(): field.description for name, field in Settings.model_fields.items()}


def test_the_example_holds_the_defaults_and_no_secret() -> None:
    assert load_settings(_env_file=EXAMPLE) == load_settings(_env_file=None)
    secrets = [name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)]
    assert len(secrets) >= 4
    assert [_example()[name.upper()][1] for name in secrets] == [""] * len(secrets)


@pytest.mark.req("S004-X12")
def test_without_any_setting_the_mode_is_shadow() -> None:
    settings = load_settings(_env_file=None)
    assert settings.agent_mode == "shadow"
    assert settings.openai_model == "gpt-5-thinking"
    assert settings.database.get_secret_value() == f"sqlite:///{settings.state_dir / 'sdelka.db'}"


@pytest.mark.req("S004-17", "S004-18", "S004-41", "S004-X12")
def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("AGENT_MODE=canary\nOPENAI_API_BASE=http://file/v1\nSOMEBODY_ELSES=1\n", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_BASE", "http://environment/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    monkeypatch.setenv("BITRIX_WEBHOOK_URL", SECRET)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///elsewhere.db")
    settings = load_settings()
    assert settings.agent_mode == "canary"
    assert settings.openai_api_base == "http://environment/v1"
    assert settings.openai_api_key == SecretStr("sk-key")
    assert settings.bitrix_webhook_url == SecretStr(SECRET)
    assert settings.database.get_secret_value() == "sqlite:///elsewhere.db"
    assert "abcdef" not in repr(settings)
    assert "sk-key" not in str(settings)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("24h", timedelta(hours=24)), ("90m", timedelta(minutes=90)), (" 2d ", timedelta(days=2)), ("30 s", timedelta(seconds=30))],
)
def test_durations_are_read_as_written(text: str, meant: timedelta) -> None:
    assert load_settings(_env_file=None, confirmation_ttl=text).confirmation_ttl == meant


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("confirmation_ttl", "sevenfold"),
        ("confirmation_ttl", "-1h"),
        ("confirmation_ttl", "0h"),
        ("confirmation_ttl", "99999999999999d"),
        ("agent_mode", "everything"),
        ("agent_max_iterations", "0"),
        ("agent_max_iterations", "lots"),
        ("bitrix_plan", "-7.125"),
        ("bitrix_plan", "2/0"),
        ("bitrix_operating_limit", "-1"),
        ("log_level", "shouting"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_never_shown(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(_env_file=None, **{name: value})
    assert name.upper() in caught.value.reason
    if len(value) > 2:  # "0" stands in a sentence such as "greater than 0"
        assert value not in caught.value.reason
    assert caught.value.__cause__ is None


@pytest.mark.req("S004-A12")
def test_a_secret_of_the_wrong_kind_is_not_repeated() -> None:
    with pytest.raises(SettingsError, match="BITRIX_WEBHOOK_URL") as caught:
        load_settings(_env_file=None, bitrix_webhook_url=[SECRET])
    assert "abcdef" not in caught.value.reason


def test_missing_settings_are_named_together() -> None:
    with pytest.raises(SettingsError, match="settings are missing: TELEGRAM_BOT_TOKEN, BITRIX_WEBHOOK_URL"):
        check_required(load_settings(_env_file=None), "telegram_bot_token", "bitrix_webhook_url", "agent_mode")
    with pytest.raises(SettingsError, match="the setting is missing: OPENAI_API_KEY;"):
        check_required(load_settings(_env_file=None, bitrix_webhook_url=SECRET), "openai_api_key", "bitrix_webhook_url")


def test_settings_do_not_change() -> None:
    settings = load_settings(_env_file=None)
    with pytest.raises(ValueError, match="frozen"):
        settings.agent_mode = "full"  # type: ignore[misc]


@pytest.mark.req("S004-A12")
def test_every_secret_setting_is_known_by_its_value_and_its_secret_parts() -> None:
    """What is said is searched for them: a secret that a new setting brings is among them without anybody thinking of it."""
    fields = [name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)]
    given = {name: f"value-of-{name}-1234-and-so-on" for name in fields} | {
        "bitrix_webhook_url": SECRET,
        "telegram_bot_token": "123456:AAH-bot-token-of-this-installation",
        "http_api_tokens": "site=first-token-0001:manager:full, crm=second-token-0002:admin:full",
        "bitrix_event_token": "event-token-one,event-token-two",
        "database_url": "postgresql+psycopg://sdelka:p%40ssword-of-db@db/sdelka",
    }
    found = set(list_secrets(Settings(**{name: SecretStr(value) for name, value in given.items()})))
    assert set(given.values()) <= found
    parts = {"abcdef0123456789", "AAH-bot-token-of-this-installation", "first-token-0001", "second-token-0002", "event-token-two"}
    assert parts | {"p%40ssword-of-db", "p@ssword-of-db"} <= found
    assert not {"sdelka", "db", "portal.example", "romashka.example", "site", "manager", "123456"} & found


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("postgres://u:p@h/x", "postgresql://u:p@h/x"),
        ("postgresql+psycopg2://u:p@h:5432/x?sslmode=require", ""),
        ("sqlite:////tmp/x.db", ""),
        ("postgresql://u:sec%40retpw@127.0.0.1/x", ""),
        ("postgresql://user@server:secret@127.0.0.1/x?options=a@b", ""),
        ("postgresql://127.0.0.1:5432/x", ""),
        ("sqlite:////home/a:b/c@d/e@f.db", ""),
    ],
)
def test_the_address_of_a_database_is_taken_as_its_host_gives_it_out(given: str, read: str) -> None:
    """An @ that is read in one way only stays as it is, and so does all the rest but the name that hosts give to PostgreSQL."""
    url = load_settings(_env_file=None, database_url=given).database_url
    assert url is not None
    assert url.get_secret_value() == (read or given)


@pytest.mark.parametrize("given", ["mysql://u:secret@h/x", "h/x", "secret", "postgresql://u:secret@h:port/x"])
def test_another_address_of_a_database_is_one_sentence_without_it(given: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL: an address such as postgresql://") as raised:
        load_settings(_env_file=None, database_url=given)
    assert "secret" not in str(raised.value)


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("database_url", "postgres://u:sec@retpw@127.0.0.1/x"),
        ("database_url", "postgresql+psycopg://u@corp:sec@retpw@127.0.0.1:5432/x"),
        ("database_url", "postgresql://u:sec@ret/pw@127.0.0.1/x"),
        ("database_url", "postgresql://u:sec@ret?pw@127.0.0.1/x"),
        ("database_url", "postgresql://u:sec@ret=pw@127.0.0.1/x"),
        ("database_url", "postgresql://u:secretpw@@127.0.0.1/x"),
        ("mongo_url", "mongodb://u:sec@retpw@127.0.0.1:27017/x"),
        ("mongo_url", "mongodb+srv://u:sec@retpw@cluster.example/x"),
        ("rag_service_url", "http://u:sec@retpw@127.0.0.1:8081"),
        ("openai_api_base", "https://u:sec@retpw@models.example/v1"),
        ("telegram_api_base", "https://u:sec@retpw@telegram.example"),
        ("bitrix_webhook_url", "https://u:sec@retpw@portal.example/rest/1/code/"),
    ],
)
def test_an_at_sign_in_a_password_is_asked_for_as_it_is_written_in_addresses(name: str, address: str) -> None:
    """What follows the first @ would be taken for the host, and shown: one sentence tells how to write it, without any of the address."""
    with pytest.raises(SettingsError) as raised:
        load_settings(_env_file=None, **{name: address})
    assert raised.value.reason == f"settings: {name.upper()}: an @ in the name or the password is written %40"


def test_the_words_of_a_library_are_never_shown() -> None:
    """Each kind of fault says what is needed, in words of ours."""
    wrong = {"http_port": "abc", "agent_mode": "ful", "metrics_token": "abc", "bitrix_operating_limit": "-1", "llm_timeout": "soon"}
    with pytest.raises(SettingsError) as raised:
        load_settings(_env_file=None, **{name: value for name, value in wrong.items() if name in Settings.model_fields})
    said = str(raised.value)
    assert not any(words in said for words in ("Input", "Value error", "should", "validation", "valid "))
    assert "AGENT_MODE: one of 'shadow', 'canary' or 'full' is needed" in said
    assert "METRICS_TOKEN: 16 characters or more are needed" in said


def test_a_misspelt_setting_is_named_with_the_right_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the environment and in `.env`; names of other programs are left alone."""
    monkeypatch.setenv("AGENT_MOD", "full")
    (tmp_path / ".env").write_text("TELEGRAM_BOT_TOKN=x\nPATH_TO_SOMETHING=y\n", encoding="utf-8")
    assert dict(find_misspelt()) == {"AGENT_MOD": "AGENT_MODE", "TELEGRAM_BOT_TOKN": "TELEGRAM_BOT_TOKEN"}


def test_what_is_missing_is_told_with_the_misspelt_name_that_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whichever setting was meant, for another one may be missing because of it; no value is shown."""
    monkeypatch.setenv("BITRIX_OAUTH_CLIENTID", "local.value")
    (tmp_path / ".env").write_text("TELEGRAM_BOT_TOKN=123:value\n", encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        check_required(load_settings(), "telegram_bot_token", "bitrix_webhook_url")
    assert raised.value.reason == (
        "the settings are missing: TELEGRAM_BOT_TOKEN, BITRIX_WEBHOOK_URL (BITRIX_OAUTH_CLIENTID is set: was BITRIX_OAUTH_CLIENT_ID meant?;"
        " TELEGRAM_BOT_TOKN is set: was TELEGRAM_BOT_TOKEN meant?); set it in the environment or in .env, see .env.example"
    )


def test_a_missing_key_of_a_model_is_told_with_the_misspelt_name_that_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That of a setting, and that of a variable which MODELS_FILE names: at the start, by doctor and by `sdelka ask`."""
    monkeypatch.setenv("OPENAI_APIKEY", "sk-value")
    assert find_mute_reason(load_settings(), "tool").endswith("set OPENAI_API_KEY (OPENAI_APIKEY is set: was OPENAI_API_KEY meant?)")
    monkeypatch.delenv("OPENAI_APIKEY")
    monkeypatch.setenv("QWEN_KEYS", "sk-value")
    (tmp_path / "models.yaml").write_text("providers: {one: {kind: openai, base: 'https://q.example/v1', key: QWEN_KEY, model: q}}\n")
    settings = load_settings(models_file=tmp_path / "models.yaml")
    assert find_mute_reason(settings).endswith("set QWEN_KEY (QWEN_KEYS is set: was QWEN_KEY meant?)")


def load_models(path: Path) -> object:
    return load_plan(Settings(models_file=path, _env_file=None))  # type: ignore[call-arg]


def load_credentials(path: Path) -> object:
    return load_http_credentials(Settings(http_credentials_file=path, _env_file=None))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("load", "text", "says"),
    [
        (read_access_file, "[1]", "the file: keys with values are needed"),
        (read_access_file, "persons: []", "persons: no such key; remove it"),
        (read_access_file, "people: {a: b}", "people: a list is needed"),
        (read_access_file, "people: [{telegram_id: x}]", "telegram_id: a whole number is needed; people.0.name: is missing; add it"),
        (
            read_access_file,
            "people: [{telegram_id: 1, name: A, sees: x}]",
            "people.0.sees: one of 'own' or 'all' is needed, or a list is needed",
        ),
        (read_access_file, "people: [{telegram_id: 1, name: A, time_zone: x}]", "people.0.time_zone: no such time zone; write one such as"),
        (load_models, "providers: []", "providers: keys with values are needed"),
        (load_models, "providers: {a: {kind: openia}}", "providers.a.kind: one of 'openai' or 'gigachat' is needed"),
        (load_models, "providers: {A: {kind: openai}}", "providers.A: a text of the form"),
        (load_models, "providers: {a: {kind: openai, parallel: many, modle: x}}", "providers.a.parallel: a whole number is needed"),
        (load_credentials, "[1]", "the file: keys with values are needed"),
        (load_credentials, "erp: {host: api.example.com}", "erp.key: is missing; add it"),
        (load_credentials, "erp: {host: api.example.com, key: K, value: x}", "erp.value: no such key; remove it"),
        (load_policy, "confirm: 5", "line 1: `confirm`: no such key; remove it."),
        (load_policy, "rules: 5", "line 1: `rules`: a list is needed; got 5"),
        (load_policy, "rules: [{role: lead, then: aks, why: w}]", "is needed; got 'aks'. Did you mean 'ask'?"),
        (load_policy, "rules: [{times: many, then: ask, why: w}]", "line 1: `rules.0.times`: a whole number is needed; got 'many'"),
        (load_policy, "rules: [{role: lead, then: ask}]", "`rules.0.why`: is missing; add it"),
    ],
)
def test_a_fault_of_a_file_is_said_in_words_of_ours(load: Callable[[Path], object], text: str, says: str, tmp_path: Path) -> None:
    """Each names the key and what is needed there."""
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        load(path)
    assert says in raised.value.reason
    assert not any(words in raised.value.reason for words in ("Input", "Extra inputs", "Field required", "instance", "_File", "should"))


def settings(folder: Path, text: str) -> Settings:
    """Settings with this HTTP_CREDENTIALS_FILE."""
    path = folder / "credentials.yaml"
    path.write_text(text, encoding="utf-8")
    return Settings(http_credentials_file=path, _env_file=None)  # type: ignore[call-arg]


def test_a_secret_is_named_by_the_file_and_held_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of it are masked wherever texts are."""
    monkeypatch.setenv("ERP_TOKEN", "s3cret")
    found = load_http_credentials(settings(tmp_path, "erp: {host: api.example.com, prefix: 'Bearer ', key: ERP_TOKEN}"))

    assert found["erp"].value.get_secret_value() == "Bearer s3cret"
    assert found["erp"].host == "https://api.example.com"
    assert "s3cret" not in repr(found)
    assert list_http_secrets(found) == ("Bearer s3cret", "s3cret")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("erp: {host: api.example.com, key: MISSING_TOKEN}", "MISSING_TOKEN is not set (MISSING_TOKN is set: was MISSING_TOKEN meant?)"),
        ("erp: {host: api.example.com/path, key: ERP_TOKEN}", "erp.host"),
        ("erp: {host: '*', key: ERP_TOKEN}", "erp.host"),
        ("erp: {host: api.example.com, key: ERP_TOKEN, header: Host}", "erp.header"),
        ("erp: {host: api.example.com, key: ERP_TOKEN, value: x}", "erp.value"),
        ("erp: {host: api.example.com}", "erp.key"),
        ("erp: {host: api.example.com, key: BROKEN_TOKEN}", "BROKEN_TOKEN"),
        ("[1]", "the file"),
        ("erp: {", "line"),
        ("x" * 100_001, "longer"),
    ],
)
def test_a_fault_of_the_file_is_told_with_its_place_and_never_with_a_secret(
    text: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start, and by the doctor."""
    monkeypatch.setenv("ERP_TOKEN", "s3cret")
    monkeypatch.setenv("MISSING_TOKN", "s3cret")
    monkeypatch.setenv("BROKEN_TOKEN", "s3c\nret")
    made = settings(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        load_http_credentials(made)
    told = [one for one in check_files(made, SystemClock().now().date()) if one.check == "HTTP_CREDENTIALS_FILE"]

    assert part in error.value.reason
    assert "s3c" not in error.value.reason
    assert [error.value.reason in one.says for one in told] == [True]
