"""What the doctor says of documents and services elsewhere, of callers through a proxy, the console's address, and the company's Mongo database."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.cli.doctor.database import check_mongo
from bot.cli.doctor.doors import check_http
from bot.cli.doctor.engines import check_folder, check_services
from bot.cli.doctor.findings import Finding
from bot.cli.doctor.settings_check import build_secret_filter
from bot.settings.settings import Settings
from tests.mongo_kit import LEAVES_SOCKETS, a_mongo_server, quick_driver
from tests.unit.services.rag.rag_kit import build_service, write_files


def settings(place: Path, **given: Any) -> Settings:
    """The settings of an installation in this folder."""
    return Settings(_env_file=None, rag_docs_dir=place / "docs", state_dir=place / "state", **given)  # type: ignore[call-arg]  # pydantic-settings


def look(place: Path) -> dict[str, Finding]:
    """The findings about the folder, by what they are about."""
    return {one.check: one for one in check_folder(settings(place))}


def test_without_a_folder_nobody_asks_and_nothing_is_wrong(tmp_path: Path) -> None:
    assert {name: one.verdict for name, one in look(tmp_path).items()} == {"RAG_DOCS_DIR": "ok"}


async def test_documents_that_nobody_can_ask_and_a_wrong_access_file_are_named(tmp_path: Path) -> None:
    """Counted are all files; named are those that cannot be read, with the reason, and folders that do not exist."""
    write_files(tmp_path / "docs", {"а.md": "текст документа", "пусто.md": "", "access.yaml": "Сейф: [admin]"})
    async with build_service(tmp_path) as service:
        await service.wait_until_read()
    found = look(tmp_path)
    assert {name: one.verdict for name, one in found.items()} == {"access.yaml": "warning", "RAG_DOCS_DIR": "ok", "unreadable": "warning"}
    assert "holds 2 documents" in found["RAG_DOCS_DIR"].says
    assert "пусто" in found["unreadable"].says
    assert "empty" in found["unreadable"].says
    assert "сейф" in found["access.yaml"].says


async def test_a_service_elsewhere_that_does_not_answer_is_wrong(tmp_path: Path) -> None:
    """Its address stands in the finding only by the name of its setting: it may hold a password."""
    given = settings(tmp_path, rag_service_url="http://anna:s3cret@127.0.0.1:1", haiku_service_url="ftp://x")
    found = {one.check: one async for one in check_services(given)}
    assert {name: one.verdict for name, one in found.items()} == {"RAG_SERVICE_URL": "wrong", "HAIKU_SERVICE_URL": "wrong"}
    assert "s3cret" not in str(found)


STRONG = "site=9f2c41d07ab3e85561c0ffee7d3492be18a6f05c3b7d9e24:manager"
WEAK = "till=sitetokensitetoken:manager"


async def look_at_callers(tokens: str, proxies: str) -> Finding:
    settings = Settings(http_api_tokens=SecretStr(tokens), http_trusted_proxies=proxies, http_port=1, _env_file=None)
    (found,) = [line async for line in check_http(settings) if line.check == "HTTP_TRUSTED_PROXIES"]
    return found


@pytest.mark.req("S004-X10")
async def test_a_proxy_without_a_name_is_warned_of() -> None:
    """With the names of the tokens that a stranger's mistakes would lock out, and how to mend it."""
    found = await look_at_callers(f"{STRONG},{WEAK}", "")
    assert (found.verdict, "till" in found.says, "site" in found.says) == ("warning", True, False)
    assert "openssl rand" in found.mending
    assert "openssl rand" not in (await look_at_callers(STRONG, "")).mending


async def test_named_proxies_are_right_and_misspelt_ones_are_wrong() -> None:
    assert (await look_at_callers(WEAK, "10.0.0.0/8")).verdict == "ok"
    found = await look_at_callers(WEAK, "the proxy")
    assert (found.verdict, "the proxy" in found.says) == ("wrong", True)


async def test_nobody_is_warned_of_proxies_without_an_api() -> None:
    settings = Settings(metrics_token=SecretStr("0123456789abcdef0"), http_port=1, _env_file=None)
    assert [line async for line in check_http(settings) if line.check == "HTTP_TRUSTED_PROXIES"] == []


SECRET = SecretStr("0123456789abcdef0123456789abcdef")


@pytest.mark.req("C-5")
@pytest.mark.parametrize(
    ("url", "host", "verdict", "words"),
    [
        (None, "127.0.0.1", "ok", "this machine only"),
        ("https://bot.company.ru/console", "127.0.0.1", "ok", "https://bot.company.ru/console"),
        ("http://bot.company.ru/console", "127.0.0.1", "warning", "without TLS"),
        ("https://bot.company.ru/", "127.0.0.1", "wrong", "/console"),
        ("https://bot.company.ru/console?x=1", "127.0.0.1", "wrong", "/console"),
        ("bot.company.ru", "127.0.0.1", "wrong", "/console"),
    ],
)
async def test_the_address_of_the_console_is_judged(url: str | None, host: str, verdict: str, words: str) -> None:
    """A wrong address is named with the right form, one without TLS is warned of."""
    settings = Settings(console_secret=SECRET, console_url=url, http_host=host, http_port=1, _env_file=None)

    [found] = [line async for line in check_http(settings) if line.check == "CONSOLE_URL"]

    assert (found.verdict, words in found.says + found.mending) == (verdict, True), found


async def test_without_a_secret_nothing_is_said_of_a_console() -> None:
    """An installation without a console reads nothing of it."""
    settings = Settings(http_port=1, _env_file=None)

    assert [line async for line in check_http(settings) if line.check == "CONSOLE_URL"] == []


__all__ = ["quick_driver"]


async def look_at_mongo(folder: Path, policy: str = "", **given: Any) -> dict[str, Finding]:
    """The findings by what they are about."""
    file = folder / "policy.yaml"
    file.write_text(policy, encoding="utf-8")
    settings = Settings(_env_file=None, policy_file=file, **given)  # type: ignore[call-arg]  # pydantic-settings takes it
    return {one.check: one async for one in check_mongo(settings, within=0.5)}


@LEAVES_SOCKETS
async def test_a_server_that_answers_and_open_collections_are_fine(tmp_path: Path) -> None:
    async with a_mongo_server() as server:
        found = await look_at_mongo(tmp_path, "open_kinds: [mongo]\nmongo_collections: [deals, notes]", mongo_url=server.url)
        assert {name: one.verdict for name, one in found.items()} == {"server": "ok", "collections": "ok"}
        assert "deals, notes" in found["collections"].says
        assert server.list_commands("ping")


@LEAVES_SOCKETS
@pytest.mark.parametrize("policy", ["", "open_kinds: [mongo]", "mongo_collections: [deals]"])
async def test_a_database_that_the_policy_does_not_open_is_warned_of(tmp_path: Path, policy: str) -> None:
    async with a_mongo_server() as server:
        assert (await look_at_mongo(tmp_path, policy, mongo_url=server.url))["collections"].verdict == "warning"


@LEAVES_SOCKETS
async def test_a_policy_that_opens_mongo_without_a_database_is_warned_of(tmp_path: Path) -> None:
    assert (await look_at_mongo(tmp_path, "open_kinds: [mongo]"))["MONGO_URL"].verdict == "warning"
    assert (await look_at_mongo(tmp_path))["MONGO_URL"].verdict == "ok"


@LEAVES_SOCKETS
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
        found = (await look_at_mongo(tmp_path, mongo_url=address))[check]
        assert found.verdict == "wrong"
        assert says in found.says
        assert "s3cret" not in found.says + found.mending


@LEAVES_SOCKETS
async def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    async with a_mongo_server() as server:
        server.order("hang", "ping")
        assert "does not answer" in (await look_at_mongo(tmp_path, mongo_url=server.url))["server"].says


@LEAVES_SOCKETS
def test_the_password_of_the_address_is_a_secret() -> None:
    settings = Settings(_env_file=None, mongo_url="mongodb://anna:s3cret%20word@host/crm")  # type: ignore[call-arg]  # see above
    assert build_secret_filter(settings)("s3cret%20word, s3cret word") == build_secret_filter(settings)("s3cret%20word, s3cret%20word")
    assert "word" not in build_secret_filter(settings)("s3cret%20word, s3cret word")
