"""The SQL that the compiler of reports is compared with is itself compared with plain loops over the rows, for the questions that mislead most."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest

from tests.unit.analytics.edged_firm import build_edged_firm
from tests.unit.analytics.mirror_firm import FIELD, NOW, Firm
from tests.unit.analytics.sql_answers import ZONE, Bounds, Scalar, are_near, build_bounds, fetch_rows, load_expected, open_mirror

DAY = 86400
HERE = NOW.astimezone(ZONE)
SECOND = int(NOW.timestamp())
Row = dict[str, Any]
Rows = list[tuple[Scalar, ...]]


def moment(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=ZONE).timestamp())  # type: ignore[misc, arg-type]


QUARTER, MONTH, YEAR = moment(2026, 10, 1), moment(2026, 11, 1), moment(2026, 1, 1)
SPRING = moment(2026, 5, 28)
SAME_IN_LAST_QUARTER = (moment(2026, 7, 1), moment(2026, 8, 28, 18))


class Loops:
    """The rows of one firm, and what a person would do with them by hand."""

    def __init__(self, firm: Firm) -> None:
        self.tables = firm.tables
        self.deals: list[Row] = firm.tables["deal"]
        self.path: dict[int, list[Row]] = defaultdict(list)
        for move in sorted(firm.tables["move"], key=lambda move: (move["entered"], move["id"])):
            self.path[move["deal"]].append(move)
        self.sort = {(stage["funnel"], stage["code"]): stage["sort"] for stage in firm.tables["stage"] if stage["kind"] == "deal"}
        self.sign = {(stage["funnel"], stage["code"]): stage["semantics"] for stage in firm.tables["stage"] if stage["kind"] == "deal"}

    def select_closed(self, signs: str, first: int, last: int = SECOND) -> list[Row]:
        return [
            deal for deal in self.deals if deal["semantics"] in signs and deal["closed"] is not None and first <= deal["closed"] <= last
        ]

    def find_reached(self, deal: Row) -> int:
        codes = [deal["stage"], *(move["stage"] for move in self.path[deal["id"]] if move["funnel"] == deal["funnel"])]
        return max((self.sort[deal["funnel"], code] for code in codes if self.sign[deal["funnel"], code] != "F"), default=0)

    def weigh(self, deal: Row) -> float:
        if deal["probability"]:
            return float(deal["probability"]) / 100
        shares = {(chance["funnel"], chance["stage"]): chance["share"] for chance in self.tables["chance"]}
        ended = [other for other in self.select_closed("SF", SECOND - 365 * DAY) if other["funnel"] == deal["funnel"]]
        return float(shares.get((deal["funnel"], deal["stage"]), mean(other["semantics"] == "S" for other in ended)))


def sum_base(deals: Iterable[Row]) -> int:
    return sum(deal["base"] or 0 for deal in deals)


def gather(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def compare_same_days(loops: Loops) -> Rows:
    now = gather(loops.select_closed("S", QUARTER), lambda deal: deal["person"])
    before = gather(loops.select_closed("S", *SAME_IN_LAST_QUARTER), lambda deal: deal["person"])
    return [(person, sum_base(now.get(person, [])), sum_base(before.get(person, []))) for person in {*now, *before}]


def follow_cohort(loops: Loops) -> Rows:
    cohort = [loops.find_reached(deal) for deal in loops.deals if deal["funnel"] == 0 and SPRING <= deal["created"] <= SECOND]
    steps = [(code, sum(reached >= sort for reached in cohort)) for (funnel, code), sort in loops.sort.items() if not funnel and sort <= 60]
    rows: Rows = [(steps[0][0], steps[0][1], 1.0, None)]
    return rows + [(code, deals, deals / steps[0][1], deals / before) for (_, before), (code, deals) in pairwise(steps)]


def rate_wins(loops: Loops) -> Rows:
    rows: Rows = []
    for person, deals in gather(loops.select_closed("SF", QUARTER), lambda deal: deal["person"]).items():
        won = [deal for deal in deals if deal["semantics"] == "S"]
        rows.append((person, len(won) / len(deals), len(won), len(deals) - len(won)))
    return rows


def weigh_months(loops: Loops) -> Rows:
    def name_month(deal: Row) -> str | None:
        day = deal["expected"]
        return day and ("past" if date.fromisoformat(day) < HERE.date() else day[:7])

    groups = gather((deal for deal in loops.deals if deal["semantics"] == "P"), name_month)
    return [
        (month, sum((deal["base"] or 0) * loops.weigh(deal) for deal in deals), sum_base(deals), len(deals))
        for month, deals in groups.items()
    ]


def stand_now(loops: Loops) -> Rows:
    groups = gather((deal for deal in loops.deals if deal["semantics"] == "P"), lambda deal: deal["stage"])
    ages = {stage: [(SECOND - deal["moved"]) / DAY for deal in deals] for stage, deals in groups.items()}
    return [(stage, mean(days), median(days), len(days)) for stage, days in ages.items()]


def stand_usually(loops: Loops) -> Rows:
    stays = defaultdict(list)
    since = moment(2026, 8, 30)
    for path in loops.path.values():
        for move, following in pairwise(path):
            if move["semantics"] == "P" and since <= following["entered"] <= SECOND:
                stays[move["stage"]].append((following["entered"] - move["entered"]) / DAY)
    return [(stage, mean(days), median(days), len(days)) for stage, days in stays.items()]


def count_plan(loops: Loops) -> Rows:
    won = sum_base(loops.select_closed("S", MONTH))
    return [(won, 8_000_000_00 - won, won / 8_000_000_00, (27 * 24 + 18) / (30 * 24))]


def find_last_stages(loops: Loops) -> Rows:
    def find_stage_before(deal: Row) -> str | None:
        codes = [None, *(move["stage"] for move in loops.path[deal["id"]])]
        return codes[-2] if len(codes) > 1 else None

    lost = loops.select_closed("F", QUARTER)
    return [(stage, len(deals), len(deals) / len(lost), sum_base(deals)) for stage, deals in gather(lost, find_stage_before).items()]


def find_customers(loops: Loops) -> Rows:
    first: dict[int, int] = {}
    for deal in sorted(loops.select_closed("S", 0), key=lambda deal: deal["closed"]):
        first.setdefault(deal["company"], deal["closed"])
    won = loops.select_closed("S", QUARTER)
    names = {None: None, False: "new", True: "repeat"}
    groups = gather(won, lambda deal: names[None if deal["company"] is None else first[deal["company"]] < deal["closed"]])
    return [(name, len(deals), sum_base(deals), sum_base(deals) / sum_base(won)) for name, deals in groups.items()]


def count_repeat(loops: Loops) -> Rows:
    return [(count, money) for name, count, money, _ in find_customers(loops) if name == "repeat"]


def sort_clients(loops: Loops) -> Rows:
    won: Counter[int] = Counter()
    for deal in loops.select_closed("S", YEAR):
        if deal["company"] is not None:
            won[deal["company"]] += deal["base"] or 0
    total, passed, groups = sum(won.values()), 0, defaultdict(list)
    for _, money in sorted(won.items(), key=lambda client: (-client[1], client[0])):
        groups["A" if passed < 0.8 * total else "B" if passed < 0.95 * total else "C"].append(money)
        passed += money
    return [(name, len(moneys), sum(moneys), sum(moneys) / total) for name, moneys in groups.items()]


def replay_weeks(loops: Loops) -> Rows:
    """Where each deal was when a week ended; at the end of this week it is where it is now."""
    rows: Rows = []
    for week in range(13):
        monday = date(2026, 9, 7) + timedelta(weeks=week)
        end = int(datetime.combine(monday, datetime.min.time(), ZONE).timestamp())
        deals = [deal for deal in loops.deals if _was_open(loops, deal, end)]
        rows.append((monday.isoformat(), len(deals), sum_base(deals)))
    return rows


def _was_open(loops: Loops, deal: Row, end: int) -> bool:
    path = loops.path[deal["id"]]
    if not path:
        return bool(deal["created"] < end) and (deal["closed"] is None or deal["closed"] >= end)
    signs = [move["semantics"] for move in path if move["entered"] < end]
    return signs[-1:] == ["P"]


def find_back_moves(loops: Loops) -> Rows:
    pairs = defaultdict(set)
    for deal, path in loops.path.items():
        for before, move in pairwise(path):
            is_back = before["semantics"] != "F" and loops.sort[move["funnel"], before["stage"]] > loops.sort[move["funnel"], move["stage"]]
            if is_back and move["semantics"] == "P" and QUARTER <= move["entered"] <= SECOND:
                pairs[before["stage"], move["stage"]].add(deal)
    return [(*pair, len(deals)) for pair, deals in pairs.items()]


def find_idle(loops: Loops) -> Rows:
    busy = {activity["owner"] for activity in loops.tables["activity"] if activity["owner_type"] == 2 and not activity["is_done"]}
    idle = [deal for deal in loops.deals if deal["semantics"] == "P" and deal["id"] not in busy]
    return [(person, len(deals), sum_base(deals)) for person, deals in gather(idle, lambda deal: deal["person"]).items()]


def find_gone_clients(loops: Loops) -> Rows:
    clients = gather((deal for deal in loops.select_closed("S", 0) if deal["company"] is not None), lambda deal: deal["company"])
    gone = [deals for deals in clients.values() if all(deal["closed"] < SPRING for deal in deals)]
    return [(len(gone), sum(sum_base(deals) for deals in gone))]


BY_LOOPS: dict[int, Callable[[Loops], Rows]] = {
    2: compare_same_days,
    3: follow_cohort,
    4: rate_wins,
    7: weigh_months,
    8: stand_now,
    9: stand_usually,
    12: count_plan,
    14: find_last_stages,
    17: find_idle,
    33: count_repeat,
    42: find_customers,
    43: sort_clients,
    44: find_gone_clients,
    50: replay_weeks,
    51: find_back_moves,
}


@pytest.fixture(scope="module")
def edged_firm() -> Firm:
    return build_edged_firm()


@pytest.fixture(scope="module")
def mirror(edged_firm: Firm, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    return open_mirror(edged_firm.write(Path(tmp_path_factory.mktemp("sql")) / "mirror.sqlite"))


@pytest.fixture(scope="module")
def bounds() -> Bounds:
    return build_bounds(SECOND, boris=7, vera=8, own_field=FIELD)


@pytest.mark.parametrize("number", BY_LOOPS)
def test_the_sql_equals_plain_loops(number: int, mirror: sqlite3.Connection, edged_firm: Firm, bounds: Bounds) -> None:
    expected = load_expected()[number]
    by_sql = {row[: expected.by]: row[expected.by :] for row in fetch_rows(mirror, expected, bounds)}
    by_hand = {row[: expected.by]: row[expected.by :] for row in BY_LOOPS[number](Loops(edged_firm))}
    assert by_sql.keys() == by_hand.keys()
    for key, numbers in by_hand.items():
        assert are_near(by_sql[key], numbers), (key, by_sql[key], numbers)


def test_each_of_the_sixty_questions_has_rows_or_a_reason(mirror: sqlite3.Connection, bounds: Bounds) -> None:
    questions = load_expected()
    assert list(questions) == list(range(1, 61))
    for expected in questions.values():
        if expected.sql:
            rows = fetch_rows(mirror, expected, bounds)
            assert rows, expected.question
            assert {len(row) for row in rows} == {len(expected.columns)}, expected.question
        else:
            assert expected.refused or expected.portal


def test_the_bounds_are_those_of_a_wall_clock_in_moscow(bounds: Bounds) -> None:
    assert (bounds["quarter"], bounds["month"], bounds["year"]) == (QUARTER, MONTH, YEAR)
    assert (bounds["last_quarter"], bounds["last_quarter_same"]) == SAME_IN_LAST_QUARTER
    assert (bounds["last_month"], bounds["last_month_same"]) == (moment(2026, 10, 1), moment(2026, 10, 28, 18))
    assert (bounds["year_ago_month"], bounds["year_ago_now"]) == (moment(2025, 11, 1), moment(2025, 11, 28, 18))
    assert (bounds["last_week"], bounds["week"]) == (moment(2026, 11, 16), moment(2026, 11, 23))
    assert (bounds["next_month_day"], bounds["month_after_next_day"]) == ("2026-12-01", "2027-01-01")
    long_month = build_bounds(moment(2026, 3, 31, 12))
    assert long_month["last_month_same"] == moment(2026, 3, 1) - 1
