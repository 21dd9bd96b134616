"""`sdelka policy replay` as ops use it: a table and sentences, lines for machines, exit code 2 with every mistake."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.policy import app
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from state.events.people import PersonJoined
from state.journal.store import Commit
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import BORIS, NOW, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import CODE, WEBHOOK

ACCESS = """
people:
  - {telegram_id: 1007, name: Анна, bitrix_user_id: 7}
"""


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The environment of an installation with its own database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.yaml").write_text(ACCESS, encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", build_sqlite_url(tmp_path / "sdelka.db"))
    monkeypatch.setenv("ACCESS_FILE", str(tmp_path / "access.yaml"))
    monkeypatch.setenv("BITRIX_WEBHOOK_URL", WEBHOOK)
    monkeypatch.setenv("COLUMNS", "240")
    return tmp_path


def sdelka(*words: str) -> tuple[int, str]:
    root = typer.Typer()
    root.add_typer(app, name="policy")
    made = CliRunner().invoke(root, ["policy", "replay", *words])
    if isinstance(made.exception, SettingsError):
        return 2, made.exception.reason  # as bot.cli.app.main does
    return made.exit_code, made.output


async def recorded(folder: Path) -> None:
    """Two days of shadow mode: a task, a sum, a deletion; and a link with a secret that somebody pasted."""
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    async with a_world(folder, mode="shadow", store=store) as world:
        world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}}), raise_sum()))
        await world.work(message("поставь задачу и подними сумму сделки 481"))
        world.model.will(reply(step("crm.deal.erase", {"id": 481, "link": f"{WEBHOOK}crm.deal.get"})), reply(text="Нельзя."))
        await world.work(message("удали сделку 481"))


async def test_the_table_and_the_sentences(settings: Path) -> None:
    """Names, then and now, reasons and the count in words; no secret of a link."""
    await recorded(settings)
    code, shown = sdelka()
    assert code == 0, shown
    assert "2 plans with 3 steps. In mode full: 1 would have been refused, 1 asked, 1 run at once." in shown
    assert "1 steps depend on values that were not recorded: counted as asked." in shown
    for word in ("Анна", "crm.deal.update", "planned", "asked *", "OPPORTUNITY of an existing record changes.", "By person"):
        assert word in shown
    assert CODE not in shown
    assert re.search(r"^2026-11-21 \d\d:\d\d:\d\dZ │ Анна", shown, re.MULTILINE)
    assert re.search(r"^2026-11-21 \d\d:\d\d:\d\dZ to 2026-11-21 \d\d:\d\d:\d\dZ: 2 plans", shown, re.MULTILINE)


async def test_rows_stand_in_order_of_time(settings: Path) -> None:
    """Also where the conversations of two people were mixed."""
    store = open_store(build_sqlite_url(settings / "sdelka.db"))
    async with a_world(settings, mode="shadow", store=store) as world:
        for number in range(4):
            world.model.will(reply(raise_sum(100 + number)), *([reply(text="Нельзя.")] if number % 2 else []))
            await world.work(message(f"сумма {number}", **({"actor": BORIS, "key": BORIS.key} if number % 2 else {})))
            world.clock.advance(timedelta(minutes=1))
    _, shown = sdelka()
    times = [line[:20] for line in shown.splitlines() if re.match(r"2026-11-21 \d\d:\d\d:\d\dZ │", line)]
    assert len(times) == 4
    assert times == sorted(times)


async def test_lines_for_machines(settings: Path) -> None:
    """One object a plan, the summary last; `--since` in the future leaves none."""
    await recorded(settings)
    code, shown = sdelka("--json", "--mode", "canary")
    lines = [json.loads(line) for line in shown.splitlines()]
    assert code == 0
    assert [line["kind"] for line in lines] == ["plan", "plan", "summary"]
    assert [(one["then"], one["now"]) for one in lines[0]["steps"]] == [("planned", "allowed"), ("planned", "refused")]
    assert lines[0]["steps"][1]["reasons"][0]["code"] == "gate-mode"
    assert lines[-1]["now"]["refused"] == 2
    assert lines[-1]["mode"] == "canary"
    code, shown = sdelka("--since", "2999-01-01")
    assert (code, shown.strip()) == (0, "No plan was recorded in that time.")
    code, shown = sdelka("--since", "2026-11-21", "--json")
    assert json.loads(shown.splitlines()[-1])["plans"] == 2


SITE = Actor(key="http:site", name="site", role="manager", sees="own", bitrix_user_id=7)


async def recorded_by_token(folder: Path) -> None:
    """A program asks for two changes: of a deal of its employee, and for a task."""
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    async with a_world(folder, mode="shadow", store=store) as world:
        world.model.will(reply(raise_sum(), step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})))
        await world.work(message("поставь задачу и подними сумму сделки 481", actor=SITE, key="http:site:42"))


@pytest.mark.req("S004-62")
async def test_what_tokens_proposed_is_judged_with_the_rights_of_the_token(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its employee and language of the access file and the mode of its entry; a token that was taken away is not judged."""
    await recorded_by_token(settings)
    (settings / "access.yaml").write_text(ACCESS + "http_tokens: [{name: site, bitrix_user_id: 7}]\n", encoding="utf-8")
    monkeypatch.setenv("HTTP_API_TOKENS", "site=s3cr3t-0123456789abcdef:manager:full")
    code, shown = sdelka("--json")
    assert [step["now"] for step in json.loads(shown.splitlines()[0])["steps"]] == ["asked", "allowed"], shown
    monkeypatch.setenv("HTTP_API_TOKENS", "site=s3cr3t-0123456789abcdef:manager:canary")
    assert [one["now"] for one in json.loads(sdelka("--json")[1].splitlines()[0])["steps"]] == ["refused", "allowed"]
    monkeypatch.setenv("HTTP_API_TOKENS", "other=s3cr3t-0123456789abcdef")
    code, shown = sdelka()
    assert (code, "2 not judged, because the person has no access today" in shown) == (0, True)


async def test_what_people_who_joined_proposed_is_judged(settings: Path) -> None:
    """They stand in the database, not in the access file."""
    store = open_store(build_sqlite_url(settings / "sdelka.db"))
    lease = store.acquire("access", "test", NOW, NOW + timedelta(seconds=5))
    assert lease is not None
    joined = PersonJoined(person=BORIS.key, name="Борис", role="lead", bitrix_user_id=8, by="tg:1")
    store.commit(Commit(stream="session:access", epoch=lease.epoch, actor="tg:1", now=NOW, events=[joined]))
    store.release(lease)
    async with a_world(settings, mode="shadow", store=store) as world:
        world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})))
        await world.work(message("поставь задачу", actor=BORIS, key=BORIS.key))
    _, shown = sdelka("--json")
    assert [json.loads(line).get("name") for line in shown.splitlines()[:1]] == ["Борис"]
    assert json.loads(shown.splitlines()[-1])["now"]["not judged"] == 0


async def test_a_denial_is_known_again_by_the_portal_of_the_settings(settings: Path) -> None:
    """The same wish after a denial: the rehearsal recognises it as the gate does."""
    store = open_store(build_sqlite_url(settings / "sdelka.db"))
    async with a_world(settings, store=store) as world:
        for _ in range(2):
            world.model.will(reply(raise_sum()))
            await world.work(message("подними сумму сделки 481"))
            await world.work(press(dict(world.outbox()[-1].body), approve=False))
    _, shown = sdelka("--json")
    codes = [{reason["code"] for reason in json.loads(line)["steps"][0]["reasons"]} for line in shown.splitlines()[:2]]
    assert codes == [{"gate-critical"}, {"gate-critical", "gate-denied-before"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ask_above: -1\nhalt_on_blok: true\n", ["line 1: `ask_above`", "line 2: `halt_on_blok`: no such key", "'halt_on_block'"]),
        (
            "refuse_methods: [crm.deal.remove]\nask_methods: [crm.dael.add]\n",
            ["line 1: `refuse_methods`: 'crm.deal.remove'", "line 2: `ask_methods`: 'crm.dael.add'"],
        ),
        ("ask_above: [\n", ["not valid YAML"]),
        ("catalogue:\n  - {name: crm.deal.get, classes: [R], verb: get, idempotent: true}\n", ["crm.deal.get"]),
        ("catalogue:\n  - {name: crm.x.add}\n", ["line 2: `catalogue.0.classes`"]),
    ],
)
async def test_a_faulty_policy_is_refused_with_every_mistake_and_its_place(settings: Path, text: str, said: list[str]) -> None:
    """Exit code 2, and all of it at once."""
    await recorded(settings)
    (settings / "new.yaml").write_text(text, encoding="utf-8")
    code, shown = sdelka("--policy", "new.yaml")
    assert code == 2
    for words in ("new.yaml", *said):
        assert words in shown


@pytest.mark.parametrize("words", [("--since", "gestern"), ("--mode", "some"), ("--policy", "absent.yaml"), ("--since", "99999999999d")])
async def test_wrong_use_is_exit_code_2(settings: Path, words: tuple[str, ...]) -> None:
    """A time, a mode and a file that are none."""
    await recorded(settings)
    assert sdelka(*words)[0] == 2


def test_no_database_is_exit_code_2(settings: Path) -> None:
    """Nothing to read is said, not shown as nothing recorded."""
    assert sdelka()[0] == 2
