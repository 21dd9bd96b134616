"""What is set: wrong, missing and misspelt settings, and who can read `.env`. Ring 3; says names, never values."""

import stat
from collections.abc import Iterable

from bot.cli.doctor.findings import Area, Finding
from bot.settings import Settings, portal_settings
from bot.settings_look import DOTENV, Look, misspelt

AREA = Area("settings")
_WHERE = "in the environment or in .env"
_MEANING = {name.upper(): field.description or "" for name, field in Settings.model_fields.items()}


def settings_look(look: Look) -> Iterable[Finding]:
    """One line for each fault; one that all is well where there is none."""
    found = [*_wrong(look), *_missing(look), *_misspelt(), *_readable()]
    yield from found
    if not found:
        settings = look.settings
        yield AREA.ok("all", f"Every setting can be read; mode {settings.agent_mode}, log level {settings.log_level}.")


def _wrong(look: Look) -> Iterable[Finding]:
    for name, message in look.faults.items():
        yield AREA.wrong(name, f"The value cannot be used: {message}.", f"Correct it {_WHERE}. {_MEANING.get(name, '')}".strip())


def _missing(look: Look) -> Iterable[Finding]:
    settings = look.settings
    needed = (*([] if settings.http_api_tokens else ["telegram_bot_token"]), *portal_settings(settings))
    for name in needed:
        if getattr(settings, name) is None and name.upper() not in look.faults:
            yield AREA.wrong(
                name.upper(), "It is missing; the bot does not start without it.", f"Set it {_WHERE}. {_MEANING[name.upper()]}"
            )
    if settings.openai_api_key is None and "OPENAI_API_KEY" not in look.faults:
        says = "It is missing: every request is answered that the model is not available; typed commands go on."
        yield AREA.warning("OPENAI_API_KEY", says, f"Set it {_WHERE}.")
    if settings.bitrix_oauth_client_id is not None and settings.bitrix_webhook_url is not None:
        says = "A webhook and an application are set; the application is used."
        yield AREA.warning(
            "BITRIX_WEBHOOK_URL", says, "Take the webhook out of the settings, and delete it in the portal if nobody else uses it."
        )


def _misspelt() -> Iterable[Finding]:
    for name, meant in misspelt():
        yield AREA.warning(name, f"There is no such setting, so it does nothing; {meant} is not set.", f"Write {meant}, if that was meant.")


def _readable() -> Iterable[Finding]:
    """`.env` holds every secret: it is nobody else's to read."""
    try:
        mode = DOTENV.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        yield AREA.warning(".env", "Other users of this machine can read it, and it holds secrets.", "chmod 600 .env")
