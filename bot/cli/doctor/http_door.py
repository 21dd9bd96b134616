"""The HTTP server's settings: tokens, its port, and whether other machines reach it. It binds no port."""

import os
import re
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

import httpx

from bitrix.auth.auth import LOOPBACK
from bot.cli.doctor.findings import Area, Finding
from bot.http_api.server.authentication import parse_networks
from bot.http_api.server.tokens import read_tokens
from bot.settings.settings import Settings, parse_console_address, parse_webhook
from orchestrator.domain.errors import SettingsError

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
