"""The same numbers by plain loops over the rows of a firm: knows neither the compiler nor its vocabulary."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from tests.unit.analytics.mirror_firm import FIELD, PEOPLE, Firm

Row = dict[str, Any]
TABLES = {"deals": "deal", "leads": "lead", "calls": "call", "activities": "activity", "tasks": "task", "moves": "move", "item:31": "item"}
USUAL_TIME = {
    "deals": "created",
    "leads": "created",
    "calls": "started",
    "activities": "deadline",
    "tasks": "deadline",
    "moves": "entered",
    "item:31": "created",
    "companies": "last_won",
}
FILTERS = {
    "ASSIGNED_BY_ID": "person", "RESPONSIBLE_ID": "person", "PORTAL_USER_ID": "person", "SOURCE_ID": "source", "COMPANY_ID": "company", "STAGE_ID": "stage",
    "STATUS_ID": "stage", "CATEGORY_ID": "funnel", "CURRENCY_ID": "currency", "OPPORTUNITY": "base", "TYPE_ID": "type", "CALL_TYPE": "direction",
    "CALL_DURATION": "seconds", "COMPLETED": "is_done", "PROBABILITY": "probability", "WON_COUNT": "deals", "CREATED_BY": "author",
}  # fmt: skip
ENDS = {"won", "lost", "won_sum", "lost_sum", "win_rate", "days_to_close", "median_days_to_close"}

OF_OPEN = {"weighted", "days_in_stage", "median_days_in_stage", "days_idle", "median_days_idle"}
MONEY = {"sum", "avg", "median", "max", "won_sum", "lost_sum", "weighted"}


class Brute:
    def __init__(self, firm: Firm, now: datetime, zone: str, sees: frozenset[int] | None = None) -> None:
        self.now, self.zone, self.sees = now, ZoneInfo(zone), sees
        self.second = int(now.timestamp())
        self.today = now.astimezone(self.zone).date().isoformat()
        self.deals = {deal["id"]: deal for deal in firm.tables["deal"]}
        self.firm = firm
        self.chosen: dict[int, list[str]] = {}
        for choice in firm.tables["choice"]:
            if choice["kind"] == "deal" and choice["field"] == FIELD:
                self.chosen.setdefault(choice["record"], []).append(choice["value"])
        self.planned = {
            activity["owner"] for activity in firm.tables["activity"] if not activity["is_done"] and activity["owner_type"] == 2
        }
        self.chances = {(row["funnel"], row["stage"]): row["share"] for row in firm.tables["chance"]}
        self.sorts = {(row["funnel"], row["code"]): row["sort"] for row in firm.tables["stage"] if row["kind"] == "deal"}
        self.last_from = {}
        for move in sorted(firm.tables["move"], key=lambda move: (move["entered"], move["id"])):
            if move["type"] == 3:
                self.last_from[move["deal"]] = move["came_from"]

    def answer(self, question: dict[str, Any]) -> tuple[dict[Any, Any], list[Any], dict[Any, Any], list[Any]]:
        """(groups now, total now, groups before, total before); a group is its measures' numbers and the count of records."""
        measures = question.get("measures") or ["count"]
        groups = question.get("group_by") or []
        by = question.get("by") or self.find_time(question)
        rows = [row for row in self.list_rows(question["of"]) if self.fits(row, question)]
        now = self.count([row for row in rows if self.is_within(row, by, question.get("period"))], groups, measures, by, question)
        if not question.get("compare"):
            return *now, {}, []
        start, stop = self.find_compared(question, by)
        earlier = [row for row in rows if self.is_between(row, by, start, stop)]
        return *now, *self.count(earlier, groups, measures, by, question)

    def list_rows(self, of: str) -> list[Row]:
        if of == "companies":
            return self.list_companies()
        rows = [dict(row) for row in self.firm.tables[TABLES[of]]]
        for row in rows:
            if of == "moves":
                deal = self.deals.get(row["deal"], {})
                row.update({name: deal.get(name) for name in ("person", "source", "company", "base")})
            row["of"] = of
        return [row for row in rows if self.sees is None or row["person"] in self.sees]

    def list_companies(self) -> list[Row]:
        companies: dict[int, Row] = {}
        for deal in self.deals.values():
            if deal["semantics"] != "S" or deal["company"] is None or (self.sees is not None and deal["person"] not in self.sees):
                continue
            row = companies.setdefault(
                deal["company"],
                {"id": deal["company"], "company": deal["company"], "last_won": 0, "deals": 0, "base": 0, "of": "companies"},
            )
            row["last_won"] = max(row["last_won"], deal["closed"])
            row["deals"] += 1
            row["base"] += deal["base"] or 0
        return list(companies.values())

    def find_time(self, question: dict[str, Any]) -> str:
        of, measures = question["of"], set(question.get("measures") or [])
        states = {state.partition(":")[0] for state in question.get("where") or []}
        if of in {"deals", "item:31"}:
            if states & {"won", "lost", "closed"} or "lost_from" in (question.get("group_by") or []):
                return "closed"
            if "weighted" in measures:
                return "expected"
            if not states and measures & ENDS:
                return "closed"
        if of == "moves" and measures & {"days", "median_days"}:
            return "left"
        return "done" if of == "tasks" and "done" in states else USUAL_TIME[of]

    def fits(self, row: Row, question: dict[str, Any]) -> bool:
        states = list(question.get("where") or [])
        if not states and set(question.get("measures") or []) & OF_OPEN:
            states = ["open"]
        if "lost_from" in (question.get("group_by") or []) and "lost" not in states:
            states = [*states, "lost"]
        if question["of"] == "tasks" and "overdue" in states and "period" not in question and not {"open", "done"} & set(states):
            states = [*states, "open"]
        if not all(self.is_in_state(row, *state.partition(":")[::2]) for state in states):
            return False
        if question.get("back") and not self.is_back(row):
            return False
        return all(self.passes(row, key, value) for key, value in (question.get("filter") or {}).items())

    def is_in_state(self, row: Row, state: str, days: str) -> bool:  # noqa: C901, PLR0912 - a table
        sign = row.get("semantics")
        match state:
            case "open" | "undone" if row["of"] == "activities":
                return not row["is_done"]
            case "open" if row["of"] == "tasks":
                return row["done"] is None
            case "done":
                return bool(row["is_done"]) if row["of"] == "activities" else row["done"] is not None
            case "open":
                return sign == "P"
            case "won":
                return sign == "S"
            case "lost":
                return sign == "F"
            case "closed":
                return sign in "SF"
            case "overdue":
                return self.is_overdue(row)
            case "no_activity":
                return sign == "P" and row["id"] not in self.planned
            case "idle" if row["of"] == "companies":
                return row["last_won"] < self.second - int(days) * 86400
            case "idle":
                return sign == "P" and row["moved"] < self.second - int(days) * 86400
            case "repeat" if row["of"] == "companies":
                return row["deals"] > 1
            case "repeat":
                return self.has_bought(row)
            case "answered":
                return row["code"] == "200"
            case "missed":
                return row["code"] == "304" and row["direction"] in (2, 3)
            case "incoming":
                return row["direction"] in (2, 3)
            case _:
                return row["direction"] not in (2, 3)

    def is_overdue(self, row: Row) -> bool:
        if row["of"] == "activities":
            return not row["is_done"] and row["deadline"] is not None and row["deadline"] < self.second
        if row["of"] == "tasks":
            return row["deadline"] is not None and row["deadline"] < (self.second if row["done"] is None else row["done"])
        return row["semantics"] == "P" and row["expected"] is not None and row["expected"] < self.today

    def has_bought(self, row: Row) -> bool:
        if row["company"] is None:
            return False
        until = row["closed"] if row["closed"] is not None else self.second + 1
        return any(
            deal["company"] == row["company"] and deal["semantics"] == "S" and deal["closed"] < until for deal in self.deals.values()
        )

    def is_back(self, row: Row) -> bool:
        if row["semantics"] != "P" or row["came_from"] is None or row["came_from"].endswith(("LOSE", "APOLOGY")):
            return False
        return self.sorts[(row["funnel"], row["came_from"])] > self.sorts[(row["funnel"], row["stage"])]

    def passes(self, row: Row, key: str, value: Any) -> bool:
        name = key.lstrip("!=<>@")
        sign = key[: len(key) - len(name)]
        wanted = value if isinstance(value, list) else [value]
        if name == FIELD:
            mine = self.chosen.get(row["id"], [])
            has = any((not mine) if option == "" else str(option) in mine for option in wanted)
            return not has if "!" in sign else has
        mine = row[FILTERS[name]]
        if name == "OPPORTUNITY":
            wanted = [option if option == "" else round(float(option) * 100) for option in wanted]
            if wanted == [0]:
                return ("!" in sign) != (not row["amount"])
        if sign in {"<", "<=", ">", ">="}:
            compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[sign]
            return mine is not None and compare(mine, wanted[0])
        has = any(mine is None if option == "" else mine is not None and str(mine) == str(option) for option in wanted)
        return not has if "!" in sign else has

    def find_midnight(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self.zone)

    def is_within(self, row: Row, by: str, period: dict[str, str] | None) -> bool:
        if period is None:
            return True
        start = self.find_midnight(date.fromisoformat(period["from"]))
        stop = self.find_midnight(date.fromisoformat(period["to"]) + timedelta(days=1))
        if by not in {"expected", "deadline"}:
            stop = min(stop, self.now + timedelta(seconds=1))
        return self.is_between(row, by, start, stop)

    def is_between(self, row: Row, by: str, start: datetime, stop: datetime) -> bool:
        moment = row[by]
        if moment is None:
            return False
        if by == "expected":
            last = stop.date() if stop.astimezone(self.zone).hour == 0 and stop.second == 0 else stop.date() + timedelta(days=1)
            return start.date().isoformat() <= moment < last.isoformat()
        return start.timestamp() <= moment < stop.timestamp()

    def find_compared(self, question: dict[str, Any], by: str) -> tuple[datetime, datetime]:
        first, last = (date.fromisoformat(question["period"][name]) for name in ("from", "to"))
        stop = last + timedelta(days=1)
        how = question["compare"]
        if isinstance(how, dict):
            start, end = (
                self.find_midnight(date.fromisoformat(how["from"])),
                self.find_midnight(date.fromisoformat(how["to"]) + timedelta(days=1)),
            )
            return start, end if by in {"expected", "deadline"} else min(end, self.now + timedelta(seconds=1))
        days = (stop - first).days
        whole = first.day == 1 and stop.day == 1
        if how == "year_ago":
            earlier = (
                (first.replace(year=first.year - 1), stop.replace(year=stop.year - 1))
                if whole or days % 7 or first.weekday()
                else (first - timedelta(364), stop - timedelta(364))
            )
        elif whole:
            months = (stop.year - first.year) * 12 + stop.month - first.month
            place = first.year * 12 + first.month - 1 - months
            earlier = (date(place // 12, place % 12 + 1, 1), first)
        else:
            earlier = (first - timedelta(days), first)
        start, end = (self.find_midnight(day) for day in earlier)
        here = self.find_midnight(first)
        if by not in {"expected", "deadline"} and here <= self.now < self.find_midnight(stop):
            cut = datetime.fromtimestamp(start.timestamp() + self.second + 1 - here.timestamp(), self.zone)
            end = min(end, cut)
        return start, end

    def count(
        self, rows: list[Row], groups: list[str], measures: list[str], by: str, question: dict[str, Any]
    ) -> tuple[dict[Any, Any], list[Any]]:
        """A group of a currency is in that one, and there is no total of several."""
        is_mixed = "currency" in groups
        grouped: dict[Any, list[Row]] = {}
        for row in rows:
            for key in self.list_keys(row, groups, by, question):
                grouped.setdefault(key, []).append(row)
        total = [None if is_mixed and measure in MONEY else self.measure(measure, rows, question) for measure in measures]
        if is_mixed:
            grouped = {key: [row | {"base": row["amount"]} for row in members] for key, members in grouped.items()}
        numbers = {
            key: ([self.measure(measure, members, question) for measure in measures], len(members)) for key, members in grouped.items()
        }
        return numbers, total

    def list_keys(self, row: Row, groups: list[str], by: str, question: dict[str, Any]) -> list[tuple[Any, ...]]:
        keys: list[tuple[Any, ...]] = [()]
        for group in groups:
            parts = self.chosen.get(row["id"], [None]) if group == FIELD else [self.find_key(row, group, by, question)]
            keys = [(*key, None if part is None else str(part)) for key in keys for part in parts]
        return keys

    def find_key(self, row: Row, group: str, by: str, question: dict[str, Any]) -> Any:
        name, _, unit = group.partition(":")
        if unit or group in {"day", "week", "month", "quarter", "year", "weekday", "hour"}:
            return self.find_time_key(row, name if unit else by, unit or group, question)
        match group:
            case "department":
                return PEOPLE[row["person"]][0] if row["person"] is not None else None
            case "status" if row["of"] in {"activities", "tasks"}:
                done = row["is_done"] if row["of"] == "activities" else row["done"]
                return "done" if done else "undone"
            case "status":
                return row["semantics"]
            case "customer":
                return None if row["company"] is None else "repeat" if self.has_bought(row) else "new"
            case "lost_from":
                return self.last_from.get(row["id"])
            case "from_stage":
                return row["came_from"]
            case "direction":
                return "incoming" if row["direction"] in (2, 3) else "outgoing"
            case "result":
                missed = row["code"] == "304" and row["direction"] in (2, 3)
                return "answered" if row["code"] == "200" else "missed" if missed else "failed"
            case _:
                return row[group]

    def find_time_key(self, row: Row, name: str, unit: str, question: dict[str, Any]) -> Any:
        moment = row[name]
        if moment is None:
            return None
        if name == "expected":
            if self.separates_past(question, unit) and moment < self.today:
                return "past"
            here = datetime.fromisoformat(moment)
        else:
            here = datetime.fromtimestamp(moment, UTC).astimezone(self.zone)
        day = here.date()
        keys: dict[str, Callable[[], Any]] = {
            "day": day.isoformat, "week": (day - timedelta(day.weekday())).isoformat, "month": lambda: f"{day:%Y-%m}",
            "quarter": lambda: f"{day.year}-Q{(day.month - 1) // 3 + 1}", "year": lambda: f"{day.year}", "weekday": day.isoweekday, "hour": lambda: f"{here:%H}",
        }  # fmt: skip
        return keys[unit]()

    def separates_past(self, question: dict[str, Any], unit: str) -> bool:
        states = question.get("where") or (["open"] if OF_OPEN & set(question.get("measures") or []) else [])
        if unit in {"weekday", "hour"} or "open" not in states:
            return False
        return question.get("period") is None or question["period"]["to"] >= self.today

    def measure(self, name: str, rows: list[Row], question: dict[str, Any]) -> Any:  # noqa: C901, PLR0912 - a table
        sums = [row["base"] for row in rows if row.get("base") is not None]
        won = [row for row in rows if row.get("semantics") == "S"]
        lost = [row for row in rows if row.get("semantics") == "F"]
        length_of = lost if "lost" in (question.get("where") or []) or "lost_from" in (question.get("group_by") or []) else won
        match name:
            case "count":
                return len(rows)
            case "sum":
                return sum(sums) / 100
            case "avg":
                return _mean([amount / 100 for amount in sums if amount])
            case "median":
                return median([amount / 100 for amount in sums if amount]) if any(sums) else None
            case "max":
                return max(sums) / 100 if sums else None
            case "won" | "lost":
                return len(won if name == "won" else lost)
            case "won_sum" | "lost_sum":
                return sum(row["base"] or 0 for row in (won if name == "won_sum" else lost)) / 100
            case "win_rate":
                return 100 * len(won) / (len(won) + len(lost)) if won or lost else None
            case "conversion":
                return 100 * len(won) / len(rows) if rows else None
            case "weighted":
                return sum(self.weigh(row) for row in rows if row["semantics"] == "P") / 100
            case "days_to_close" | "median_days_to_close":
                return _average(name, [(row["closed"] - row["created"]) / 86400 for row in length_of if row["closed"] is not None])
            case "days_in_stage" | "median_days_in_stage":
                return _average(name, [(self.second - row["moved"]) / 86400 for row in rows if row["semantics"] == "P"])
            case "days_idle":
                return _mean([(self.second - row["active"]) / 86400 for row in rows if row["semantics"] == "P"])
            case "companies":
                return len({row["company"] for row in rows} - {None})
            case "hours_to_first_call":
                return _mean([(row["called"] - row["created"]) / 3600 for row in rows if row["called"] is not None])
            case "deals":
                return sum(row["deals"] for row in rows) if question["of"] == "companies" else len({row["deal"] for row in rows})
            case "days" | "median_days":
                return _average(name, [(row["left"] - row["entered"]) / 86400 for row in rows if row["left"] is not None])
            case "minutes":
                return sum(row["seconds"] for row in rows) / 60
            case "avg_minutes":
                return _mean([row["seconds"] / 60 for row in rows if row["code"] == "200"])
            case "done":
                return sum(bool(row["is_done"]) if question["of"] == "activities" else row["done"] is not None for row in rows)
            case "overdue":
                return sum(self.is_overdue(row) for row in rows)
            case "missed_rate":
                incoming = [row for row in rows if row["direction"] in (2, 3)]
                return 100 * sum(row["code"] == "304" for row in incoming) / len(incoming) if incoming else None
            case _:
                return sum(self.is_in_state(row, name, "") for row in rows)

    def weigh(self, row: Row) -> int:
        share = row["probability"] / 100 if row["probability"] is not None else self.chances.get((row["funnel"], row["stage"]))
        return 0 if row["base"] is None or share is None else int(row["base"] * share + 0.5)


def _mean(numbers: list[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _average(name: str, numbers: list[float]) -> float | None:
    if not numbers:
        return None
    return median(numbers) if name.startswith("median") else sum(numbers) / len(numbers)
