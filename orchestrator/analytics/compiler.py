"""Makes SQL of a question. Nothing that a model wrote becomes SQL: only names of the vocabulary do, everything else is bound.

Rights: `sees` is a condition on the owner of every record that is counted; of moves it is the owner of the deal, of companies the owners
of their deals. A yes or no about a record of one's own (has it a planned activity, did its company buy before) looks at all records, and
the weights of a forecast are those of all deals: one number for a stage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from orchestrator.analytics.crm_subjects import BACKWARDS, CHANCE
from orchestrator.analytics.definitions import Definitions
from orchestrator.analytics.question import Condition, Group, Question
from orchestrator.analytics.statements import Statement
from orchestrator.analytics.stretches import Clock, Stretch, list_offsets
from orchestrator.analytics.vocabulary import AHEAD, PAST, STRETCHES, Field, Measure, Subject, TimeUnit

Keys = Sequence[str | None]
_FIRST_YEAR: Final = 2000
"""Dates that lie ahead: a period of them is not cut at the present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who asks, and when. `sees` are the persons whose records count; None means all."""

    clock: Clock
    sees: frozenset[int] | None
    definitions: Definitions


@dataclass(slots=True)
class _Builder:
    question: Question
    scope: Scope
    values: dict[str, str | int | float | None] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        return self.question.subject

    def bind(self, value: str | float | None) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def bind_all(self, values: Sequence[str | int | float | None]) -> str:
        return ", ".join(self.bind(value) for value in values)

    def build_source(self) -> str:
        owner = self.build_owner_condition() if "{owner}" in self.subject.source else ""
        return self.subject.source.replace("{owner}", f" AND {owner}" if owner else "")

    def build_owner_condition(self) -> str:
        if self.scope.sees is None:
            return ""
        return f"{self.subject.owner} IN ({self.bind_all(sorted(self.scope.sees))})"

    def list_conditions(self, stretch: Stretch | None) -> list[str]:
        conditions = [self.subject.condition] if self.subject.condition else []
        if "{owner}" not in self.subject.source and (owner := self.build_owner_condition()):
            conditions.append(owner)
        for state in self.question.states:
            code = "idle_by_activity" if state.code == "idle" and self._counts_activity() else state.code
            conditions.append(f"({self.subject.states[code].replace(':days', self.bind(state.days))})")
        conditions += [self._build_condition(condition) for condition in self.question.conditions]
        if self.question.is_back:
            conditions.append(f"({BACKWARDS})")
        return conditions + self._build_bounds(stretch)

    def _counts_activity(self) -> bool:
        return self.scope.definitions.choices["idle"] == "activity" and "idle_by_activity" in self.subject.states

    def _build_condition(self, condition: Condition) -> str:
        if condition.own_field:
            return self._build_own_condition(condition)
        column, values = condition.field.sql, condition.values
        if condition.operator not in {"in", "not_in"}:
            return f"{column} {condition.operator} {self.bind(values[0])}"
        present = [value for value in values if value is not None]
        parts = []
        if condition.field.kind == "money" and 0 in present:
            # «без суммы»: nothing or zero in whichever currency; a sum without a rate is one.
            parts.append("coalesce(d.amount, 0) = 0" if column == "d.base" else f"coalesce({column}, 0) = 0")
            present = [value for value in present if value != 0]
        if present:
            parts.append(f"{column} IN ({self.bind_all(present)})")
        if None in values:
            parts.append(f"{column} IS NULL")
        joined = " OR ".join(parts)
        return f"({joined})" if condition.operator == "in" else f"NOT coalesce({joined}, 0)"

    def _build_own_condition(self, condition: Condition) -> str:
        kind, name = self.bind(self.subject.record), self.bind(condition.own_field)
        chosen = f"SELECT c.record FROM choice c WHERE c.kind = {kind} AND c.field = {name}"  # noqa: S608 - both are bound
        present = [value for value in condition.values if value is not None]
        parts = []
        if present:
            parts.append(f"d.id IN ({chosen} AND c.value IN ({self.bind_all(present)}))")
        if None in condition.values:
            parts.append(f"d.id NOT IN ({chosen})")
        joined = " OR ".join(parts)
        return f"({joined})" if condition.operator == "in" else f"NOT ({joined})"

    def _build_bounds(self, stretch: Stretch | None) -> list[str]:
        if stretch is None:
            return []
        time = self.find_time("")
        if time.kind == "day":
            ends = [(">=", stretch.first_day), ("<", stretch.stop_day)]
            return [f"{time.sql} {sign} {self.bind(day)}" for sign, day in ends if day]
        is_cut = self.question.by not in AHEAD
        first, stop = stretch.find_bounds(self.scope.clock, is_cut=is_cut)
        return [f"{time.sql} {sign} {self.bind(second)}" for sign, second in ((">=", first), ("<", stop)) if second is not None]

    def find_time(self, name: str) -> Field:
        code = name or self.question.by
        if code == "closed" and self.scope.definitions.choices["closing"] == "closedate" and "expected" in self.subject.times:
            return self.subject.times["expected"]
        return self.subject.times[code]

    def build_key(self, group: Group) -> str:
        if group.own_field:
            return "g.value"
        if group.unit is None:
            return self.subject.dimensions[group.code].sql
        time = self.find_time(group.time)
        key = _build_day_key(group.unit, time.sql) if time.kind == "day" else _build_moment_key(group.unit, self.build_local(time.sql))
        if self._separates_past(group):
            return f"CASE WHEN {time.sql} < :today THEN '{PAST}' ELSE {key} END"
        return key

    def _separates_past(self, group: Group) -> bool:
        """Of open deals that are expected: what should have come is told apart, unless the period is all past."""
        if (group.time or self.question.by) != "expected" or group.unit not in STRETCHES:
            return False
        if not any(state.code == "open" for state in self.question.states):
            return False
        stop = self.question.stretch.end if self.question.stretch else None
        return stop is None or stop > self.scope.clock.now

    def build_local(self, column: str) -> str:
        """Seconds by the clock of the person's wall."""
        offsets = list_offsets(self.scope.clock.zone, _FIRST_YEAR, self.scope.clock.now.year + 2)
        if len({offset for _, offset in offsets}) == 1:
            return f"({column} + {offsets[0][1]:d})"
        # The latest first: nearly all moments are of these years, and each row is compared until one fits.
        cases = " ".join(f"WHEN {column} >= {second:d} THEN {offset:d}" for second, offset in reversed(offsets[1:]))
        return f"({column} + CASE {cases} ELSE {offsets[0][1]:d} END)"

    def build_join(self) -> str:
        """A record with several values of a list field stands in the group of each."""
        own = next((group.own_field for group in self.question.groups if group.own_field), "")
        if not own:
            return ""
        return f" LEFT JOIN choice g ON g.kind = {self.bind(self.subject.record)} AND g.field = {self.bind(own)} AND g.record = d.id"

    def build_key_condition(self, chosen: Sequence[Keys]) -> str:
        """True or false also for empty keys."""
        columns = [f"CAST({self.build_key(group)} AS TEXT)" for group in self.question.groups]
        if len(columns) > 1:
            groups = (zip(columns, keys, strict=True) for keys in chosen)
            return " OR ".join(f"({' AND '.join(f'{column} IS {self.bind(key)}' for column, key in group)})" for group in groups)
        present = [keys[0] for keys in chosen if keys[0] is not None]
        empty = f" OR {columns[0]} IS NULL" if len(present) < len(chosen) else ""
        return f"coalesce({columns[0]} IN ({self.bind_all(present)}), 0){empty}"

    def finish(self, sql: str) -> Statement:
        clock = self.scope.clock
        fixed: dict[str, str | int | float | None] = {
            "now": clock.second,
            "today": clock.today.isoformat(),
            "length_of": "F" if any(state.code == "lost" for state in self.question.states) else "S",
        }
        return Statement(sql, {**fixed, **self.values})


def _build_day_key(unit: TimeUnit, column: str) -> str:
    match unit:
        case "day":
            return column
        case "week":
            return f"date({column}, 'weekday 0', '-6 days')"
        case "month":
            return f"substr({column}, 1, 7)"
        case "quarter":
            return f"(substr({column}, 1, 4) || '-Q' || ((CAST(substr({column}, 6, 2) AS INTEGER) + 2) / 3))"
        case "year":
            return f"substr({column}, 1, 4)"
        case _:
            return f"((CAST(strftime('%w', {column}) AS INTEGER) + 6) % 7 + 1)"


def _build_moment_key(unit: TimeUnit, local: str) -> str:
    match unit:
        case "hour":
            return f"strftime('%H', {local}, 'unixepoch')"
        case "weekday":
            return f"(({local} / 86400 + 3) % 7 + 1)"
        case "week":
            return f"date((({local} / 86400 + 3) / 7 * 7 - 3) * 86400, 'unixepoch')"
        case _:
            return _build_day_key(unit, f"date({local}, 'unixepoch')") if unit != "day" else f"date({local}, 'unixepoch')"


def find_measure(question: Question, code: str, definitions: Definitions) -> Measure:
    """In the reading that the owner chose."""
    measures = question.subject.measures
    if code in {"avg", "median"} and definitions.choices["average"] == "with_zeros" and f"{code}_with_zeros" in measures:
        return measures[f"{code}_with_zeros"]
    if code == "weighted" and definitions.choices["weight"] != "mixed":
        return measures[f"weighted_by_{definitions.choices['weight']}"]
    return measures[code]


def list_measures(question: Question, definitions: Definitions) -> tuple[Measure, ...]:
    """A share is of one whole, so its amounts are always of the base currency."""
    measures = []
    for choice in question.measures:
        measure = find_measure(question, choice.code, definitions)
        if question.is_in_own_currency and not choice.is_share:
            measure = replace(measure, parts=tuple(part.replace("d.base", "d.amount") for part in measure.parts))
        measures.append(measure)
    return tuple(measures)


def compile_groups(question: Question, stretch: Stretch | None, scope: Scope) -> Statement:
    """Rows of keys, the number of records and the parts of all measures; without keys, one row of totals."""
    builder = _Builder(question, scope)
    source = builder.build_source() + builder.build_join()
    keys = [builder.build_key(group) for group in question.groups]
    parts = [part for measure in list_measures(question, scope.definitions) for part in measure.parts]
    conditions = builder.list_conditions(stretch)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
    return builder.finish(f"SELECT {', '.join([*keys, 'count(*)', *parts])} FROM {source}{where}{grouped}")  # noqa: S608 - of the vocabulary


def compile_funnel(question: Question, stretch: Stretch, scope: Scope) -> Statement:
    """Of the deals of the funnel that were created then: (highest stage reached, count, won, lost)."""
    builder = _Builder(question, scope)
    conditions = [f"d.funnel = {builder.bind(question.funnel)}", *builder.list_conditions(stretch)]
    sql = (
        "SELECT d.reached, count(*), coalesce(sum(d.semantics = 'S'), 0), coalesce(sum(d.semantics = 'F'), 0)"  # noqa: S608
        f" FROM deal d WHERE {' AND '.join(conditions)} GROUP BY 1"
    )
    return builder.finish(sql)


def compile_reached(question: Question, sort: int, scope: Scope, limit: int) -> Statement:
    """The deals of a cohort that have been on the stage of this place or on a later one."""
    builder = _Builder(question, scope)
    conditions = [
        f"d.funnel = {builder.bind(question.funnel)}",
        *builder.list_conditions(question.stretch),
        f"d.reached >= {builder.bind(sort)}",
    ]
    return builder.finish(f"SELECT d.id FROM deal d WHERE {' AND '.join(conditions)} ORDER BY 1 DESC LIMIT {int(limit):d}")  # noqa: S608


def compile_open_at(question: Question, moment: datetime, keys: Keys, scope: Scope, limit: int) -> Statement:
    """The deals that were on a stage in work just before `moment`."""
    question = _ask_of_then(question)
    builder = _Builder(question, scope)
    second = builder.bind(int(moment.timestamp()))
    conditions = [*builder.list_conditions(None), "m.semantics = 'P'", f"m.entered < {second}", f"(m.left IS NULL OR m.left >= {second})"]
    for group, key in zip(question.groups, keys, strict=False):
        conditions.append(f"CAST({_STAY_KEYS.get(group.code, builder.build_key(group))} AS TEXT) IS {builder.bind(key)}")
    sql = (
        f"SELECT DISTINCT d.id FROM {_STAYS} m JOIN deal d ON d.id = m.deal WHERE {' AND '.join(conditions)}"  # noqa: S608
        f" ORDER BY 1 DESC LIMIT {int(limit):d}"
    )
    return builder.finish(sql)


def compile_without_history(question: Question, scope: Scope) -> Statement:
    """How many deals have no moves, so that nobody knows on which stages they were."""
    builder = _Builder(question, scope)
    conditions = [*builder.list_conditions(None), "NOT EXISTS (SELECT 1 FROM move m WHERE m.deal = d.id)"]
    return builder.finish(f"SELECT count(*) FROM deal d WHERE {' AND '.join(conditions)}")  # noqa: S608 - of the vocabulary


def compile_product_deals(question: Question, stretch: Stretch | None, scope: Scope, limit: int) -> Statement:
    """(id, currency, keys…) of the deals whose product rows are read."""
    builder = _Builder(question, scope)
    source = builder.build_source() + builder.build_join()
    keys = [builder.build_key(group) for group in question.groups]
    conditions = builder.list_conditions(stretch)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return builder.finish(f"SELECT {', '.join(['d.id', 'd.currency', *keys])} FROM {source}{where} LIMIT {int(limit):d}")  # noqa: S608


def compile_stays(question: Question, scope: Scope, bound: str, moment: datetime | None = None) -> Statement:
    """Stays on stages in work, by the day on which they began or ended: (day or None, keys, count, hundredths).

    What was open at a moment is what had begun before it, less what had ended before it.
    """
    question = _ask_of_then(question)
    builder = _Builder(question, scope)
    column = {"began": "m.entered", "ended": "m.left"}[bound]
    keys = [_STAY_KEYS.get(group.code, builder.build_key(group)) for group in question.groups]
    conditions = [condition for condition in builder.list_conditions(None) if condition]
    conditions += ["m.semantics = 'P'", f"{column} IS NOT NULL"]
    if moment is not None:
        second = builder.bind(int(moment.timestamp()))
        conditions += [f"{column} < {second}", f"(m.left IS NULL OR m.left >= {second})"]
        day = "''"
    else:
        unit = question.at_unit or "day"
        if question.stretch is not None and question.stretch.start is not None:
            # What ended before the first moment counts at none of them. The sign keeps SQLite from its index, as most rows fit.
            conditions.append(f"(m.left IS NULL OR +m.left >= {builder.bind(int(question.stretch.start.timestamp()))})")
        day = _build_moment_key(unit, builder.build_local(column))
    grouped = ", ".join(map(str, range(1, len(keys) + 2)))
    sql = (
        f"SELECT {', '.join([day, *keys])}, count(*), coalesce(sum(d.base), 0)"  # noqa: S608
        f" FROM {_STAYS} m JOIN deal d ON d.id = m.deal WHERE {' AND '.join(conditions)} GROUP BY {grouped}"
    )
    return builder.finish(sql)


def _ask_of_then(question: Question) -> Question:
    """A filter of the stage or the funnel means that of then: where a deal is now says nothing of it."""
    conditions = tuple(
        replace(condition, field=replace(condition.field, sql=_THEN[condition.field.sql])) if condition.field.sql in _THEN else condition
        for condition in question.conditions
    )
    return replace(question, conditions=conditions)


_STAY_KEYS: Final = {"stage": "m.stage", "funnel": "m.funnel"}
_THEN: Final = {"d.stage": "m.stage", "d.funnel": "m.funnel", "d.semantics": "m.semantics"}
_STAYS: Final = (
    "(SELECT deal, funnel, stage, semantics, entered, left FROM move UNION ALL"
    " SELECT e.id, e.funnel, CASE WHEN e.semantics = 'P' THEN e.stage END, 'P', e.created, e.closed FROM deal e"
    " WHERE NOT EXISTS (SELECT 1 FROM move h WHERE h.deal = e.id))"
)
"""A deal without history was open from its creation to its closing; on which stage, is known only of those that are open now."""


def compile_records(question: Question, chosen: Sequence[Keys], scope: Scope, limit: int, *, is_rest: bool = False) -> Statement:
    """The ids behind a number, the newest first: of the groups `chosen`, of all but these, or of all if there are none."""
    builder = _Builder(question, scope)
    source = builder.build_source() + builder.build_join()
    conditions = builder.list_conditions(question.stretch)
    if chosen:
        conditions.append(f"{'NOT ' if is_rest else ''}({builder.build_key_condition(chosen)})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    key_column = "d.deal" if question.subject.name == "moves" else question.subject.key
    sql = f"SELECT DISTINCT {key_column} FROM {source}{where} ORDER BY 1 DESC LIMIT {int(limit):d}"  # noqa: S608
    return builder.finish(sql)


_LEFT_OUT: Final = {
    "without_sum": "coalesce(d.amount, 0) = 0",
    "without_rate": "d.amount <> 0 AND d.base IS NULL",
    "foreign": "d.base <> 0 AND d.currency <> (SELECT r.currency FROM rate r WHERE r.is_base = 1)",
    "dismissed": "d.person IN (SELECT p.id FROM person p WHERE p.is_active = 0)",
    "past_expected": "d.expected < :today",
    "no_expected": "d.expected IS NULL",
    "no_chance": f"d.base <> 0 AND d.probability IS NULL AND {CHANCE} IS NULL",
    "no_history": "d.semantics <> 'P' AND NOT EXISTS (SELECT 1 FROM move m WHERE m.deal = d.id)",
}
MONEY: Final = frozenset({"sum", "avg", "median", "max", "won_sum", "lost_sum", "weighted"})


def list_left_out(question: Question) -> tuple[str, ...]:
    """What is told beside the numbers of this question."""
    subject, codes = question.subject, {choice.code for choice in question.measures}
    is_converted = any(choice.code in MONEY and (choice.is_share or not question.is_in_own_currency) for choice in question.measures)
    if subject.name in {"companies", "moves", "products"} or question.funnel is not None:
        return ()
    is_told = {
        "without_sum": bool(codes & MONEY),
        "without_rate": is_converted,
        "foreign": is_converted,
        "dismissed": any(group.code in {"person", "department"} for group in question.groups),
        "past_expected": "expected" in subject.times and (question.by == "expected" or "weighted" in codes),
        "no_expected": "weighted" in codes and question.stretch is None,
        "no_chance": "weighted" in codes,
        "no_history": subject.name == "deals" and question.by == "closed",
    }
    return tuple(code for code in _LEFT_OUT if is_told[code])


def compile_left_out(question: Question, scope: Scope) -> Statement:
    """One row: how many records of the question each of `list_left_out` holds of."""
    builder = _Builder(question, scope)
    parts = [f"coalesce(sum({_LEFT_OUT[code]}), 0)" for code in list_left_out(question)]
    conditions = builder.list_conditions(question.stretch)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return builder.finish(f"SELECT {', '.join(parts)} FROM {builder.build_source()}{where}")  # noqa: S608 - of the vocabulary
