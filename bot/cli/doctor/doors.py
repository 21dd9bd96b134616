"""The HTTP server: tokens, its port, whether other machines reach it. Telegram: token, webhook, updates that wait, groups and clock.

It binds no port, and never polls, which would take updates from the bot.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

import httpx

from bitrix.auth.auth import LOOPBACK
from bitrix.errors import to_safe_line
from bot.cli.doctor.findings import Area, Finding
from bot.cli.doctor.portal import compare_clock
from bot.http_api.server.authentication import parse_networks
from bot.http_api.server.tokens import read_tokens
from bot.settings.settings import Settings, parse_console_address, parse_webhook
from orchestrator.directory.answers import Number, Text
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import View
from state.clock import SystemClock

TELEGRAM = Area("telegram")
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
        yield TELEGRAM.report_ok("token", "There is no TELEGRAM_BOT_TOKEN: only the HTTP API is served.")
        return
    if not token:
        yield TELEGRAM.report_wrong(
            "token", "It was not asked: there is no TELEGRAM_BOT_TOKEN.", "Ask @BotFather for a bot and set its token."
        )
        return
    base = f"{settings.telegram_api_base.rstrip('/')}/bot{token}"
    async with httpx.AsyncClient(timeout=within) as http:
        me = await _call_method(http, base, "getMe")
        if isinstance(me, Finding):
            yield me
            return
        result, moment = me
        yield TELEGRAM.report_ok("token", f"It is the token of @{to_safe_line(str(result.username))} (number {result.id}).")
        if moment is not None:
            yield compare_clock(TELEGRAM, moment - SystemClock().now())
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
        return TELEGRAM.report_wrong(
            "token", "TELEGRAM_BOT_TOKEN or TELEGRAM_API_BASE has characters that belong into neither.", "Copy it again."
        )
    except httpx.HTTPError as error:
        says = f"Telegram cannot be reached ({type(error).__name__}: {to_safe_line(str(error)) or 'no answer'})."
        return TELEGRAM.report_wrong(
            "reachable", says, "Check TELEGRAM_API_BASE, the name service, the firewall and proxy of this machine."
        )
    except ValueError:
        body = None
    if answer.status_code in {401, 404}:
        mending = "Copy it again from @BotFather; if it was revoked there (/revoke), set the new one."
        return TELEGRAM.report_wrong("token", f"Telegram does not accept TELEGRAM_BOT_TOKEN (HTTP {answer.status_code}).", mending)
    result = body.get("result") if isinstance(body, Mapping) else None
    if answer.status_code != httpx.codes.OK or not isinstance(result, Mapping):
        return TELEGRAM.report_wrong("answer", f"Telegram answers {method} with HTTP {answer.status_code}.", "Try again in a minute.")
    return _Answer.model_validate(result), _parse_date(answer.headers.get("date", ""))


def _parse_date(header: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _check_groups(me: _Answer) -> Finding:
    if not me.can_join_groups:
        return TELEGRAM.report_ok("groups", "The bot cannot be added to groups (@BotFather /setjoingroups).")
    if me.can_read_all_group_messages:
        says = "Privacy mode is off: the bot gets all that is written in its groups, and answers commands, mentions and replies only."
        return TELEGRAM.report_ok("groups", says + " @BotFather /setprivacy switches it on.")
    return TELEGRAM.report_ok(
        "groups", "Privacy mode is on: in groups the bot gets commands, mentions and replies, which is what it answers."
    )


def _check_webhook(ours: str | None, set_now: str) -> Finding:
    """Only the host of a foreign webhook is shown: its path may be a secret. `set_now` is "" for none."""
    host = httpx.URL(set_now).host if set_now else ""
    if ours is None and set_now:
        says = (
            f"A webhook to {host} is set, and this bot polls: it takes the webhook away at its start. Does another program use this token?"
        )
        return TELEGRAM.report_warning("updates", says, "If so, ask @BotFather for a bot of its own; if not, nothing is to be done.")
    if ours is None:
        return TELEGRAM.report_ok("updates", "The bot polls, and no webhook stands in its way.")
    if not set_now:
        return TELEGRAM.report_warning(
            "updates",
            "TELEGRAM_WEBHOOK_URL is set, and Telegram knows of no webhook yet.",
            "Start the bot: it sets the webhook within seconds.",
        )
    if set_now != ours:
        says = f"Telegram posts to {host}, and not where TELEGRAM_WEBHOOK_URL says. Does another program use this token?"
        return TELEGRAM.report_wrong(
            "updates", says, "Stop the other program, or give it a token of its own; a running bot sets its webhook every 5 minutes."
        )
    return TELEGRAM.report_ok("updates", f"Telegram posts to {host}, as TELEGRAM_WEBHOOK_URL says.")


def _check_backlog(info: _Answer, now: datetime) -> Finding:
    waiting, failed = info.pending_update_count, info.last_error_date
    if isinstance(failed, int) and now.timestamp() - failed < _RECENT:
        why = to_safe_line(str(info.last_error_message))
        says = f"Telegram could not post {now.timestamp() - failed:.0f} s ago: {why}. {waiting} updates wait."
        return TELEGRAM.report_wrong("waiting", says, "Look whether the proxy before HTTP_PORT runs, and whether its certificate is valid.")
    if waiting > BACKLOG_LIMIT:
        return TELEGRAM.report_warning(
            "waiting", f"{waiting} updates wait: nobody takes them in.", "Is the bot running? They are worked off after its start."
        )
    return TELEGRAM.report_ok("waiting", f"{waiting} updates wait." if waiting else "Nothing waits.")


AREA = Area("http")
_PATIENCE: Final = 3.0
_PRIVILEGED: Final = 1024
_TOKEN: Final = re.compile(r"[\x21-\x7e]{16,256}")
_ANYWHERE: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - recognised, not bound


async def check_http(settings: Settings) -> AsyncIterator[Finding]:
    yield _check_api_tokens(settings)
    yield _check_event_tokens(settings)
    try:
        hook = parse_webhook(settings.telegram_webhook_url, settings.telegram_webhook_secret)
    except SettingsError as error:
        name, _, what = error.reason.partition(": ")
        yield AREA.report_wrong(
            name, f"{what}.", "See docs/telegram.md; without TELEGRAM_WEBHOOK_URL the bot polls, which needs no address."
        )
        hook = None
    if hook is not None:
        yield AREA.report_ok("TELEGRAM_WEBHOOK_URL", f"Posts to {hook.path} are taken as Telegram's when they carry the secret.")
    if settings.console_secret is not None:
        yield _check_console(settings)
    if not any(
        (settings.event_tokens, settings.telegram_webhook_url, settings.http_api_tokens, settings.metrics_token, settings.console_secret)
    ):
        yield AREA.report_ok("port", "The door is closed: no API, no events, no webhook, no metrics and no console are set up.")
        return
    yield await _check_port(settings.http_host, settings.http_port)
    yield _check_exposure(settings.http_host)
    if settings.http_api_tokens is not None:
        yield _check_callers(settings)


def _check_console(settings: Settings) -> Finding:
    """Whoever can read what goes to a browser can act as that person."""
    try:
        address = parse_console_address(settings.console_url, settings.http_host, settings.http_port)
    except SettingsError as error:
        return AREA.report_wrong("CONSOLE_URL", f"{error.reason.partition(': ')[2]}.", "Correct it, see docs/console.md.")
    parts = urlsplit(address)
    if parts.scheme == "http" and LOOPBACK.fullmatch(parts.hostname or "") is None:
        says = f"Browsers reach the console at {address} without TLS: whoever reads along can act as the person who is logged in."
        return AREA.report_warning("CONSOLE_URL", says, "Put a proxy with TLS in front and name its https address, see docs/console.md.")
    where = "from this machine only; CONSOLE_URL names an address for others" if settings.console_url is None else f"at {address}"
    return AREA.report_ok("CONSOLE_URL", f"The console is open {where}.")


def _check_callers(settings: Settings) -> Finding:
    """Behind a proxy callers must be told apart, so that none is locked out for others' mistakes."""
    try:
        proxies = parse_networks(settings.http_trusted_proxies)
        clients = read_tokens(settings.http_api_tokens, settings.agent_mode)
    except SettingsError as error:
        name, _, what = error.reason.partition(": ")
        return AREA.report_wrong("HTTP_TRUSTED_PROXIES", f"{what}.", f"Correct {name}, see docs/http-api.md.")
    if proxies:
        return AREA.report_ok("HTTP_TRUSTED_PROXIES", f"{len(proxies)} named: callers behind them are told apart.")
    guessable = [client.name for client in clients if client.is_guessable]
    says = "No proxy is named, so all callers behind one count as one address: five wrong tokens of anybody lock it out for 15 minutes"
    risk = (
        f", also for the right token of {', '.join(guessable)}" if guessable else "; your tokens are long enough to be heard all the same"
    )
    mending = "Name the proxy's address. Without a proxy leave it."
    better = " Tokens made with `openssl rand -hex 24` cannot be locked out." if guessable else ""
    return AREA.report_warning("HTTP_TRUSTED_PROXIES", f"{says}{risk}.", f"{mending}{better}")


async def _check_port(host: str, port: int) -> Finding:
    """Not by binding it: a bot that starts at the same moment must find it free."""
    address = "127.0.0.1" if host in _ANYWHERE else host
    at = f"{host}:{port}"
    try:
        async with httpx.AsyncClient(timeout=_PATIENCE, trust_env=False) as http:
            answer = await http.get(f"http://[{address}]:{port}/healthz" if ":" in address else f"http://{address}:{port}/healthz")
    except httpx.ConnectError:
        if port < _PRIVILEGED and os.name == "posix" and os.geteuid() != 0:
            return AREA.report_warning(
                "port", f"{at} is free, and ports below 1024 belong to root.", "Choose an HTTP_PORT above 1023, with a proxy before it."
            )
        return AREA.report_ok("port", f"{at} is free.")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return AREA.report_wrong(
            "port", f"Something at {at} does not answer as the bot does ({type(error).__name__}).", "Choose another HTTP_PORT."
        )
    if answer.status_code == httpx.codes.OK and _is_ours(answer):
        return AREA.report_ok("port", f"The bot is running and answers at {at}.")
    return AREA.report_wrong("port", f"Another program answers at {at}.", "Choose another HTTP_PORT, or stop that program.")


def _is_ours(answer: httpx.Response) -> bool:
    try:
        body = answer.json()
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("ok") is True


def _check_api_tokens(settings: Settings) -> Finding:
    try:
        clients = read_tokens(settings.http_api_tokens, settings.agent_mode)
    except SettingsError as error:
        return AREA.report_wrong("HTTP_API_TOKENS", f"{error.reason.removeprefix('HTTP_API_TOKENS: ')}.", "See docs/http-api.md.")
    if not clients:
        return AREA.report_ok("HTTP_API_TOKENS", "None is set: there is no HTTP API.")
    names = [f"{client.name} ({client.actor.role}, {client.actor.max_mode})" for client in clients]
    return AREA.report_ok("HTTP_API_TOKENS", f"{len(clients)} well formed: {', '.join(names)}.")


def _check_event_tokens(settings: Settings) -> Finding:
    tokens = [token.get_secret_value() for token in settings.event_tokens]
    if not tokens:
        return AREA.report_ok("BITRIX_EVENT_TOKEN", "None is set: changes made in the portal are not told to anybody (docs/events.md).")
    odd = sum(1 for token in tokens if not _TOKEN.fullmatch(token))
    if odd:
        says = f"{odd} of {len(tokens)} tokens cannot be one that the portal made: too short, or with blanks."
        return AREA.report_wrong(
            "BITRIX_EVENT_TOKEN", says, "Copy application_token from the page of the outgoing webhook (docs/events.md)."
        )
    return AREA.report_ok("BITRIX_EVENT_TOKEN", f"{len(tokens)} well formed; whether the portal uses it shows with the first event.")


def _check_exposure(host: str) -> Finding:
    if LOOPBACK.fullmatch(host):
        return AREA.report_ok("way in", f"Only this machine reaches {host}; a proxy with TLS brings in what shall come from outside.")
    says = f"HTTP_HOST={host} can be reached from outside, and the bot speaks plain HTTP: tokens could be read on the way."
    return AREA.report_warning(
        "way in",
        says,
        "Set HTTP_HOST=127.0.0.1 with a TLS proxy before it (docs/install.md). In a container it is right when only the proxy reaches it.",
    )
