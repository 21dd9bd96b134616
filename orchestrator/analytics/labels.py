"""Names of what a report speaks of: of groups, of the values of a filter, of fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from orchestrator.analytics.facts import Facts
from orchestrator.analytics.findings import Found
from orchestrator.analytics.formatting import format_date, format_month
from orchestrator.analytics.question import Condition, Group, Operator, Question
from orchestrator.analytics.stretches import find_days
from orchestrator.analytics.vocabulary import PAST, STRETCHES, TimeUnit
from orchestrator.analytics.words import find_words, say
from orchestrator.language.text import Locale, format_number, to_visible_line

_LONGEST: Final = 120
_NUMBERED: Final = frozenset({"person", "author", "department", "company", "funnel"})
_BOUNDS: Final[Mapping[Operator, tuple[str, str]]] = {
    "<": ("less", "before"),
    "<=": ("at_most", "not_after"),
    ">": ("more", "after"),
    ">=": ("at_least", "not_before"),
}
"""Words of a bound: of a number, and of a time."""
_FIELD_DIMENSIONS: Final[Mapping[str, str]] = {
    "ASSIGNED_BY_ID": "person",
    "RESPONSIBLE_ID": "person",
    "PORTAL_USER_ID": "person",
    "CREATED_BY": "author",
    "STAGE_ID": "stage",
    "STATUS_ID": "stage",
    "FROM_STAGE_ID": "from_stage",
    "SOURCE_ID": "source",
    "CATEGORY_ID": "funnel",
    "COMPANY_ID": "company",
    "CURRENCY_ID": "currency",
    "TYPE_ID": "type",
    "STAGE_SEMANTIC_ID": "status",
    "STATUS_SEMANTIC_ID": "status",
    "COMPLETED": "status",
    "CALL_TYPE": "direction",
    "DIRECTION": "direction",
    "ID": "number",
    "OPPORTUNITY": "amount",
    "SUM": "amount",
    "PROBABILITY": "probability",
    "DATE_CREATE": "created",
    "CREATED": "created",
    "CREATED_DATE": "created",
    "CLOSEDATE": "expected",
    "MOVED_TIME": "moved",
    "LAST_ACTIVITY_TIME": "active",
    "CALL_START_DATE": "started",
    "START_TIME": "started",
    "CLOSED_DATE": "done",
    "CALL_DURATION": "duration",
}


class Names(Protocol):
    """What the portal calls its records and codes; who asks has the right to know them."""

    async def find_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:
        """Code → name; a code without one is left out.

        `what` is person, department, source, stage, company, funnel, type, or "field:" and the name of a list field; `record` is the kind
        of record that has it: deal, lead, item:31, call, activity, task.
        """

    async def find_field_title(self, record: str, field: str) -> str:
        """ "" if it has none."""


@dataclass(frozen=True, slots=True)
class Labels:
    names: Names
    facts: Facts
    locale: Locale
    zone: str

    async def name_rows(self, question: Question, rows: Sequence[Found]) -> list[tuple[str, ...]]:
        columns = []
        for place, group in enumerate(question.groups):
            codes = list(dict.fromkeys(row.keys[place] for row in rows))
            columns.append(await self.name_codes(question, group, codes))
        return [tuple(column[code] for column, code in zip(columns, row.keys, strict=False)) for row in rows]

    async def name_codes(self, question: Question, group: Group, codes: Sequence[str | None]) -> dict[str | None, str]:
        present = [code for code in codes if code is not None]
        names_by_code = await self._name_present(question, group, present)
        labels: dict[str | None, str] = {}
        for code in present:
            name = to_visible_line(names_by_code.get(code, ""), limit=_LONGEST)
            labels[code] = name or (format_number(code, self.locale) if group.code in _NUMBERED else code)
        empty = find_words("empty", self.locale)
        labels[None] = empty.get(group.code) or empty.get("stage" if group.code in {"lost_from", "from_stage"} else "other", "")
        return labels

    async def _name_present(self, question: Question, group: Group, codes: Sequence[str]) -> Mapping[str, str]:
        if group.unit in STRETCHES and group.unit is not None:
            return {code: format_key(group.unit, code, self.locale) for code in codes}
        record = question.subject.record
        if group.own_field:
            return await self.names.find_names(f"field:{group.own_field}", record, codes)
        if group.unit == "hour":
            return {code: f"{code}:00" for code in codes}
        own_words: Mapping[str, str] = find_words("codes", self.locale).get(group.code if group.unit is None else group.unit, {})
        dimension = question.subject.dimensions.get(group.code)
        if dimension is None or not dimension.names:
            return own_words
        names_by_code = dict(await self.names.find_names(dimension.names, record, codes))
        if dimension.names == "person":
            return {code: self._mark_dismissed(code, names_by_code.get(code) or format_number(code, self.locale)) for code in codes}
        if dimension.names == "stage":
            return await self._add_funnels(record, codes, names_by_code)
        return names_by_code

    def _mark_dismissed(self, code: str, name: str) -> str:
        is_dismissed = code.isdecimal() and int(code) in self.facts.dismissed
        return say("answer", "dismissed", self.locale, name=name) if is_dismissed else name

    async def _add_funnels(self, record: str, codes: Sequence[str], names_by_code: Mapping[str, str]) -> dict[str, str]:
        """Stages of several funnels have the same names."""
        funnels = {stage.code: stage.funnel for stage in self.facts.stages.get(record, ())}
        present = {funnels[code] for code in codes if code in funnels}
        if len(present) < 2:  # noqa: PLR2004 - one funnel needs no name
            return dict(names_by_code)
        of_funnels = await self.names.find_names("funnel", record, [str(number) for number in present])
        labels = {}
        for code in codes:
            number = str(funnels.get(code, ""))
            funnel = of_funnels.get(number) or (format_number(number, self.locale) if number else "")
            labels[code] = f"{names_by_code.get(code) or code} ({funnel})" if funnel else names_by_code.get(code) or code
        return labels

    async def describe_condition(self, question: Question, condition: Condition) -> str:
        """«Источник: сайт, реклама», «Сумма больше 1 000 000», «Создано раньше 31 октября»."""
        code = _FIELD_DIMENSIONS.get(condition.code.upper(), condition.code.lower())
        words = find_words("dimensions", self.locale)
        title = (
            name_group_word("dimensions", code, question, self.locale)
            if code in words
            else await self.names.find_field_title(question.subject.record, condition.code) or condition.code
        )
        values = await self._name_values(question, code, condition)
        if condition.values == (None,) and condition.operator == "not_in":
            return f"{title}: {say('answer', 'present', self.locale)}"
        if condition.operator == "not_in":
            without = say("answer", "excluding", self.locale, values=", ".join(values))
            return without if code in _NUMBERED else f"{title}: {without}"
        if condition.operator == "in":
            return f"{title}: {', '.join(values)}"
        in_time = condition.field.kind in {"moment", "day"}
        return f"{title} {say('answer', _BOUNDS[condition.operator][in_time], self.locale, value=', '.join(values))}"

    async def _name_values(self, question: Question, code: str, condition: Condition) -> list[str]:
        empty = say("answer", "empty", self.locale)
        codes = [None if value is None else str(value) for value in condition.values]
        if condition.own_field:
            names_by_code = await self.name_codes(question, Group(condition.own_field, own_field=condition.own_field), codes)
        elif code in question.subject.dimensions:
            names_by_code = await self.name_codes(question, Group(code), codes)
        else:
            names_by_code = {}
        if condition.field.kind == "moment":
            return [
                format_date(datetime.fromtimestamp(int(value or 0), ZoneInfo(self.zone)).date(), self.locale) for value in condition.values
            ]
        if condition.field.kind == "day":
            return [format_date(date.fromisoformat(str(value)), self.locale) for value in condition.values]
        if condition.field.kind == "money":
            return [empty if value is None else f"{int(value) / 100:,.0f}".replace(",", "\u00a0") for value in condition.values]
        return [empty if value is None else names_by_code.get(str(value), str(value)) for value in condition.values]


def name_group_word(section: str, code: str, question: Question, locale: Locale) -> str:
    """Of a subject whose people or stages are called otherwise, its own word."""
    words = find_words(section, locale)
    return str(words.get(f"{code}.{question.subject.name}") or words[code])


def format_key(unit: TimeUnit, key: str, locale: Locale) -> str:
    if key == PAST:
        return say("periods", "past", locale)
    try:
        first, stop = find_days(unit, key)
    except ValueError:
        return key
    match unit:
        case "month":
            return format_month(first, locale)
        case "quarter":
            return say("periods", "quarter", locale, number=(first.month + 2) // 3, year=first.year)
        case "year":
            return say("periods", "year", locale, year=first.year)
        case "week":
            last = stop - timedelta(days=1)
            head = str(first.day) if first.month == last.month else format_date(first, locale, has_year=False)
            return say("periods", "week", locale, first=head, last=format_date(last, locale, has_year=False))
        case _:
            return format_date(first, locale, has_year=False)
