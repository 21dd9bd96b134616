"""One audit log for each `user_id` that a token of the HTTP API names: written, shown, rebuilt and erased (S004-48)."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.logs import app
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.interaction_log import InteractionLogger, erase_user, list_users, read_records
from state.audit_log.records import build_log_path, find_log_owner, find_log_user, is_log_of
from state.clock import SystemClock
from state.sql import open_store
from tests.unit.bot.http_api.chat_kit import CHIEF, SHOP, a_door
from tests.unit.reports.erasing_kit import LATER, Home, a_command, a_home, often, opened, run  # noqa: F401 - fixtures among them
from tests.unit.spine_kit import raise_sum, reply

LONG = "client-" * 18
"""A user whose name is too long for a file: it stands there as a hash."""
SITE_LOGS = ["http:site:42", "http:site:43", f"http:site:{LONG}"]


async def talk(home: Home) -> None:
    """Three users of the site and one of the shop, of whom two have the same id; a card is decided by another token."""
    async with a_door(home.folder, store=open_store(home.url)) as door:
        door.world.model.will(reply(raise_sum(), text="Поднимаю."))
        [card] = (await door.chat("подними сумму сделки 481", "42")).json()["waiting"]
        decision = {"decision": "approve", "fingerprint": card["fingerprint"]}
        await door.http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": CHIEF})
        for user in ("43", LONG):
            door.world.model.will(reply(text="Хорошо."))
            await door.chat(f"привет от {user[:6]}", user)
        door.world.model.will(reply(text="Хорошо."))
        await door.chat("привет из магазина", "42", token=SHOP)
        await door.world.idle()


def told(folder: Path) -> dict[str, list[tuple[Any, Any]]]:
    """By user: what is told of what was asked."""
    return {user: [(one["type"], one.get("session")) for one in read_records(folder, user)] for user in sorted(list_users(folder))}


@pytest.mark.req("S004-48")
async def test_each_user_of_a_token_has_a_log_of_their_own(home: Home) -> None:
    """The ids of two tokens are not the same user; what a token decides about cards of others is in its own."""
    await talk(home)
    logs = home.folder / "logs"
    assert told(logs) == {
        "http:chief": [("decision", "http:site:42")],
        "http:shop:42": [("iteration", "http:shop:42")],
        **{user: [("iteration", user)] * (2 if user == "http:site:42" else 1) for user in SITE_LOGS},  # one went on after its card
    }
    assert {record["user"] for record in read_records(logs, "http:site:42")} == {"http:site:42"}
    with opened(home) as store:
        assert list(verify_logs(store, logs, now=LATER)) == []


async def test_rebuilt_logs_have_the_same_users(home: Home, tmp_path: Path) -> None:
    await talk(home)
    with opened(home) as store:
        assert rebuild_logs(store, tmp_path / "new").keys() == told(home.folder / "logs").keys()
        assert rebuild_logs(store, tmp_path / "site", user="http:site").keys() == set(SITE_LOGS)
    assert told(tmp_path / "new") == told(home.folder / "logs")


async def test_erasing_a_token_removes_the_logs_of_all_its_users(home: Home, command: Any) -> None:
    """Also the one that it had before its users had some, and that of a long id; nobody erases a single user by mistake."""
    await talk(home)
    logs = home.folder / "logs"
    InteractionLogger(logs, clock=SystemClock()).record(
        "http:site", {"type": "iteration", "session": "http:site:42", "user_message": "давно"}
    )
    code, shown = command("http:site:42", "--yes")
    assert (code, "erase http:site" in shown) == (2, True)
    found, done = run(home, "http:site")
    assert (found.log_records, done.removed["log records"], done.remains) == (5, 5, ())
    assert sorted(list_users(logs)) == ["http:chief", "http:shop:42"]


def call_logs(home: Home, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setenv("LOG_DIR", str(home.folder / "logs"))
    monkeypatch.setenv("STATE_DIR", str(home.folder / "state"))
    monkeypatch.setenv("COLUMNS", "300")
    root = typer.Typer()
    root.add_typer(app, name="logs")
    made = CliRunner().invoke(root, ["logs", *words])
    return made.exception.reason if isinstance(made.exception, SettingsError) else made.output


async def test_the_commands_know_a_token_and_its_users(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show` of a token merges its logs in order of time; of a user it shows that one."""
    await talk(home)
    sdelka = partial(call_logs, home, monkeypatch)
    for words in (("show", "http:site"), ("tail", "http:site")):
        shown = sdelka(*words)
        assert [text in shown for text in ("сделки 481", "от 43", "от client", "магазина")] == [True, True, True, False]
    assert ["от 43" in sdelka("show", f"http:site:{user}") for user in ("43", "42")] == [True, False]
    assert "whole" in sdelka("verify", "--user", "http:site")
    assert "no audit log" in sdelka("show", "http:nobody")


async def test_a_rebuilt_token_tells_nothing_twice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own log, from before its users had some, goes into the folder of what was replaced: their logs have its records now."""
    await talk(home)
    logs, before = home.folder / "logs", told(home.folder / "logs")
    for record in list(read_records(logs, "http:site:42")):
        InteractionLogger(logs, clock=SystemClock()).record("http:site", {**record, "user": "http:site"})
    assert erase_user(logs, "http:site:42")
    assert "rebuilt in" in call_logs(home, monkeypatch, "rebuild", "http:site", "--replace")
    assert told(logs) == before
    [replaced] = home.folder.glob("logs-replaced-*")
    assert sorted(list_users(replaced)) == sorted({"http:site", *SITE_LOGS} - {"http:site:42"})
    assert "whole" in call_logs(home, monkeypatch, "verify")


async def test_each_log_that_is_gone_is_missed_by_the_journal(home: Home) -> None:
    """Of users of tokens and of who only decided; a token's own log counts for what it told before its users had logs."""
    await talk(home)
    logs = home.folder / "logs"
    users = sorted(list_users(logs))
    [shop] = read_records(logs, "http:shop:42")
    with opened(home) as store:
        for number, user in enumerate(users, start=1):
            assert erase_user(logs, user)
            assert [(finding.kind, finding.place) for finding in verify_logs(store, logs, now=LATER)] == [
                ("missing", one) for one in users[:number]
            ]
        InteractionLogger(logs, clock=SystemClock()).record("http:shop", {**shop, "user": "http:shop"})
        assert "http:shop:42" not in [finding.place for finding in verify_logs(store, logs, now=LATER)]
        assert list(verify_logs(store, logs, "http:shop:42", now=LATER)) == []


@pytest.mark.parametrize(
    ("person", "session", "user"),
    [
        ("tg:7", "tg:-100", "tg:7"),
        ("http:site", "http:site:42", "http:site:42"),
        ("http:site", "http:site", "http:site"),
        ("http:site", "http:site2:42", "http:site"),
        ("http:site", "run:1", "http:site"),
        ("http:site", "http:site:a:b", "http:site:a:b"),
    ],
)
def test_whose_log_holds_what(person: str, session: str, user: str) -> None:
    assert find_log_user(person, session) == user
    assert find_log_owner(user) == person
    assert is_log_of(build_log_path(Path(), user).name, person)
    assert not is_log_of(build_log_path(Path(), user).name, "http:sit")
