"""`sdelka invite` and `sdelka people` as ops use them, against a Telegram and a portal on the loopback, beside a bot and without one."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli.invite import app, people
from orchestrator.domain.errors import SettingsError
from orchestrator.features.people.registry import build_proof
from state.sql import open_store
from state.sql.dialect import build_sqlite_url
from tests.unit.features.people.people_kit import GLEB, STREAM, an_office, brings
from tests.unit.spine_portal import user

TOKEN = "42:SECRET-TOKEN"
ACCESS = "people: [{telegram_id: 1001, name: Ольга, role: admin, bitrix_user_id: 1}, {telegram_id: 1007, name: Анна, bitrix_user_id: 7}]"


class _Wire(BaseHTTPRequestHandler):
    """getMe and user.get."""

    users: tuple[dict[str, Any], ...] = (user(8, "Глеб", "Седов"), user(9, "Пётр", "Ушёл") | {"ACTIVE": False})

    def do_GET(self) -> None:
        known = self.path == f"/bot{TOKEN}/getMe"
        self._answer(200 if known else 401, {"ok": known, "result": {"id": 42, "username": "Sdelka_Bot"}} if known else {"ok": False})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, {"result": list(self.users), "total": 2})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(name="wire")
def a_wire() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Wire) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(name="home")
def a_home(tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the settings of an installation whose bot has run once."""
    told = {
        "STATE_DIR": tmp_path, "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_BASE": wire, "BITRIX_WEBHOOK_URL": f"{wire}/rest/1/sandbox/",
        "ACCESS_FILE": tmp_path / "access.yaml",
    }  # fmt: skip
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.yaml").write_text(ACCESS, encoding="utf-8")
    open_store(build_sqlite_url(tmp_path / "sdelka.db")).close()
    return tmp_path


def called(*arguments: str, command: Any = app) -> tuple[int, str]:
    """Exit code and all that was shown."""
    result = CliRunner().invoke(command, list(arguments))
    if isinstance(result.exception, SettingsError):  # as bot.cli.app tells it
        return 2, f"{result.output}{result.exception.reason}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert TOKEN not in result.output
    return result.exit_code, result.output


async def beside(*arguments: str, command: Any = app) -> tuple[int, str]:
    """The same beside a bot that runs: a command has a loop of its own."""
    return await asyncio.to_thread(called, *arguments, command=command)


def listed() -> dict[str, dict[str, Any]]:
    code, shown = called("--json", command=people)
    assert code == 0
    return {row["key"]: row for row in map(json.loads, shown.splitlines())}


async def test_a_link_is_shown_once_and_works_once_the_bot_runs(home: Path) -> None:
    """Made while no bot runs and while one does; nothing in the database is the token, or tells the name."""
    url = build_sqlite_url(home / "sdelka.db")
    code, shown = await beside("--bitrix-user", "8", "--role", "lead")
    assert code == 0
    link = shown.splitlines()[0]
    assert link.startswith("https://t.me/Sdelka_Bot?start=")
    token = link.partition("=")[2]
    assert len(token) == 64
    assert "For Глеб Седов (employee 8), role lead. Works once, until " in shown
    assert token.encode() not in (home / "sdelka.db").read_bytes() + _wal(home)
    assert "Глеб".encode() not in (home / "sdelka.db").read_bytes() + _wal(home)
    async with an_office(home / "bot", store=open_store(url)) as office:
        code, second = await beside("--bitrix-user", "8", "--name", "Глеб Младший", "--json")
        assert code == 0
        assert json.loads(second)["name"] == "Глеб Младший"
        await office.work()
        assert office.types() == ["PersonInvited", "PersonInvited"]
        open_links = {key: row for key, row in listed().items() if key.startswith("invite:")}
        assert {row["role"] for row in open_links.values()} == {"lead", "manager"}
        assert f"invite:{build_proof(token).fingerprint[:8]}" in open_links
        await office.work(brings(token))
        actor = office.access.find_actor(GLEB)
        assert (actor.name, actor.role, actor.bitrix_user_id) == ("Глеб Седов", "lead", 8)


def _wal(home: Path) -> bytes:
    path = home / "sdelka.db-wal"
    return path.read_bytes() if path.exists() else b""


async def test_the_list_names_everybody_and_who_is_removed_is_out(home: Path) -> None:
    """Who stands in the file is taken out there; a key that nobody has is exit code 1."""
    async with an_office(home / "bot", store=open_store(build_sqlite_url(home / "sdelka.db"))) as office:
        token = (await beside("--bitrix-user", "8"))[1].splitlines()[0].partition("=")[2]
        await office.work(brings(token))
        office.portal.dismiss(7)
        await office.start()
        rows = listed()
        assert {key: (row["name"], row["access"].partition(" ")[0]) for key, row in rows.items()} == {
            "tg:1001": ("Ольга", "yes"), "tg:1007": ("Анна", "no:"), "tg:666": ("Глеб Седов", "yes"),
        }  # fmt: skip
        assert rows["tg:666"]["listed by"].startswith("cli:")
        code, shown = called(command=people)
        assert (code, "Глеб Седов" in shown) == (0, True)
        code, shown = called("remove", "tg:1007", command=people)
        assert (code, "take them out there, a running bot follows within seconds" in shown, "start" in shown) == (2, True, False)
        assert called("remove", "tg:5", command=people)[0] == 1
        assert called("remove", "666", command=people)[0] == 0
        await office.work()
        assert office.access.find_actor(GLEB) is None
        assert "tg:666" not in listed()
        assert office.world.sql.read_events(STREAM)[-1].data["by"].startswith("cli:")


async def test_a_second_account_of_an_employee_needs_a_word_more(home: Path) -> None:
    """Of one whom the file lists, and of one who joined: who it is stands in the sentence, and nothing is stored without the flag."""
    async with an_office(home / "bot", store=open_store(build_sqlite_url(home / "sdelka.db"))) as office:
        code, shown = await beside("--bitrix-user", "7")
        assert (code, "employee 7 has access already (tg:1007, Анна): give --second-account" in shown) == (2, True), shown
        await office.work(brings((await beside("--bitrix-user", "8"))[1].splitlines()[0].partition("=")[2]))
        code, shown = await beside("--bitrix-user", "8", "--role", "lead")
        assert (code, "(tg:666, Глеб Седов)" in shown, "nothing was changed" in shown) == (2, True, True), shown
        await office.work()
        assert office.types().count("PersonInvited") == 1
        assert (await beside("--bitrix-user", "8", "--second-account"))[0] == 0
        await office.work()
        assert office.types().count("PersonInvited") == 2


@pytest.mark.parametrize(
    ("arguments", "settings", "told"),
    [
        (["--bitrix-user", "9"], {}, "employee 9 (Пётр Ушёл) was dismissed in Bitrix24; nothing was changed"),
        (["--bitrix-user", "77"], {}, "Bitrix24 has no employee 77; nothing was changed"),
        (["--bitrix-user", "8"], {"TELEGRAM_BOT_TOKEN": ""}, "TELEGRAM_BOT_TOKEN"),
        (["--bitrix-user", "8"], {"TELEGRAM_BOT_TOKEN": "43:OTHER"}, "Telegram does not accept it"),
        (["--bitrix-user", "8"], {"TELEGRAM_API_BASE": "http://127.0.0.1:1"}, "Telegram does not answer"),
        (["--bitrix-user", "8"], {"STATE_DIR": "/nonexistent-state"}, "the database cannot be read"),
        (["--bitrix-user", "0"], {}, "Invalid value"),
        (["--bitrix-user", "8", "--role", "boss"], {}, "Invalid value"),
        (["--bitrix-user", "8", "--hours", "0"], {}, "Invalid value"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], settings: dict[str, str], told: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    code, shown = called(*arguments)
    assert (code, told in shown) == (2, True), shown
    assert "SECRET-TOKEN" not in shown
    store = open_store(build_sqlite_url(home / "sdelka.db"))
    assert store.list_ready_sessions() == []
    store.close()


@pytest.mark.slow
def test_a_portal_out_of_reach_is_said_and_hinders_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a missing webhook; the name is then what ops gave."""
    for address in ("http://127.0.0.1:1/rest/1/sandbox/", ""):
        monkeypatch.setenv("BITRIX_WEBHOOK_URL", address)
        code, shown = called("--bitrix-user", "8", "--name", "Глеб")
        assert code == 0
        assert "Bitrix24 could not be asked about employee 8" in shown
        assert "For Глеб (employee 8)" in shown
        assert "/rest/1/sandbox" not in shown
