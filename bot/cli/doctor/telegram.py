"""Token, webhook, updates that wait, groups and clock. It never polls, which would take updates from the bot."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from bitrix.errors import to_safe_line
from bot.cli.doctor.findings import Area, Finding
from bot.cli.doctor.portal import compare_clock
from bot.settings.settings import Settings
from orchestrator.directory.answers import Number, Text
from orchestrator.domain.frozen import View
from state.clock import SystemClock

AREA = Area("telegram")
BACKLOG_LIMIT: Final = 100
_RECENT: Final = 3600.0


class _Answer(View):
    id: object = None
    username: object = None
    can_join_groups: object = True
    can_read_all_group_messages: object = None
    url: Text = ""
    pending_update_count: Number = 0
    last_error_date: object = None
    last_error_message: object = None


async def check_telegram(settings: Settings, *, within: float) -> AsyncIterator[Finding]:
    token = settings.telegram_bot_token.get_secret_value().strip() if settings.telegram_bot_token else ""
    if not token and settings.http_api_tokens is not None:
        yield AREA.report_ok("token", "There is no TELEGRAM_BOT_TOKEN: only the HTTP API is served.")
        return
    if not token:
        yield AREA.report_wrong("token", "It was not asked: there is no TELEGRAM_BOT_TOKEN.", "Ask @BotFather for a bot and set its token.")
        return
    base = f"{settings.telegram_api_base.rstrip('/')}/bot{token}"
    async with httpx.AsyncClient(timeout=within) as http:
        me = await _call_method(http, base, "getMe")
        if isinstance(me, Finding):
            yield me
            return
        result, moment = me
        yield AREA.report_ok("token", f"It is the token of @{to_safe_line(str(result.username))} (number {result.id}).")
        if moment is not None:
            yield compare_clock(AREA, moment - SystemClock().now())
        yield _check_groups(result)
        info = await _call_method(http, base, "getWebhookInfo")
        if isinstance(info, Finding):
            yield info
            return
    yield _check_webhook(settings.telegram_webhook_url, info[0].url)
    yield _check_backlog(info[0], SystemClock().now())


async def _call_method(http: httpx.AsyncClient, base: str, method: str) -> tuple[_Answer, datetime | None] | Finding:
    """The time is of the Date header, None without one. `base` is never shown: it contains the token."""
    try:
        answer = await http.get(f"{base}/{method}")
        body = answer.json()
    except httpx.InvalidURL:
        return AREA.report_wrong(
            "token", "TELEGRAM_BOT_TOKEN or TELEGRAM_API_BASE has characters that belong into neither.", "Copy it again."
        )
    except httpx.HTTPError as error:
        says = f"Telegram cannot be reached ({type(error).__name__}: {to_safe_line(str(error)) or 'no answer'})."
        return AREA.report_wrong("reachable", says, "Check TELEGRAM_API_BASE, the name service, the firewall and proxy of this machine.")
    except ValueError:
        body = None
    if answer.status_code in {401, 404}:
        mending = "Copy it again from @BotFather; if it was revoked there (/revoke), set the new one."
        return AREA.report_wrong("token", f"Telegram does not accept TELEGRAM_BOT_TOKEN (HTTP {answer.status_code}).", mending)
    result = body.get("result") if isinstance(body, Mapping) else None
    if answer.status_code != httpx.codes.OK or not isinstance(result, Mapping):
        return AREA.report_wrong("answer", f"Telegram answers {method} with HTTP {answer.status_code}.", "Try again in a minute.")
    return _Answer.model_validate(result), _parse_date(answer.headers.get("date", ""))


def _parse_date(header: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _check_groups(me: _Answer) -> Finding:
    if not me.can_join_groups:
        return AREA.report_ok("groups", "The bot cannot be added to groups (@BotFather /setjoingroups).")
    if me.can_read_all_group_messages:
        says = "Privacy mode is off: the bot gets all that is written in its groups, and answers commands, mentions and replies only."
        return AREA.report_ok("groups", says + " @BotFather /setprivacy switches it on.")
    return AREA.report_ok("groups", "Privacy mode is on: in groups the bot gets commands, mentions and replies, which is what it answers.")


def _check_webhook(ours: str | None, set_now: str) -> Finding:
    """Only the host of a foreign webhook is shown: its path may be a secret. `set_now` is "" for none."""
    host = httpx.URL(set_now).host if set_now else ""
    if ours is None and set_now:
        says = (
            f"A webhook to {host} is set, and this bot polls: it takes the webhook away at its start. Does another program use this token?"
        )
        return AREA.report_warning("updates", says, "If so, ask @BotFather for a bot of its own; if not, nothing is to be done.")
    if ours is None:
        return AREA.report_ok("updates", "The bot polls, and no webhook stands in its way.")
    if not set_now:
        return AREA.report_warning(
            "updates",
            "TELEGRAM_WEBHOOK_URL is set, and Telegram knows of no webhook yet.",
            "Start the bot: it sets the webhook within seconds.",
        )
    if set_now != ours:
        says = f"Telegram posts to {host}, and not where TELEGRAM_WEBHOOK_URL says. Does another program use this token?"
        return AREA.report_wrong(
            "updates", says, "Stop the other program, or give it a token of its own; a running bot sets its webhook every 5 minutes."
        )
    return AREA.report_ok("updates", f"Telegram posts to {host}, as TELEGRAM_WEBHOOK_URL says.")


def _check_backlog(info: _Answer, now: datetime) -> Finding:
    waiting, failed = info.pending_update_count, info.last_error_date
    if isinstance(failed, int) and now.timestamp() - failed < _RECENT:
        why = to_safe_line(str(info.last_error_message))
        says = f"Telegram could not post {now.timestamp() - failed:.0f} s ago: {why}. {waiting} updates wait."
        return AREA.report_wrong("waiting", says, "Look whether the proxy before HTTP_PORT runs, and whether its certificate is valid.")
    if waiting > BACKLOG_LIMIT:
        return AREA.report_warning(
            "waiting", f"{waiting} updates wait: nobody takes them in.", "Is the bot running? They are worked off after its start."
        )
    return AREA.report_ok("waiting", f"{waiting} updates wait." if waiting else "Nothing waits.")
