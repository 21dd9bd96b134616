"""One look at an employee of the portal, for a command that runs beside the bot. Ring 3; reads only."""

import asyncio
from collections.abc import Mapping
from typing import Any

from bitrix.client import BitrixClient
from bitrix.errors import NotSent, OutcomeUnknown
from bitrix.limiter import Limiter
from bot.portal_auth import build_portal_auth
from bot.settings import Settings
from orchestrator.directory.reference_reads import read_user
from state.clock import SystemClock
from state.sql import open_store
from state.worker import AsyncStore

_TIMEOUT = 15.0
"""Seconds: whoever invites somebody waits for it."""


async def fetch_employee(settings: Settings, user_id: int) -> Mapping[str, Any] | None:
    """The employee as they are now, None for a number that nobody has. Raises BitrixError, SettingsError, StoreError."""
    opened = open_store(settings.database.get_secret_value())  # an application keeps its tokens there
    store, clock = AsyncStore(opened, threads=opened.threads), SystemClock()
    try:
        auth = build_portal_auth(settings, store, clock.now)
        async with BitrixClient(auth, limiter=Limiter(), read_timeout=_TIMEOUT, now=clock.now) as client, asyncio.timeout(_TIMEOUT):
            return await read_user(client, user_id)
    except TimeoutError:
        raise NotSent("the portal does not answer") from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise OutcomeUnknown("the portal's answer cannot be understood") from None
    finally:
        await store.aclose()
