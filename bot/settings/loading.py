"""Loads the settings, and lets the secrets in them and in their files be masked everywhere."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from bitrix.masking import install_secrets
from bot.settings.http_credentials import list_http_secrets, load_http_credentials
from bot.settings.settings import Settings, list_secrets
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.value_faults import describe_fault


def load_settings(**overrides: Any) -> Settings:
    """Raises SettingsError that names each invalid setting and never quotes its value."""
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in fault['loc']).upper()}: {describe_fault(fault)}" for fault in error.errors()]
        raise SettingsError("settings: " + "; ".join(faults)) from None
    hide_secrets(settings)
    return settings


def hide_secrets(settings: Settings) -> tuple[str, ...]:
    """A file that cannot be read is left out: whoever needs it reports that."""
    secrets = tuple(dict.fromkeys(_collect_secrets(settings)))
    install_secrets(secrets)
    return secrets


def _collect_secrets(settings: Settings) -> Iterator[str]:
    yield from list_secrets(settings)
    if settings.models_file is not None:
        from bot.settings.model_plan import list_model_secrets  # noqa: PLC0415 - what only reads the journal loads no client of models

        with suppress(SettingsError):
            yield from list_model_secrets(settings)
    with suppress(SettingsError):
        yield from list_http_secrets(load_http_credentials(settings))
