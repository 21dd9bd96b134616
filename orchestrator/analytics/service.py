"""Answers questions of the grammar: reads, has counted, and builds the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from orchestrator.analytics.again import choose_question
from orchestrator.analytics.answer import AnswerBuilder
from orchestrator.analytics.columns import build_funnel, build_states, list_class_keys
from orchestrator.analytics.company_plan import find_company_plan, split_company_plan
from orchestrator.analytics.compiler import (
    Keys,
    Scope,
    compile_funnel,
    compile_open_at,
    compile_reached,
    compile_records,
    compile_stays,
    compile_without_history,
)
from orchestrator.analytics.counting import Counter, CountingFailed
from orchestrator.analytics.crm_subjects import DEALS, PRODUCTS
from orchestrator.analytics.definitions import Definitions
from orchestrator.analytics.facts import FACTS, Facts, build_facts
from orchestrator.analytics.findings import Findings
from orchestrator.analytics.jobs import build_job, narrow_to_planned
from orchestrator.analytics.labels import Labels, Names
from orchestrator.analytics.names import show_name
from orchestrator.analytics.products import MOST_DEALS, ProductRows, ProductsUnread, TooManyDeals, count_products, list_product_deals
from orchestrator.analytics.question import Condition, Question
from orchestrator.analytics.question_reader import read_question
from orchestrator.analytics.reading import Misunderstood
from orchestrator.analytics.statements import Statement
from orchestrator.analytics.stretches import Clock, find_days, list_keys, write_key
from orchestrator.analytics.words import say
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.language.text import Locale, quote
from state.stored import JsonObject

MOST_RECORDS: Final = 2_500
_UNKEPT: Final = "No other question gets it, so tell the person the reason."
_FOREIGN: Final = "The person does not see the records of those whom the filter names, so there is no number; say so."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks. `sees`: the persons whose records count, None means all; `clock` runs by the portal's time."""

    clock: Clock
    sees: frozenset[int] | None
    locale: Locale
    names: Names


class Analytics:
    def __init__(self, counter: Counter, definitions: Definitions, products: ProductRows | None = None) -> None:
        self._counter = counter
        self._products = products
        self._definitions = definitions

    async def answer(self, path: Path, params: object, asker: Asker, *, last: JsonObject | None = None) -> ReportAnswer | ReportTrouble:
        """`params` is the step's: a question, or {"again": changes} of the question `last`. Raises nothing of bad input."""
        try:
            facts = await self._read_facts(path)
            question = self._read_question(choose_question(params, last), asker, facts)
            if names_only_others(question, asker.sees):
                return ReportTrouble(code="foreign", text=say("troubles", "foreign", asker.locale), detail=_FOREIGN)
            names = asker.names
            if question.subject is PRODUCTS:
                findings, product_names = await self._count_products(path, question, facts, self._build_scope(asker))
                names = _WithProducts(names, product_names)
            else:
                findings = await self._count(path, question, facts, self._build_scope(asker))
        except Misunderstood as fault:
            if fault.unkept:
                return ReportTrouble(code="unkept", text=say("unkept", fault.unkept, asker.locale), detail=f"{fault} {_UNKEPT}")
            code = "period" if fault.period else "question"
            words = quote(show_name(fault.period.removeprefix("@date:")), asker.locale)
            return ReportTrouble(code=code, text=say("troubles", code, asker.locale, words=words), detail=str(fault))
        except CountingFailed as failure:
            code = "too_long" if failure.is_late else "no_numbers"
            return ReportTrouble(code=code, text=say("troubles", code, asker.locale), detail=f"The report could not be counted: {failure}.")
        except TooManyDeals as failure:
            text = say("troubles", "products", asker.locale, most=MOST_DEALS)
            return ReportTrouble(code="products", text=text, detail=f"{failure}.")
        except ProductsUnread as failure:
            return ReportTrouble(code="no_products", text=say("troubles", "no_products", asker.locale), detail=f"{failure}.")
        labels = Labels(names, facts, asker.locale, asker.clock.zone)
        return await AnswerBuilder(question=question, scope=self._build_scope(asker), facts=facts, labels=labels).build(findings)

    async def list_records(
        self, path: Path, params: object, keys: Keys | None, asker: Asker, *, limit: int = MOST_RECORDS, besides: Sequence[Keys] = ()
    ) -> tuple[int, ...]:
        """The ids behind a number, the newest first: of the row with `keys`, of the rest that is `besides` the rows, or of all.

        Of moves and products these are deals. Raises Misunderstood, CountingFailed, TooManyDeals and ProductsUnread.
        """
        facts = await self._read_facts(path)
        question = self._read_question(params, asker, facts)
        if question.subject is PRODUCTS and keys and self._products is not None:
            sources = (self._counter, self._products)
            return (await list_product_deals(path, question, tuple(keys), facts, self._build_scope(asker), sources))[:limit]
        statement = await self._compile_records(path, _Drill(question, facts, self._build_scope(asker), limit), keys, besides)
        (rows,) = await self._counter.read(path, (statement,))
        return tuple(int(str(number)) for (number,) in rows)

    async def _compile_records(self, path: Path, drill: "_Drill", keys: Keys | None, besides: Sequence[Keys]) -> Statement:
        question, scope, limit = drill.question, drill.scope, drill.limit
        if question.funnel is not None:
            sorts = {stage.code: stage.sort for stage in drill.facts.stages.get("deal", ()) if stage.funnel == question.funnel}
            whole = replace(question, conditions=(*question.conditions, build_funnel_condition(question.funnel)), funnel=None)
            return compile_reached(question, sorts[keys[0] or ""], scope, limit) if keys else compile_records(whole, (), scope, limit)
        if question.at_unit is not None or question.at_moment is not None:
            moment, rest = find_moment(question, keys, scope.clock)
            return compile_open_at(question, moment, rest, scope, limit)
        if question.has_classes and keys:
            findings = await self._counter.count(path, build_job(question, scope))
            return compile_records(question, list_class_keys(findings, keys[0] or ""), scope, limit)
        if question.has_classes:  # what has no name is in no class
            besides = [(None,)]
        return compile_records(narrow_to_planned(question), [keys] if keys else besides, scope, limit, is_rest=not keys)

    def _read_question(self, params: object, asker: Asker, facts: Facts) -> Question:
        """Raises Misunderstood."""
        unplanned = split_company_plan(params)
        question = read_question(params if unplanned is None else unplanned, asker.clock, facts)
        amount = None if unplanned is None else find_company_plan(question, self._definitions, asker.sees)
        if unplanned is not None and amount is not None:
            question = read_question({**unplanned, "plan": amount}, asker.clock, facts)
        if question.at_unit is not None and not list_moments(question, asker.clock):
            raise Misunderstood(
                f'"at" counts at the first day of each {question.at_unit}, and the period has none that has been: '
                "take a longer period or a smaller unit."
            )
        return _drop_others_plans(question, asker.sees)

    def _build_scope(self, asker: Asker) -> Scope:
        return Scope(clock=asker.clock, sees=asker.sees, definitions=self._definitions)

    async def _read_facts(self, path: Path) -> Facts:
        return build_facts(await self._counter.read(path, FACTS))

    async def _count_products(self, path: Path, question: Question, facts: Facts, scope: Scope) -> tuple[Findings, Mapping[str, str]]:
        if self._products is None:
            raise ProductsUnread("product rows are not read here")
        return await count_products(path, question, facts, scope, (self._counter, self._products))

    async def _count(self, path: Path, question: Question, facts: Facts, scope: Scope) -> Findings:
        if question.funnel is not None and question.stretch is not None:
            cohorts = [compile_funnel(question, question.stretch, scope)]
            if question.compared is not None:
                cohorts.append(compile_funnel(question, question.compared, scope))
            tables = await self._counter.read(path, tuple(cohorts))
            stages = [stage for stage in facts.stages.get("deal", ()) if stage.funnel == question.funnel and stage.semantics != "F"]
            return build_funnel(stages, tables[0], tables[1] if len(tables) > 1 else None)
        if question.at_unit is not None:
            moments = list_moments(question, scope.clock)
            stays = [compile_stays(question, scope, bound) for bound in ("began", "ended")]
            began, ended, absent = await self._counter.read(path, (*stays, compile_without_history(question, scope)))
            return replace(build_states(question, moments, began, ended), left_out=(int(str(absent[0][0])),))
        if question.at_moment is not None:
            stays = [compile_stays(question, scope, bound, question.at_moment) for bound in ("began", "ended")]
            began, ended, absent = await self._counter.read(path, (*stays, compile_without_history(question, scope)))
            findings = replace(build_states(question, ("~",), began, ended), left_out=(int(str(absent[0][0])),))
            return replace(findings, rows=tuple(replace(row, keys=row.keys[1:]) for row in findings.rows if len(row.keys) > 1))
        return await self._counter.count(path, build_job(question, scope))


@dataclass(frozen=True, slots=True)
class _WithProducts:
    """Names of products come with their rows."""

    names: Names
    products: Mapping[str, str]

    async def find_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:
        return self.products if what == "product" else await self.names.find_names(what, record, codes)

    async def find_field_title(self, record: str, field: str) -> str:
        return await self.names.find_field_title(record, field)


@dataclass(frozen=True, slots=True)
class _Drill:
    question: Question
    facts: Facts
    scope: Scope
    limit: int


def names_only_others(question: Question, sees: frozenset[int] | None) -> bool:
    """A zero would look like their number. As the gate does with a list."""
    if question.per is not None and names_only_others(question.per, sees):
        return True
    if question.plan is not None and question.plan.total is None and not question.plan.by_person:
        return True
    owner = question.subject.owner
    conditions = [condition for condition in question.conditions if condition.field.sql == owner and condition.operator == "in"]
    return sees is not None and any(
        not sees.intersection(value for value in condition.values if value is not None) for condition in conditions
    )


def _drop_others_plans(question: Question, sees: frozenset[int] | None) -> Question:
    """Beside the plan of somebody whose records are not seen nothing would look like nothing done."""
    if question.plan is None or sees is None:
        return question
    own = tuple((person, amount) for person, amount in question.plan.by_person if person in sees)
    return replace(question, plan=replace(question.plan, by_person=own))


def build_funnel_condition(number: int) -> Condition:
    return Condition("CATEGORY_ID", DEALS.fields["CATEGORY_ID"], "in", (number,))


def find_moment(question: Question, keys: Keys | None, clock: Clock) -> tuple[datetime, Keys]:
    """Of a row its own moment and the rest of its keys; of no row the last moment."""
    if question.at_moment is not None:
        return question.at_moment, keys or ()
    moments = list_moments(question, clock)
    key = (keys[0] if keys else moments[-1]) or ""
    return clock.find_midnight(find_days(question.at_unit or "day", key)[0]), keys[1:] if keys else ()


def list_moments(question: Question, clock: Clock) -> tuple[str, ...]:
    """The beginnings of the units in the period, as keys; of an unfinished unit also its end, for the state now."""
    stretch, unit = question.stretch, question.at_unit
    if stretch is None or stretch.start is None or unit is None:
        return ()
    stop = min(stretch.end or clock.now, clock.now).astimezone(clock.here.tzinfo).date()
    first = stretch.start.date()
    keys = tuple(key for key in list_keys(unit, first, stop) if find_days(unit, key)[0] >= first)
    if not stretch.is_unfinished(clock):
        return keys
    end = find_days(unit, list_keys(unit, clock.today, clock.today)[0])[1]
    return (*keys, write_key(unit, end))
