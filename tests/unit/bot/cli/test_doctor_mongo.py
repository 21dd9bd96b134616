"""What the doctor says of the company's Mongo database."""

from pathlib import Path
from typing import Any

import pytest

from bot.cli.doctor.findings import Finding
from bot.cli.doctor.mongo import check_mongo
from bot.cli.doctor.settings_check import build_secret_filter
from bot.settings.settings import Settings
from tests.mongo_kit import LEAVES_SOCKETS, a_mongo_server, quick_driver

__all__ = ["quick_driver"]
pytestmark = LEAVES_SOCKETS


async def look(folder: Path, policy: str = "", **given: Any) -> dict[str, Finding]:
    """The findings by what they are about."""
    file = folder / "policy.yaml"
    file.write_text(policy, encoding="utf-8")
    settings = Settings(_env_file=None, policy_file=file, **given)  # type: ignore[call-arg]  # pydantic-settings takes it
    return {one.check: one async for one in check_mongo(settings, within=0.5)}


async def test_a_server_that_answers_and_open_collections_are_fine(tmp_path: Path) -> None:
    async with a_mongo_server() as server:
        found = await look(tmp_path, "open_kinds: [mongo]\nmongo_collections: [deals, notes]", mongo_url=server.url)
        assert {name: one.verdict for name, one in found.items()} == {"server": "ok", "collections": "ok"}
        assert "deals, notes" in found["collections"].says
        assert server.list_commands("ping")


@pytest.mark.parametrize("policy", ["", "open_kinds: [mongo]", "mongo_collections: [deals]"])
async def test_a_database_that_the_policy_does_not_open_is_warned_of(tmp_path: Path, policy: str) -> None:
    async with a_mongo_server() as server:
        assert (await look(tmp_path, policy, mongo_url=server.url))["collections"].verdict == "warning"


async def test_a_policy_that_opens_mongo_without_a_database_is_warned_of(tmp_path: Path) -> None:
    assert (await look(tmp_path, "open_kinds: [mongo]"))["MONGO_URL"].verdict == "warning"
    assert (await look(tmp_path))["MONGO_URL"].verdict == "ok"


@pytest.mark.parametrize(
    ("url", "check", "says"),
    [
        ("mongodb://127.0.0.1:{port}", "MONGO_URL", "names no database"),
        ("mongodb://127.0.0.1:{port}/crm?tls=ture", "MONGO_URL", "cannot be read"),
        ("mongodb://anna:s3cret%20word@127.0.0.1:{port}/crm?authMechanism=PLAIN", "server", "refuses the name"),
        ("mongodb://127.0.0.1:1/crm?serverSelectionTimeoutMS=1", "server", "does not answer"),
    ],
)
async def test_what_is_wrong_is_said_without_the_password(tmp_path: Path, url: str, check: str, says: str) -> None:
    async with a_mongo_server() as server:
        address = url.format(port=server.port)
        found = (await look(tmp_path, mongo_url=address))[check]
        assert found.verdict == "wrong"
        assert says in found.says
        assert "s3cret" not in found.says + found.mending


async def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    async with a_mongo_server() as server:
        server.order("hang", "ping")
        assert "does not answer" in (await look(tmp_path, mongo_url=server.url))["server"].says


def test_the_password_of_the_address_is_a_secret() -> None:
    settings = Settings(_env_file=None, mongo_url="mongodb://anna:s3cret%20word@host/crm")  # type: ignore[call-arg]  # see above
    assert build_secret_filter(settings)("s3cret%20word, s3cret word") == build_secret_filter(settings)("s3cret%20word, s3cret%20word")
    assert "word" not in build_secret_filter(settings)("s3cret%20word, s3cret word")
