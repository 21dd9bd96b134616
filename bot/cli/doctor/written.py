"""What is set: wrong, missing and misspelt settings, and who can read `.env`. Ring 3; says names, never values."""

import stat
from collections.abc import Iterable

from bot.cli.doctor.findings import Area, Finding
from bot.settings import Settings, list_portal_settings
from bot.settings_look import DOTENV, SettingsProbe, find_misspelt

AREA = Area("settings")
_WHERE = "in the environment or in .env"
_MEANING = {name.upper(): field.description or "" for name, field in Settings.model_fields.items()}


def check_settings(look: SettingsProbe) -> Iterable[Finding]:
    """One line for each fault; one that all is well where there is none."""
    found = [*_check_faults(look), *_check_missing(look), *_check_misspelt(), *_check_env_permissions()]
    yield from found
    if not found:
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
    if settings.openai_api_key is None and "OPENAI_API_KEY" not in look.faults:
        says = "It is missing: every request is answered that the model is not available; typed commands go on."
        yield AREA.report_warning("OPENAI_API_KEY", says, f"Set it {_WHERE}.")
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
    """`.env` holds every secret: it is nobody else's to read."""
    try:
        mode = DOTENV.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        yield AREA.report_warning(".env", "Other users of this machine can read it, and it holds secrets.", "chmod 600 .env")
