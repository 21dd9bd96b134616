"""Invalid, missing and misspelt settings, and who can read `.env`. It shows names, never values."""

import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr, ValidationError

from bitrix.masking import HIDDEN
from bot.cli.doctor.findings import Area, Finding
from bot.composition.model_checks import find_mute_reason
from bot.settings.faults import find_misspelt
from bot.settings.settings import Settings, list_portal_settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.value_faults import describe_fault

DOTENV = Path(".env")
_SHORTEST_SECRET = 7
"""In characters; a shorter one may be an ordinary word."""


@dataclass(frozen=True, kw_only=True)
class SettingsProbe:
    """Faults by setting; a setting with a fault has its default."""

    settings: Settings
    faults: dict[str, str] = field(default_factory=dict)


def probe_settings() -> SettingsProbe:
    """Raises SettingsError if `.env` cannot be read at all."""
    faults: dict[str, str] = {}
    while True:
        try:
            return SettingsProbe(
                settings=Settings(**{name: Settings.model_fields[name].get_default() for name in faults}),
                faults={name.upper(): message for name, message in faults.items()},
            )
        except ValidationError as error:
            invalid = {str(item["loc"][0]): describe_fault(item) for item in error.errors() if item["loc"]}
            if not invalid or invalid.keys() <= faults.keys():
                raise SettingsError("settings: they cannot be read together") from None
            faults |= invalid
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f".env: cannot be read ({type(error).__name__})") from None


def build_secret_filter(settings: Settings) -> Callable[[str], str]:
    """Hides also parts that could be used alone, such as a password."""
    values = (getattr(settings, name) for name in Settings.model_fields)
    whole = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    hidden = sorted({part for value in whole for part in _split_secret(value) if len(part) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def hush(text: str) -> str:
        for value in hidden:
            text = text.replace(value, HIDDEN)
        return text

    return hush


def _split_secret(value: str) -> Iterable[str]:
    """With the parts that could be used alone: a webhook's code, a password, each token of a list."""
    if "://" not in value:
        tokens = [part.strip() for part in value.split(",")]
        return [value, *tokens, *(_extract_secret(token) for token in tokens)]
    try:
        url = urlsplit(value)
        password = url.password or ""
    except ValueError:
        return [value]
    words = url.path.split("/")
    code = words[3] if len(words) > 3 and words[1] == "rest" else ""  # noqa: PLR2004 - /rest/<user>/<code>
    return [value, password, unquote(password), code]


def _extract_secret(token: str) -> str:
    """Of `name=token:role:mode` the token, of `123456:AA…` what follows the colon; "" if none."""
    if "=" in token:
        return token.partition("=")[2].partition(":")[0]
    head, _, tail = token.partition(":")
    return tail if head.isdecimal() else ""


AREA = Area("settings")
_WHERE = "in the environment or in .env"
_MEANING = {name.upper(): field.description or "" for name, field in Settings.model_fields.items()}


def check_settings(look: SettingsProbe) -> Iterable[Finding]:
    findings = [*_check_faults(look), *_check_missing(look), *_check_misspelt(), *_check_env_permissions()]
    yield from findings
    if not findings:
        settings = look.settings
        yield AREA.report_ok("all", f"Every setting can be read; mode {settings.agent_mode}, log level {settings.log_level}.")


def _check_faults(look: SettingsProbe) -> Iterable[Finding]:
    for name, message in look.faults.items():
        yield AREA.report_wrong(name, f"The value cannot be used: {message}.", f"Correct it {_WHERE}. {_MEANING.get(name, '')}".strip())


def _check_missing(look: SettingsProbe) -> Iterable[Finding]:
    settings = look.settings
    needed = (*([] if settings.http_api_tokens else ["telegram_bot_token"]), *list_portal_settings(settings))
    for name in needed:
        if getattr(settings, name) is None and name.upper() not in look.faults:
            yield AREA.report_wrong(
                name.upper(), "It is missing; the bot does not start without it.", f"Set it {_WHERE}. {_MEANING[name.upper()]}"
            )
    if "OPENAI_API_KEY" not in look.faults and (reason := find_mute_reason(settings)):
        says = f"{reason[0].upper()}{reason[1:]}. Every request is answered that the model is not available; typed commands go on."
        yield AREA.report_warning("model", says, f"Set it {_WHERE}, see docs/models.md.")
    if settings.bitrix_oauth_client_id is not None and settings.bitrix_webhook_url is not None:
        says = "A webhook and an application are set; the application is used."
        yield AREA.report_warning(
            "BITRIX_WEBHOOK_URL", says, "Take the webhook out of the settings, and delete it in the portal if nobody else uses it."
        )


def _check_misspelt() -> Iterable[Finding]:
    for name, meant in find_misspelt():
        yield AREA.report_warning(
            name, f"There is no such setting, so it does nothing; {meant} is not set.", f"Write {meant}, if that was meant."
        )


def _check_env_permissions() -> Iterable[Finding]:
    """It holds the secrets."""
    try:
        mode = DOTENV.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        yield AREA.report_warning(".env", "Other users of this machine can read it, and it holds secrets.", "chmod 600 .env")
