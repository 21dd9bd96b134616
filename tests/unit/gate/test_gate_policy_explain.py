"""`sdelka policy explain` and `check`: the verdict with the line that says so, for people and for programs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.policy import app
from orchestrator.domain.errors import SettingsError
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import a_world, message, raise_sum, reply
from tests.unit.spine_portal import WEBHOOK

ACCESS = """
people:
  - {telegram_id: 1007, name: Анна, bitrix_user_id: 7}
  - {telegram_id: 1006, name: Вера, role: lead, bitrix_user_id: 6}
"""
POLICY = """ask_people: [tg:1007]
refuse_methods: [crm.lead.add]
critical_fields: [UF_CRM_DISCOUNT]
rules:
  - entity: deal
    above: 2000000
    role: manager
    then: lead
    why: Дороже 2 млн
  - {method: crm.contact.update, then: refuse, why: Контакты ведёт офис}
"""


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installation with people, a policy and an empty database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.yaml").write_text(ACCESS, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(POLICY, encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", build_sqlite_url(tmp_path / "sdelka.db"))
    monkeypatch.setenv("ACCESS_FILE", str(tmp_path / "access.yaml"))
    monkeypatch.setenv("POLICY_FILE", str(tmp_path / "mine.yaml"))
    monkeypatch.setenv("BITRIX_WEBHOOK_URL", WEBHOOK)
    monkeypatch.setenv("AGENT_MODE", "full")
    monkeypatch.setenv("COLUMNS", "240")
    return tmp_path


def sdelka(*words: str) -> tuple[int, str]:
    root = typer.Typer()
    root.add_typer(app, name="policy")
    made = CliRunner().invoke(root, ["policy", *words])
    if isinstance(made.exception, SettingsError):
        return 2, made.exception.reason  # as bot.cli.app.main does
    return made.exit_code, made.output


def told(*words: str) -> dict[str, Any]:
    code, shown = sdelka("explain", *words, "--json")
    assert code == 0, shown
    line: dict[str, Any] = json.loads(shown)
    return line


@pytest.mark.parametrize(
    ("words", "verdict", "taps", "sources"),
    [
        (
            "--method crm.deal.update --field OPPORTUNITY --amount 2500000 --before 2000000 --person tg:1007",
            "asked of a lead",
            1,
            {"mine.yaml:1: ask_people", "catalogue: crm.deal.update: critical", "mine.yaml:5: rules.0"},
        ),
        (
            "--method crm.deal.update --amount 1500000 --before 1400000 --person tg:1006",
            "asked",
            1,
            {"catalogue: crm.deal.update: critical"},
        ),
        (
            "--method crm.deal.update --amount 1500000 --before 100000 --person tg:1006",
            "asked",
            2,
            {"catalogue: crm.deal.update: critical", "policy.yaml:18: sum_jump"},
        ),
        (
            "--method crm.deal.productrows.set --amount 2500000 --person tg:1006",
            "asked",
            1,
            {"catalogue: crm.deal.productrows.set: classes", "catalogue: crm.deal.productrows.set: critical"},
        ),
        (
            "--method crm.item.productrow.set --amount 2500000",
            "asked of a lead",
            1,
            {"catalogue: crm.item.productrow.set: classes", "catalogue: crm.item.productrow.set: critical", "mine.yaml:5: rules.0"},
        ),
        (
            "--method crm.deal.update --amount 30000 --currency usd --before 1000000",
            "asked of a lead",
            2,
            {"catalogue: crm.deal.update: critical", "policy.yaml:18: sum_jump", "mine.yaml:5: rules.0"},
        ),
        ("--method crm.deal.update --field UF_CRM_DISCOUNT", "asked", 1, {"mine.yaml:3: critical_fields"}),
        ("--method crm.contact.update --field NAME", "refused", 0, {"mine.yaml:10: rules.1"}),
        ("--method crm.lead.add --person tg:1006", "refused", 0, {"mine.yaml:2: refuse_methods"}),
        ("--method crm.deal.delete", "refused", 0, {"policy.yaml:5: open_methods"}),
        ("--method crm.deal.get", "run at once", 0, {"built in"}),
        ("--method crm.timeline.comment.update --field COMMENT", "asked", 1, {"catalogue: crm.timeline.comment.update: asks"}),
        (
            "--method calendar.event.update --field name --person tg:1007",
            "asked",
            1,
            {"catalogue: calendar.event.update: classes", "mine.yaml:1: ask_people"},
        ),
        ("--method crm.deal.update --field TITLE --mode canary", "refused", 0, {"mode"}),
        ("--method crm.deal.update --field TITLE --mode shadow", "planned", 0, {"mode"}),
    ],
)
def test_a_call_that_is_thought_of(words: str, verdict: str, taps: int, sources: set[str]) -> None:
    """Who says that it asks: the line of the policy, the column of the catalogue, the mode."""
    line = told(*words.split())
    assert (line["verdict"], line["taps"]) == (verdict, taps)
    assert {reason["source"] for reason in line["reasons"]} == sources


def test_people_read_a_sentence_and_a_table() -> None:
    """The owner's own words among the reasons."""
    code, shown = sdelka("explain", "--method", "crm.deal.update", "--amount", "2 500 000", "--person", "tg:1007")
    assert code == 0
    assert shown.startswith("crm.deal.update by Анна (tg:1007, manager) in mode full: asked of a lead. Policy ")
    assert "a rule of the policy: Дороже 2 млн" in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("", "either a recorded call or --method"),
        ("abc --method crm.deal.get", "either a recorded call or --method"),
        ("--method crm.deal.updat", "Did you mean 'crm.deal.update'?"),
        ("--method crm.deal.update --amount much", "--amount: a sum such as 2500000"),
        ("--method crm.deal.update --amount NaN", "--amount: a sum such as 2500000"),
        ("--method crm.deal.update --person tg:5", "--person: 'tg:5' is not in the access file"),
    ],
)
def test_wrong_use_is_one_sentence(words: str, part: str) -> None:
    """Exit code 2."""
    code, shown = sdelka("explain", *words.split())
    assert code == 2
    assert part in shown


async def test_a_recorded_call_is_judged_by_the_rules_of_now(settings: Path) -> None:
    """With what became of it then; an unknown id is told, exit code 1."""
    store = open_store(build_sqlite_url(settings / "sdelka.db"))
    async with a_world(settings, store=store) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними"))
        call = world.events("ConfirmationRequested")[0].data["effect_id"]
    line = told(call[:12])
    assert (line["call"], line["verdict"], line["method"]) == (call, "asked", "crm.deal.update")
    assert line["then"].startswith("asked")
    assert "mine.yaml:5: rules.0" in {reason["source"] for reason in line["reasons"]}
    code, shown = sdelka("explain", "ffffffffffff")
    assert code == 1
    assert "holds no call" in shown


def test_a_policy_file_can_be_checked(settings: Path) -> None:
    """Good: one sentence; faulty: every mistake, exit code 2."""
    code, shown = sdelka("check")
    assert (code, shown.startswith("mine.yaml: no mistakes; 2 rules, version ")) == (0, True)
    (settings / "bad.yaml").write_text("rules:\n  - {then: ask, why: x}\n  - {method: crm.deal.ad, then: ask, why: y}\n", encoding="utf-8")
    code, shown = sdelka("check", "--policy", str(settings / "bad.yaml"))
    assert code == 2
    assert "line 2: `rules.0`: names no condition" in shown
