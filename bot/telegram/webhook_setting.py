"""Where Telegram posts, as the settings say. Ring 3; loads no library, for `sdelka doctor` asks too."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from orchestrator.errors import SettingsError

_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """Where Telegram posts, and how we know that it is Telegram."""

    url: str
    secret: SecretStr

    @property
    def path(self) -> str:
        """The part of the address that the HTTP door serves."""
        return urlsplit(self.url).path


def parse_webhook(url: str | None, secret: SecretStr | None) -> Webhook | None:
    """The webhook of the settings, None without one; raises SettingsError. Without a secret anybody could post as anybody."""
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
