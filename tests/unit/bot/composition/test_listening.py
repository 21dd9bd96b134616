"""The start with the receiver of events: without a token no port, a busy port is one sentence, and who listens is in the access file."""

import socket
from typing import Any

import pytest

from bot.access.access import Access, Person
from bot.composition.http_port import HttpParts, open_http_port
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.runs.registry import Engines
from tests.unit.spine_kit import World


class _Polling:
    """A door that Telegram posts nothing to."""

    def build_router(self) -> None:
        """Nothing."""


NO_POSTS: Any = _Polling()


def settings(**over: Any) -> Settings:
    return Settings(_env_file=None, **over)


def _parts(of: Settings, world: World) -> HttpParts:
    return HttpParts(settings=of, orchestrator=world.orchestrator, clock=world.clock, engines=Engines(), telegram=NO_POSTS)


async def test_without_a_token_no_port_is_opened_and_nothing_is_asked(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = settings(http_port=taken.getsockname()[1], bitrix_event_token=" , ")
        async with open_http_port(_parts(busy, world)) as events:
            assert events is None
    assert world.portal.requests == []


async def test_a_busy_port_is_one_sentence_before_anything_begins(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = settings(http_port=taken.getsockname()[1], bitrix_event_token="secret-token")
        with pytest.raises(SettingsError, match="HTTP_HOST and HTTP_PORT") as caught:
            async with open_http_port(_parts(busy, world)):
                pass
    assert "secret-token" not in str(caught.value)
    assert await world.orchestrator.is_idle()


def test_who_listens_for_an_employee() -> None:
    """Everybody who has that number and does not say no; a stranger's number is nobody's."""
    quiet = Person(telegram_id=3, name="Глеб", bitrix_user_id=7, notify="none")
    access = Access(
        [Person(telegram_id=1, name="Анна", bitrix_user_id=7), Person(telegram_id=2, name="Анна дома", bitrix_user_id=7), quiet]
    )
    assert [actor.key for actor in access.find_subscribers(7)] == ["tg:1", "tg:2"]
    assert access.find_subscribers(8) == []
    assert access.list_watched_users() == [7]
    assert Access([quiet, Person(telegram_id=4, name="Без номера")]).list_watched_users() == []
