"""Collects the secrets of this installation, of the settings and of the files that these name, so that they are masked in every text."""

from collections.abc import Iterator
from contextlib import suppress

from bitrix.masking import install_secrets
from bot.settings import Settings, list_secrets
from orchestrator.domain.errors import SettingsError


def hide_secrets(settings: Settings) -> tuple[str, ...]:
    """Let all texts of this process be masked with the secrets of this installation, and return them.

    A file of secrets that cannot be read is left out: whoever needs it reports that.
    """
    found = tuple(dict.fromkeys(_collect_secrets(settings)))
    install_secrets(found)
    return found


def _collect_secrets(settings: Settings) -> Iterator[str]:
    yield from list_secrets(settings)
    if settings.models_file is not None:
        from bot.model_plan import list_model_secrets  # noqa: PLC0415 - most commands have no such file and need no clients

        with suppress(SettingsError):
            yield from list_model_secrets(settings)
    if settings.http_credentials_file is not None:
        from bot.http_credentials import list_http_secrets, load_http_credentials  # noqa: PLC0415 - see above

        with suppress(SettingsError):
            yield from list_http_secrets(load_http_credentials(settings))
