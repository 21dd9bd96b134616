"""The settings of one installation: frozen, read once, the only reader of the environment (DESIGN §6). Ring 3."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from orchestrator.errors import SettingsError
from orchestrator.messages import Mode

_DURATION = re.compile(r"(\d+)\s*(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NO_DURATION = "a duration such as 24h, 90m or 2d is needed"


def _duration(value: object) -> object:
    """ "24h", "90m", "2d" as a timedelta."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(_NO_DURATION)
    try:
        return timedelta(**{_UNITS[match.group(2)]: int(match.group(1))})
    except OverflowError:
        raise ValueError(_NO_DURATION) from None


class Settings(BaseSettings):
    """Names are fixed by DESIGN §6; each has one sentence in `.env.example`. Secrets have no default."""

    model_config = SettingsConfigDict(env_file=".env", env_file_encoding="utf-8", frozen=True, extra="ignore", env_ignore_empty=True)

    telegram_bot_token: SecretStr | None = Field(None, description="Token of the bot from @BotFather.")
    telegram_api_base: str = Field("https://api.telegram.org", description="Bot API server; change it for a local one.")
    openai_api_key: SecretStr | None = Field(None, description="Key of the OpenAI-compatible provider.")
    openai_api_base: str = Field("https://api.openai.com/v1", description="Base URL of the provider, up to and with /v1.")
    openai_model: str = Field("gpt-5-thinking", description="Model that answers the managers.")
    bitrix_webhook_url: SecretStr | None = Field(
        None, description="Incoming webhook of the portal, https://<portal>/rest/<user>/<code>/ ; it is a secret."
    )
    agent_mode: Mode = Field("shadow", description="What may run: shadow (nothing), canary (reads and safe creates), full.")
    agent_max_iterations: int = Field(6, ge=1, le=20, description="How often the model may be asked within one turn.")
    confirmation_ttl: Annotated[timedelta, BeforeValidator(_duration)] = Field(
        timedelta(hours=24), gt=timedelta(0), description="How long a card waits for a decision, such as 24h."
    )
    policy_file: Path | None = Field(None, description="Your own policy (YAML) over data/policy.yaml.")
    access_file: Path | None = Field(None, description="Who may use the bot (YAML), see docs/access.md; nobody without it.")
    database_url: SecretStr | None = Field(None, description="SQLAlchemy URL of the database; by default SQLite in STATE_DIR.")
    state_dir: Path = Field(Path("data/state"), description="Folder of the embedded database.")
    log_dir: Path = Field(Path("data/logs"), description="Folder of the audit logs, one JSONL file a user.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much the program's own log says.")
    bitrix_rate: float = Field(2.0, ge=0, description="Requests a second the portal's plan allows; 0 = no limit.")
    bitrix_burst: int = Field(50, ge=1, description="Requests the portal's plan allows at once.")

    @property
    def database(self) -> SecretStr:
        """The database to open."""
        if self.database_url is not None:
            return self.database_url
        return SecretStr(f"sqlite:///{self.state_dir / 'sdelka.db'}")


def load_settings(**overrides: Any) -> Settings:
    """The settings of the environment and `.env`; raises SettingsError naming each wrong one, never showing a value."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in item['loc']).upper()}: {item['msg']}" for item in error.errors()]
        raise SettingsError("settings: " + "; ".join(faults)) from None


def need(settings: Settings, *names: str) -> None:
    """Raise SettingsError for every name that is not set."""
    missing = [name.upper() for name in names if getattr(settings, name) is None]
    if missing:
        plural = "settings are" if len(missing) > 1 else "setting is"
        raise SettingsError(f"the {plural} missing: {', '.join(missing)} (set it in the environment or in .env, see .env.example)")
