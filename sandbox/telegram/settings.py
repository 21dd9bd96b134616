"""The settings of one sandbox. They are passed as arguments and never read from the environment."""

from dataclasses import dataclass, field
from pathlib import Path

from sandbox.telegram.limits import RateLimits

TOKEN = "1:sandbox"  # noqa: S105 - the sandbox's public token, it opens nothing else


@dataclass(frozen=True)
class TelegramSandboxSettings:
    """The settings of one sandbox: its data folder, the other services that the page shows, and the limits of the fake Telegram."""

    data_dir: Path
    portal_url: str | None = None
    audit_dir: Path | None = None
    supervisor_url: str | None = None
    limits: RateLimits = field(default_factory=RateLimits)
    # Undocumented by Telegram; bots report that answers fail after some 10-20 seconds.
    callback_answer_seconds: float = 15.0
    download_limit: int = 20 * 1024 * 1024
    # Telegram promises at least an hour.
    file_link_seconds: float = 3600.0
    webhook_retry_seconds: float = 1.0
