"""`sdelka journal anchor`: notes where each stream and log ends, in a place that the bot cannot rewrite."""

import logging
import logging.handlers
import os
import stat
import sys
from pathlib import Path

import httpx

from bot.cli.ops import open_database_reader
from bot.settings.faults import check_required
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from state.clock import SystemClock
from state.verify.anchors import take_anchor

SYSLOG = "/dev/log"
SYSLOG_PORT = 514
LONGEST_MESSAGE = 4096
TIMEOUT = 10.0


def write_anchor(to: str, *, own: bool) -> None:
    """A place that this user could rewrite needs `own`."""
    settings = load_settings()
    with open_database_reader(settings) as store:
        anchor = take_anchor(store, SystemClock().now())
    kind, _, rest = to.partition(":")
    match kind:
        case "-":
            sys.stdout.write(anchor.render_line() + "\n")
            return
        case "syslog":
            _send_to_syslog(anchor.render_line(), rest)
        case "telegram":
            line = anchor.render_line()
            _send_to_telegram(line if len(line) <= LONGEST_MESSAGE else anchor.render_short(), rest, settings)
        case _:
            _write_to_file(anchor.render_line(), Path(to), own=own)
    sys.stderr.write(f"anchored {len(anchor.streams)} streams and {len(anchor.logs)} logs, digest {anchor.digest}\n")


def _write_to_file(line: str, path: Path, *, own: bool) -> None:
    if not own and path.exists() and _is_rewritable(path):
        raise SettingsError(
            f"you could rewrite {path} yourself, so it proves nothing: make it another user's and append-only, or say --own"
        )
    if not own and not path.exists():
        raise SettingsError(f"{path} is not there: make it as another user, append-only, or say --own")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if own else 0), 0o640)
        try:
            whole = (line + "\n").encode()
            if os.write(descriptor, whole) != len(whole):
                raise SettingsError(f"{path} took only a part of the anchor: is the disk full?")
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SettingsError(f"{path} did not take the anchor: {error.strerror}") from None


def _is_rewritable(path: Path) -> bool:
    """An append-only file of another user cannot be opened for plain writing."""
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    if path.stat().st_uid == os.geteuid() != 0:
        return True  # the owner can grant any right to himself
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


class _Syslog(logging.handlers.SysLogHandler):
    """Keeps an error in `error`; `logging` would print it."""

    error: BaseException | None = None
    ident = "sdelka: "
    append_nul = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        del record
        self.error = sys.exc_info()[1]


def _send_to_syslog(line: str, where: str) -> None:
    host, _, port = where.rpartition(":") if where.rpartition(":")[2].isdigit() else (where, "", "")
    address = (host, int(port or SYSLOG_PORT)) if host else SYSLOG
    try:
        handler = _Syslog(address, facility=_Syslog.LOG_AUTHPRIV)
    except OSError as error:
        raise SettingsError(f"syslog at {where or SYSLOG} cannot be reached: {error}") from None
    handler.emit(logging.LogRecord("sdelka", logging.INFO, "", 0, line, None, None))
    handler.close()
    if handler.error is not None:
        raise SettingsError(f"syslog did not take the anchor: {handler.error}")


def _send_to_telegram(line: str, chat: str, settings: Settings) -> None:
    check_required(settings, "telegram_bot_token")
    token = settings.telegram_bot_token.get_secret_value() if settings.telegram_bot_token else ""
    if not chat.lstrip("-").isdigit():
        raise SettingsError("telegram:CHAT_ID needs the number of a chat")
    try:
        answer = httpx.post(
            f"{settings.telegram_api_base}/bot{token}/sendMessage",
            json={"chat_id": int(chat), "text": line, "link_preview_options": {"is_disabled": True}, "protect_content": False},
            timeout=TIMEOUT,
        )
        reply = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise SettingsError(
            f"Telegram cannot be reached: {type(error).__name__}"
        ) from None  # httpx's message contains the address with the token
    if not reply.get("ok"):
        raise SettingsError(f"Telegram did not take the anchor: {reply.get('description', answer.status_code)}")
