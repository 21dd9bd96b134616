"""NUMBERS_FILE: the company chooses among the readings of words and says its plan; a mistake says where it is and what may stand there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.composition.numbers import build_numbers
from bot.settings.settings import Settings
from orchestrator.analytics.definitions import load_definitions
from orchestrator.domain.errors import SettingsError
from orchestrator.features.numbers.tiles import load_tiles
from tests.unit.analytics.analytics_kit import NOVEMBER, Desk, build_asker, build_desk, build_won

DOCS = Path(__file__).resolve().parents[3] / "docs" / "numbers.md"
WON = {"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["sum", "count"], "plan": "company"}


@pytest.fixture
def company(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.yaml"
    path.write_text("plan: {2026-10: 300, 2026-11: 400}", encoding="utf-8")
    return path


@pytest.fixture
def planned(company: Path, tmp_path: Path) -> Desk:
    deals = [build_won(1, 100), build_won(2, 60, person=8), build_won(3, 50, "2026-10-05")]
    return Desk(build_desk(tmp_path, deals).path, load_definitions(company))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be a table"),
        ("choice: {}", "there is no 'choice'; write choices, plan"),
        ("choices: [closing]", "choices: must be a table, such as {average: with_zeros}; words: closing, average, idle, weight"),
        ("choices: {close: move}", "choices: there is no 'close'; write closing, average, idle, weight"),
        ("choices: {closing: [move]}", "choices: closing: write one of move, closedate, not ['move']"),
        ("choices: {closing: move", "no valid YAML at line 1, column 24"),
        *(
            (f"plan: {plan}", "plan: write the amount of a month, such as 8000000, or one for each month")
            for plan in ("0", "-5", "true", "8 млн", "{2026-13: 5}", "{2026-11-01: 5}", "{2026-11: no}", "[5]")
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(company: Path, text: str, reason: str) -> None:
    company.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_definitions(company)
    assert caught.value.reason.startswith("NUMBERS_FILE numbers.yaml: ")
    assert caught.value.reason.endswith(" (docs/numbers.md)")
    assert reason in caught.value.reason
    assert "\n" not in caught.value.reason
    assert str(company.parent) not in caught.value.reason


def test_the_program_does_not_start_with_a_wrong_or_absent_file(company: Path, tmp_path: Path) -> None:
    company.write_text("readings: {}", encoding="utf-8")
    portal: Any = SimpleNamespace(
        reads=SimpleNamespace(client=SimpleNamespace(portal="firm.example"), reference=None), naming=SimpleNamespace()
    )
    for file, reason in ((tmp_path / "absent.yaml", "FileNotFoundError"), (company, "there is no 'readings'")):
        installation: Any = SimpleNamespace(settings=Settings(_env_file=None, state_dir=tmp_path, numbers_file=file), clock=None)
        with pytest.raises(SettingsError, match=reason):
            build_numbers(installation, portal)


def test_the_example_of_the_docs_can_be_loaded(company: Path) -> None:
    """And chooses no usual reading, so that each is seen to be accepted."""
    (example,) = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    company.write_text(example, encoding="utf-8")
    definitions, shipped = load_definitions(company), load_definitions()
    assert all(definitions.choices[word] != shipped.choices[word] for word in shipped.choices)
    assert (definitions.find_plan("2026-12"), definitions.find_plan("2027-01")) == (9_500_000, None)


async def test_the_plan_stands_beside_what_the_company_won(planned: Desk) -> None:
    """Of the month that is asked for, or of several together; one number is for every month."""
    answer = await planned.answer(WON)
    assert answer.plan is not None
    assert (answer.plan.plan.value, answer.plan.done_percent.value) == (400, 40)
    quarter = await planned.answer({**WON, "period": {"from": "2026-10-01", "to": "2026-11-30"}})
    assert quarter.plan is not None
    assert quarter.plan.plan.value == 700
    assert await planned.list_records(WON) == (2, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"period": {"from": "2026-11-01", "to": "2026-11-15"}},
        {"period": {"from": "2026-09-01", "to": "2026-11-30"}},
        {"filter": {"ASSIGNED_BY_ID": 7}},
        {"where": ["won", "repeat"]},
        {"where": "lost"},
        {"measures": ["count", "sum"]},
        {"measures": ["share:sum"], "group_by": "person"},
    ],
)
async def test_a_part_of_what_the_company_won_is_not_held_against_its_plan(planned: Desk, changes: dict[str, Any]) -> None:
    """Half a month, a month without a plan, one person, other deals, another measure: there is the number and no plan."""
    answer = await planned.answer({**WON, **changes})
    assert answer.plan is None


async def test_who_does_not_see_everybodys_deals_sees_no_plan_of_the_company(planned: Desk) -> None:
    answer = await planned.answer(WON, build_asker(sees=frozenset({7})))
    assert (answer.total[0].value, answer.plan) == (100, None)


async def test_the_tile_of_the_month_has_the_plan_where_there_is_one(planned: Desk) -> None:
    won = load_tiles()[0].question
    answer = await planned.answer(won)
    assert answer.plan is not None
    assert answer.plan.plan.value == 400
    assert (await Desk(planned.path).answer(won)).plan is None
