"""The access file denies by default, the portal's own access is chosen by the settings, and every fault of either is one sentence."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bitrix.auth.auth import Auth
from bot.access.access import Access, Person, load_access
from bot.access.access_file import FileNews
from bot.access.portal_auth import build_portal_auth
from bot.settings.loading import load_settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from state.journal.async_store import AsyncStore
from state.sql import build_sqlite_url, open_store

FILE = """
people:
  - {telegram_id: 1007, name: Анна, bitrix_user_id: 7}
  - {telegram_id: 1006, name: Вера, bitrix_user_id: 6, role: lead, mode: canary, time_zone: Asia/Vladivostok, locale: en}
  - {telegram_id: 1009, name: Глеб, sees: [7, 8]}
  - {telegram_id: 1001, name: Админ, role: admin, sees: own}
"""


def test_a_person_gets_exactly_the_rights_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(FILE, encoding="utf-8")
    access = load_access(path)
    assert len(access) == 4
    assert access.find_actor(1007) == Actor(key="tg:1007", name="Анна", bitrix_user_id=7, sees="own", max_mode="full")
    assert access.find_actor(1006) == Actor(
        key="tg:1006", name="Вера", bitrix_user_id=6, role="lead", max_mode="canary", sees="all", time_zone="Asia/Vladivostok", locale="en"
    )
    assert access.find_actor(1009) == Actor(key="tg:1009", name="Глеб", sees=(7, 8))
    assert access.find_actor(1001) == Actor(key="tg:1001", name="Админ", role="admin", sees="own")
    assert access.find_actor(7) is None


@pytest.mark.parametrize("content", [None, "", "people: []"])
def test_without_entries_nobody_has_access(tmp_path: Path, content: str | None) -> None:
    path = None
    if content is not None:
        path = tmp_path / "access.yaml"
        path.write_text(content, encoding="utf-8")
    access = load_access(path)
    assert len(access) == 0
    assert access.find_actor(1007) is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("people: [", "no valid YAML"),
        ("- 1", "keys with values are needed"),
        ("persons: []", "persons"),
        ("people: [{name: Анна}]", "people.0.telegram_id"),
        ("people: [{telegram_id: x1, name: Анна}]", "people.0.telegram_id"),
        ("people: [{telegram_id: 1, name: Анна, role: boss}]", "people.0.role"),
        ("people: [{telegram_id: 1, name: Анна, mode: all}]", "people.0.mode"),
        ("people: [{telegram_id: 1, name: Анна, password: x}]", "people.0.password"),
        ("people: [{telegram_id: 1, name: Анна, time_zone: Mars/Base}]", "people.0.time_zone"),
        ("people: [{telegram_id: 1, name: Анна, time_zone: Europe}]", "people.0.time_zone"),
        ("people: [{telegram_id: 1, name: Анна, time_zone: ../../etc}]", "people.0.time_zone"),
        ("people: [{telegram_id: 1, name: А}, {telegram_id: 1, name: Б, role: admin}]", "telegram_id 1 is listed twice"),
    ],
)
def test_a_faulty_file_is_refused_with_file_and_place(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match="ACCESS_FILE") as caught:
        load_access(path)
    assert told in caught.value.reason


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_access(tmp_path / "missing.yaml")
    odd = tmp_path / "odd.yaml"
    odd.write_bytes("people: []  # Анна".encode("cp1251"))
    with pytest.raises(SettingsError, match="no UTF-8"):
        load_access(odd)


def test_people_may_be_given_without_a_file() -> None:
    assert Access([Person(telegram_id=1, name="А", role="lead")]).find_actor(1) == Actor(key="tg:1", name="А", role="lead", sees="all")


async def test_a_zone_that_the_file_leaves_out_is_the_employees_own() -> None:
    """Asked of the portal for those only; until it answered, Moscow's holds."""
    access = Access(
        [Person(telegram_id=1, name="Вера", bitrix_user_id=8), Person(telegram_id=2, name="Борис", time_zone="Asia/Vladivostok")]
    )
    asked: list[int | None] = []

    async def zone_of(*, user_id: int | None) -> str:
        asked.append(user_id)
        return "Asia/Yekaterinburg"

    assert [access.find_actor(number).time_zone for number in (1, 2)] == ["Europe/Moscow", "Asia/Vladivostok"]  # type: ignore[union-attr]
    await access.fetch_zones(zone_of)
    assert [access.find_actor(number).time_zone for number in (1, 2)] == ["Asia/Yekaterinburg", "Asia/Vladivostok"]  # type: ignore[union-attr]
    assert [person.time_zone for person in access.find_subscribers(8)] == ["Asia/Yekaterinburg"]
    assert asked == [8]


async def test_an_actor_is_built_anew_only_when_the_person_has_changed() -> None:
    """Rights are asked for several times a turn; a change of the file, of the registry or of a time zone counts at the next look."""
    anna = Person(telegram_id=7, name="Анна")
    access = Access([anna])
    first = access.find_actor(7)
    assert access.find_actor(7) is first

    async def tell_zone(**_: object) -> str:
        return "Asia/Omsk"

    await access.fetch_zones(tell_zone)
    moved = access.find_actor(7)
    assert moved is not None
    assert (moved.time_zone, moved.role) == ("Asia/Omsk", "manager")
    access.apply_file_news(FileNews(content="x", people=(anna.model_copy(update={"role": "lead"}),)))
    raised = access.find_actor(7)
    assert raised is not None
    assert (raised.time_zone, raised.role, access.list_people()) == ("Asia/Omsk", "lead", [raised])
    access.apply_file_news(FileNews(content="y", people=()))
    assert access.find_actor(7) is None
    assert access.list_people() == []


WEBHOOK = {"bitrix_webhook_url": "https://portal.example/rest/1/topsecretcode/"}
APPLICATION = {
    "bitrix_portal": "Company.bitrix24.ru",
    "bitrix_oauth_client_id": "local.1",
    "bitrix_oauth_client_secret": "topsecretkey",
    "bitrix_oauth_refresh_token": "topsecrettoken",
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """A database for the tokens."""
    made = AsyncStore(open_store(build_sqlite_url(tmp_path / "sdelka.db")))
    yield made
    await made.aclose()


def auth_of(store: AsyncStore, **given: Any) -> Auth:
    return build_portal_auth(load_settings(_env_file=None, **given), store, lambda: datetime.now(UTC))


@pytest.mark.req("S004-40", "S004-73")
async def test_the_application_is_used_if_there_is_one(store: AsyncStore) -> None:
    """A webhook alone is a webhook; with an application's id the application makes the calls, webhook or not."""
    assert (auth_of(store, **WEBHOOK).is_application, auth_of(store, **WEBHOOK).portal) == (False, "portal.example")
    for given in (APPLICATION, {**APPLICATION, **WEBHOOK}):
        auth = auth_of(store, **given)
        assert (auth.is_application, auth.portal, auth.base_url) == (True, "company.bitrix24.ru", "https://company.bitrix24.ru")
        await auth.aclose()
    local = auth_of(store, **APPLICATION | {"bitrix_portal": "http://127.0.0.1:8100", "bitrix_oauth_base": "http://127.0.0.1:8100"})
    assert local.base_url == "http://127.0.0.1:8100"


@pytest.mark.req("S004-41", "S004-A12")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "the setting is missing: BITRIX_WEBHOOK_URL"),
        ({"bitrix_oauth_client_id": "local.1"}, "missing: BITRIX_PORTAL, BITRIX_OAUTH_CLIENT_SECRET, BITRIX_OAUTH_REFRESH_TOKEN"),
        ({**APPLICATION, "bitrix_oauth_refresh_token": None, **WEBHOOK}, "the setting is missing: BITRIX_OAUTH_REFRESH_TOKEN"),
        ({"bitrix_webhook_url": "http://portal.example/rest/1/topsecretcode/"}, "BITRIX_WEBHOOK_URL: the webhook address must look like"),
        (APPLICATION | {"bitrix_portal": "company.bitrix24.ru/topsecret"}, "BITRIX_PORTAL: the portal must look like company"),
        (APPLICATION | {"bitrix_oauth_base": "http://topsecret.example"}, "BITRIX_OAUTH_BASE: the authorization server's address"),
    ],
)
async def test_what_is_missing_or_wrong_is_named(store: AsyncStore, given: Any, says: str) -> None:
    """One sentence, without a value."""
    with pytest.raises(SettingsError, match=says) as caught:
        auth_of(store, **given)
    assert "topsecret" not in str(caught.value)
