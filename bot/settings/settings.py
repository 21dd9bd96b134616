"""The settings of one installation, read once.

Imports no Telegram library, because `sdelka doctor` uses it too.
"""

import os
import re
from base64 import b64decode
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from dotenv import dotenv_values
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bitrix.limits.plan import parse_plan
from orchestrator.domain.actor import Mode
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import Effort

_DURATION = re.compile(r"(\d+)\s*(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NO_DURATION = "a duration such as 24h, 90m or 2d is needed"


def _parse_duration(value: object) -> object:
    """ "24h", "90m" or "2d"; what is no string stays."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(_NO_DURATION)
    try:
        return timedelta(**{_UNITS[match.group(2)]: int(match.group(1))})
    except OverflowError:
        raise ValueError(_NO_DURATION) from None


def _parse_extra_body(value: object) -> object:
    """Raises ValueError for a text that is no JSON object."""
    if not isinstance(value, str):
        return value
    from orchestrator.model_client.settings import parse_extra_body  # noqa: PLC0415 - reports read settings and need no clients

    return parse_extra_body(value)


def _parse_commands(value: object) -> object:
    """ "/exit, /quit", also in brackets and quotes."""
    if not isinstance(value, str):
        return value
    return tuple(word.casefold() for part in value.strip("{}[]() ").split(",") if (word := part.strip(" '\"")))


def _validate_plan(text: str) -> str:
    parse_plan(text)
    return text


_OPEN_PASSWORD = re.compile(r"\s*[A-Za-z][\w+.-]*://[^:/]*:[^@]*@(?:[^?]*|[^=]*)@")
"""An address whose password ends at another @ for each reader; what stands between is taken for the host, which errors name."""


def check_password(address: str) -> str:
    """Raises ValueError, which quotes nothing, if a part of the password would be taken for the host and shown."""
    if _OPEN_PASSWORD.match(address):
        raise ValueError("an @ in the name or the password is written %40")
    return address


def parse_database_url(address: str) -> str:
    """With SQLAlchemy's name of the driver; those who rent databases out write "postgres". Raises ValueError."""
    kind, sign, rest = check_password(address).strip().partition("://")
    kind = "postgresql" if kind.lower() == "postgres" else kind.lower()
    try:
        is_known = bool(sign) and kind.partition("+")[0] in {"postgresql", "sqlite"} and urlsplit(address).port != 0
    except ValueError:  # a port that is no number
        is_known = False
    if not is_known:
        raise ValueError("an address such as postgresql://user:password@host/sdelka or sqlite:////folder/sdelka.db is needed")
    return f"{kind}{sign}{rest}"


def _read_database_url(url: SecretStr | None) -> SecretStr | None:
    return SecretStr(parse_database_url(url.get_secret_value())) if url is not None else None


class Settings(BaseSettings):
    """`.env.example` describes each setting. Secrets have no default."""

    model_config = SettingsConfigDict(env_file=".env", env_file_encoding="utf-8", frozen=True, extra="ignore", env_ignore_empty=True)

    telegram_bot_token: SecretStr | None = Field(None, description="Token of the bot from @BotFather.")
    telegram_api_base: str = Field("https://api.telegram.org", description="Bot API server; change it for a local one.")
    telegram_webhook_url: str | None = Field(
        None, description="Public https address under which Telegram reaches HTTP_PORT; without it the bot polls, see docs/telegram.md."
    )
    telegram_webhook_secret: SecretStr | None = Field(
        None, description="16 to 256 characters of A-Z a-z 0-9 _ - by which a post is known to come from Telegram."
    )
    openai_api_key: SecretStr | None = Field(None, description="Key of the OpenAI-compatible provider.")
    openai_api_base: str = Field("https://api.openai.com/v1", description="Base URL of the provider, up to and with /v1.")
    openai_model: str = Field("gpt-5-thinking", description="Model that answers the managers.")
    openai_transcribe_model: str | None = Field(
        None, description="Model of the same provider that writes down voice messages; without it people are asked to type."
    )
    gigachat_credentials: SecretStr | None = Field(None, description="Authorization key of GigaChat; with it GigaChat answers engines.")
    gigachat_scope: str = Field("GIGACHAT_API_PERS", description="Scope of that key: GIGACHAT_API_PERS, _B2B or _CORP.")
    gigachat_api_base: str = Field("https://gigachat.devices.sberbank.ru/api/v1", description="Base URL of GigaChat.")
    gigachat_auth_url: str = Field("https://ngw.devices.sberbank.ru:9443/api/v2/oauth", description="Address where GigaChat gives tokens.")
    gigachat_ca_file: Path | None = Field(None, description="Certificate authority of GigaChat's servers (PEM), trusted only for them.")
    default_model: str | None = Field(None, description="Model of GigaChat that answers engines; by default GigaChat-2-Max.")
    default_embedding_model: str | None = Field(None, description="Model that makes vectors of texts; for GigaChat by default Embeddings.")
    exit_commands: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_commands)] = Field(
        ("/exit", "/quit", "/q", "exit", "quit", "q"), min_length=1, description="What ends `sdelka ask`, with commas."
    )
    help_commands: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_commands)] = Field(
        ("/help", "help", "?"), description="What shows the help of `sdelka ask` and /ask, with commas."
    )
    context_hist_limit: int = Field(10, ge=1, le=1000, description="How many messages of its conversation the tool agent sends to a model.")
    param_question_maxlen: int = Field(30, ge=1, le=100_000, description="Characters of a question to the documents in `sdelka ask`.")
    param_theme_maxlen: int = Field(20, ge=1, le=100_000, description="Characters of the theme of a haiku in `sdelka ask`.")
    chat_question_maxlen: int = Field(500, ge=1, le=100_000, description="Characters of both in chats, where /ask is used.")
    param_rag_top_k: int = Field(2, ge=1, le=50, description="How many passages of documents an answer is made from.")
    rag_service_url: str | None = Field(None, description="Address of the service that searches documents: engines/tool_agent/README.md.")
    haiku_service_url: str | None = Field(None, description="Address of the haiku service; by default it works inside of the program.")
    models_file: Path | None = Field(
        None, description="Providers of models, their roles and fallbacks (YAML), in place of the settings above; see docs/models.md."
    )
    model_chain: str | None = Field(
        None, description="Who answers people, and who does if the first fails: openai,gigachat; by default the first that has a key."
    )
    model_timeout: Annotated[timedelta, BeforeValidator(_parse_duration)] = Field(
        timedelta(seconds=30),
        gt=timedelta(0),
        le=timedelta(hours=1),
        description="How long one request to a model may take, or a streamed answer be silent once it has begun, such as 30s.",
    )
    model_deadline: Annotated[timedelta, BeforeValidator(_parse_duration)] = Field(
        timedelta(seconds=120),
        gt=timedelta(0),
        le=timedelta(hours=1),
        description="How long a whole answer of a model may take, with all attempts, such as 120s.",
    )
    model_connect_timeout: Annotated[timedelta, BeforeValidator(_parse_duration)] = Field(
        timedelta(seconds=5), gt=timedelta(0), le=timedelta(minutes=5), description="How long connecting to a model may take, such as 5s."
    )
    model_silence: Annotated[timedelta | None, BeforeValidator(_parse_duration)] = Field(
        None,
        gt=timedelta(0),
        le=timedelta(hours=1),
        description="How long a streamed answer may be silent once it has begun, such as 45s; by default MODEL_TIMEOUT.",
    )
    model_temperature: float | None = Field(
        None, ge=0, le=2, description="Temperature of the model that answers people, 0 to 2; by default what its service takes."
    )
    model_reasoning_effort: Effort | None = Field(
        None, description="How long that model thinks: none, minimal, low, medium, high, xhigh or max, as far as it knows the word."
    )
    model_max_tokens: int | None = Field(
        None, ge=1, le=10_000_000, description="Tokens that one answer of that model may have, thinking included; by default no limit."
    )
    model_extra_body: Annotated[dict[str, Any] | None, NoDecode, BeforeValidator(_parse_extra_body)] = Field(
        None, description='More fields of the requests to that model as JSON, such as {"top_k": 20}; see docs/models.md.'
    )
    model_message_limit: int = Field(
        400_000, ge=1, description="Characters that one message to a model may have; a longer one is refused, never cut."
    )
    bitrix_webhook_url: SecretStr | None = Field(
        None, description="Incoming webhook of the portal, https://<portal>/rest/<user>/<code>/ ; it is a secret."
    )
    bitrix_portal: str | None = Field(None, description="Address of the portal for an application, such as company.bitrix24.ru.")
    bitrix_oauth_client_id: str | None = Field(None, description="Id of the portal's local application, used instead of the webhook.")
    bitrix_oauth_client_secret: SecretStr | None = Field(None, description="Secret key of the local application.")
    bitrix_oauth_refresh_token: SecretStr | None = Field(
        None, description="Refresh token the application got last; later ones are stored, a new one here begins anew."
    )
    bitrix_oauth_base: str = Field("https://oauth.bitrix.info", description="Authorization server; change it for a local one.")
    agent_mode: Mode = Field("shadow", description="What may run: shadow (nothing), canary (reads and safe creates), full.")
    agent_max_iterations: int = Field(6, ge=1, le=20, description="How often the model may be asked within one turn.")
    confirmation_ttl: Annotated[timedelta, BeforeValidator(_parse_duration)] = Field(
        timedelta(hours=24), gt=timedelta(0), description="How long a card waits for a decision, such as 24h."
    )
    run_retention_days: int = Field(90, ge=0, le=36500, description="How many days a finished run is kept in lists; 0 = for ever.")
    scenario_max_steps: int = Field(1000, ge=1, le=5000, description="How many steps one run of a scenario makes at most.")
    scenario_max_depth: int = Field(10, ge=0, le=12, description="How many scenarios run inside of each other at most.")
    scenario_max_seconds: int = Field(1800, ge=1, le=86400, description="How long a scenario works at most from one wait to the next.")
    bitrix_event_token: SecretStr | None = Field(
        None,
        description="Token of the portal's outgoing webhook, several with commas; without it no events are received, see docs/events.md.",
    )
    http_host: str = Field("127.0.0.1", description="Address of the HTTP door: the API, events of the portal, posts of Telegram.")
    http_port: int = Field(8080, ge=1, le=65535, description="Port of the HTTP door.")
    http_api_tokens: SecretStr | None = Field(
        None,
        description="Who may use the HTTP API: name=token:role:mode, several with commas; without it there is none, see docs/http-api.md.",
    )
    http_allow_overrides: bool = Field(False, description="Whether a request to /chat may lower the mode for itself.")
    http_rate_limit: int = Field(1200, ge=0, description="Requests a minute of one token and of one address to the HTTP API; 0 = no limit.")
    http_trusted_proxies: str = Field(
        "", description="Addresses or networks, with commas, of proxies whose X-Forwarded-For is believed; none by default."
    )
    http_answer_within: Annotated[timedelta, BeforeValidator(_parse_duration)] = Field(
        timedelta(seconds=50), gt=timedelta(0), description="How long /chat keeps a caller waiting before it answers 202, such as 50s."
    )
    console_secret: SecretStr | None = Field(
        None, min_length=32, description="Secret, 32 characters or more, that signs logins to the console; see docs/console.md."
    )
    console_url: str | None = Field(
        None, description="Address of the console for people's browsers, such as https://bot.company.ru/console; by default HTTP_HOST's."
    )
    policy_file: Path | None = Field(None, description="Your own policy (YAML) over data/policy.yaml.")
    numbers_file: Path | None = Field(None, description="How your company counts, and its plan of a month (YAML), see docs/numbers.md.")
    access_file: Path | None = Field(None, description="Who may use the bot (YAML), see docs/access.md; nobody without it.")
    database_url: Annotated[SecretStr | None, AfterValidator(_read_database_url)] = Field(
        None, description="Address of the database, such as postgresql://user:password@host/sdelka; by default SQLite in STATE_DIR."
    )
    mongo_url: SecretStr | None = Field(
        None, description="Mongo database of the company for mongo effects, mongodb://user:password@host/name; see docs/mongo.md."
    )
    http_credentials_file: Path | None = Field(
        None, description="Secrets that http effects may send, each to one host (YAML); see docs/effects.md."
    )
    files_dir: Path | None = Field(
        None, description="The one folder whose files actions may read and write; without it there are no such actions."
    )
    rag_docs_dir: Path = Field(Path("data/documents"), description="Folder of the company's documents; see docs/documents.md.")
    rag_service_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Token, 16 characters or more, with which the service of documents believes who asks; see docs/documents.md.",
    )
    state_dir: Path = Field(Path("data/state"), description="Folder of the embedded database.")
    log_dir: Path = Field(Path("data/logs"), description="Folder of the audit logs, one JSONL file a user.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much the program's own log says.")
    log_format: Literal["text", "json"] = Field(
        "text", description="Form of that log: text on stderr, or json, one object a line on stdout; see docs/monitoring.md."
    )
    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Token, 16 characters or more, with which /metrics and the details of /readyz are read; see docs/monitoring.md.",
    )
    bitrix_plan: Annotated[str, AfterValidator(_validate_plan)] = Field(
        "standard", description="How often the portal may be called: standard, enterprise, off, or your own rate/burst such as 10/300."
    )
    bitrix_operating_limit: float = Field(
        480.0, ge=0, description="Seconds of work the portal grants a method in ten minutes; 0 = only its own refusals count."
    )

    @field_validator("*")
    @classmethod
    def _check_password(cls, value: object) -> object:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if isinstance(text, str):
            check_password(text)
        return value

    @property
    def event_tokens(self) -> tuple[SecretStr, ...]:
        """They authenticate the portal's events. Without one the bot receives none."""
        tokens = self.bitrix_event_token.get_secret_value().split(",") if self.bitrix_event_token else []
        return tuple(SecretStr(token.strip()) for token in tokens if token.strip())

    @property
    def database(self) -> SecretStr:
        if self.database_url is not None:
            return self.database_url
        return SecretStr(f"sqlite:///{self.state_dir / 'sdelka.db'}")


def read_variable(name: str) -> SecretStr | None:
    """For names that are no setting of their own; None if it is not set."""
    value = os.environ.get(name) or dotenv_values(".env").get(name)
    return SecretStr(value) if value else None


def list_portal_settings(settings: Settings) -> tuple[str, ...]:
    """Of the application if BITRIX_OAUTH_CLIENT_ID is set, else of the webhook."""
    if settings.bitrix_oauth_client_id is None:
        return ("bitrix_webhook_url",)
    return ("bitrix_portal", "bitrix_oauth_client_id", "bitrix_oauth_client_secret", "bitrix_oauth_refresh_token")


def list_secrets(settings: Settings) -> tuple[str, ...]:
    """Also every part that is secret by itself, such as a password."""
    whole = [value.get_secret_value() for value in settings.__dict__.values() if isinstance(value, SecretStr)]
    lists = [one.get_secret_value() for one in (settings.http_api_tokens, settings.bitrix_event_token) if one is not None]
    entries = [part.strip() for value in lists for part in value.split(",")]
    tokens = [entry.partition("=")[2].split(":")[0] for entry in entries]  # name=token:role:mode of the HTTP API
    portal = settings.bitrix_webhook_url.get_secret_value().rstrip("/").rsplit("/", 1)[1:] if settings.bitrix_webhook_url else []
    bot = settings.telegram_bot_token.get_secret_value().partition(":")[2:] if settings.telegram_bot_token else []
    addresses = [*whole, *(value for value in settings.__dict__.values() if isinstance(value, str))]
    passwords = [text for address in addresses for text in _find_passwords(address)]
    gigachat = _find_gigachat_secret(settings.gigachat_credentials)
    return tuple(dict.fromkeys(value for value in (*whole, *entries, *tokens, *portal, *bot, *passwords, *gigachat) if value))


def _find_passwords(address: str) -> list[str]:
    """As they are written and decoded."""
    if "://" not in address:
        return []
    passwords = [*re.findall(r"://[^:/@]*:([^@]*)@", address), *re.findall(r"[?&](?:password|passwd|sslpassword)=([^&#]+)", address)]
    return [text for password in passwords for text in (password, unquote(password))]


def _find_gigachat_secret(key: SecretStr | None) -> list[str]:
    """The key is "<id>:<secret>" in base64."""
    try:
        return [b64decode(key.get_secret_value(), validate=True).decode().partition(":")[2]] if key is not None else []
    except ValueError:
        return []


_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """The secret proves that a post is from Telegram."""

    url: str
    secret: SecretStr

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


def parse_webhook(url: str | None, secret: SecretStr | None) -> Webhook | None:
    """None without `url`. Raises SettingsError; without a secret anybody could post updates in anybody's name."""
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.path in {"", "/"} or parts.query or parts.fragment:
        raise SettingsError("TELEGRAM_WEBHOOK_URL: an address such as https://bot.company.ru/telegram is needed, with a path and no query")
    if parts.scheme == "http" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
        raise SettingsError("TELEGRAM_WEBHOOK_URL: Telegram posts to https addresses only")
    if secret is None or not _WEBHOOK_SECRET.fullmatch(secret.get_secret_value()):
        raise SettingsError("TELEGRAM_WEBHOOK_SECRET: 16 to 256 characters of A-Z a-z 0-9 _ - are needed with TELEGRAM_WEBHOOK_URL")
    return Webhook(url=url, secret=secret)


CONSOLE_PATH: Final = "/console"
"""The console's pages and cookies know it."""


def parse_console_address(address: str | None, host: str, port: int) -> str:
    """Without a slash at its end. Raises SettingsError."""
    if address is None:
        return f"http://{_format_host(host)}:{port}{CONSOLE_PATH}"
    parts = urlsplit(address.rstrip("/"))
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path != CONSOLE_PATH or parts.query or parts.fragment:
        raise SettingsError(f"CONSOLE_URL: an address such as https://bot.company.ru{CONSOLE_PATH} is needed, with the path {CONSOLE_PATH}")
    return address.rstrip("/")


def _format_host(host: str) -> str:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where nobody can connect to
    return f"[{address}]" if ":" in address else address
