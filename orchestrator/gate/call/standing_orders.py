"""A standing order as one exact call: when, about which records, what then, to whom, until when. Pure."""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr

from orchestrator.domain.address import Address
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.standing_orders import LONGEST_DAYS, NEW, RECORD_KINDS, WATCHED_FIELDS, OrderCounted, OrderReader, OrderTerms
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.language.schedule_terms import Terms, TermsError, parse_terms
from state.canonical import NotCanonical, dumps
from state.clock import format_iso
from state.stored import JsonObject

ADD: Final = "order.add"
CHANGE: Final = "order.change"
REMOVE: Final = "order.remove"
LIST: Final = "order.list"
STEPS: Final = (ADD, LIST, CHANGE, REMOVE)
PERSON, SEES, LOCALE, ZONE = "person", "sees", "locale", "zone"
"""Always those of the requester, whatever was written."""
MARK: Final = "ORIGIN_ID"
ORDER: Final = "order"
CONDITION: Final = "if"
NAMES: Final = ("before", "now")
"""Of a condition: the record's fields before the change, and now."""
_SAMPLES: Final[Mapping[str, float]] = {"amount": 1.0, "person": 1, "funnel": 1, "company": 1, "status": 1}
_UNWATCHED: Final = ("company", "contact")
"""Understood, so that the person hears what can be watched instead."""
_SINGLE: Final = {kind: of for of, kind in RECORD_KINDS.items()}
_END_OF_DAY: Final = time(23, 59)
_MOST: Final = 8_000
_LONGEST_TEXT: Final = 500


def _check_size(value: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(dumps(value))
    except (NotCanonical, RecursionError) as error:
        msg = f"this is no JSON: {error}"
        raise ValueError(msg) from None
    if size > _MOST:
        msg = f"it has {size} characters, and {_MOST} are possible"
        raise ValueError(msg)
    return value


def _check_text(text: str) -> str:
    plain = " ".join(text.split())
    if not plain or not plain.isprintable():
        msg = "a short text is needed"
        raise ValueError(msg)
    return plain


def _check_condition(source: str) -> str:
    try:
        compile_condition(source, known=NAMES)
    except DefinitionRefused as error:
        raise ValueError(str(error)) from None
    return source


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Json = Annotated[dict[str, Any], AfterValidator(_check_size)]
Words = Annotated[StrictStr, Field(max_length=_LONGEST_TEXT), AfterValidator(_check_text)]
Readers = Annotated[list[OrderReader], BeforeValidator(_listed), Field(min_length=1, max_length=2)]
Names = Annotated[list[StrictStr], BeforeValidator(_listed), Field(min_length=1, max_length=8)]
Moment = Annotated[StrictStr, Field(max_length=40)]
RecordId = Annotated[StrictInt, Field(gt=0, lt=10**9)]


class _OrderPart(LateModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)


class ProposedStep(_OrderPart):
    method: Annotated[StrictStr, Field(min_length=3, max_length=100)]
    params: Json = Field(default_factory=dict)


class OrderParams(_OrderPart):
    """Unknown names are refused, and errors do not quote values."""

    at: Moment | None = None
    cron: Annotated[StrictStr, Field(max_length=100)] | None = None
    of: OrderCounted | None = None
    deal: RecordId | None = None
    lead: RecordId | None = None
    task: RecordId | None = None
    filter: Json | None = None
    where: StrictStr | list[StrictStr] | None = None
    changes: Names | None = None
    condition: Annotated[StrictStr, Field(max_length=500), AfterValidator(_check_condition)] | None = Field(default=None, alias=CONDITION)
    quiet: Annotated[StrictInt, Field(ge=1, le=LONGEST_DAYS)] | None = None
    text: Words | None = None
    report: Json | None = None
    propose: ProposedStep | None = None
    to: Readers | None = None
    until: Moment | None = None


class ChangeParams(_OrderPart):
    order: Annotated[StrictStr, Field(min_length=4, max_length=40)]
    at: Moment | None = None
    cron: Annotated[StrictStr, Field(max_length=100)] | None = None
    quiet: Annotated[StrictInt, Field(ge=1, le=LONGEST_DAYS)] | None = None
    text: Words | None = None
    to: Readers | None = None
    until: Moment | None = None
    status: Literal["pause", "resume"] | None = None


class RemoveParams(_OrderPart):
    order: Annotated[StrictStr, Field(min_length=4, max_length=40)]


class ListParams(_OrderPart):
    person: StrictStr = ""


def refuse_order(param: str, why: str, method: str = ADD) -> Refusal:
    return build_refusal("gate-order-unclear", method=method, param=param, why=why)


def _refuse_unwatched(named: str, counted: str) -> Refusal:
    possible = "; ".join(f"of {of} {', '.join([*fields, NEW])}" for of, fields in WATCHED_FIELDS.items() if counted in {of, ""})
    return build_refusal("gate-order-unwatched", named=named[:40], possible=possible)


def normalize_order(checked: JsonObject, *, zone: str) -> dict[str, Any]:
    """In the same grammar, one record as a filter. Idempotent. Raises Refusal for what has not exactly one meaning."""
    question = _build_question(checked)
    changes = _read_changes(checked, str(question.get("of") or ""))
    when = [name for name in ("at", "cron", "changes", "quiet") if checked.get(name)]
    if len(when) != 1:
        raise refuse_order("changes", "say exactly one of at, cron (a time), changes (fields of records) and quiet (days of silence)")
    if when[0] in {"at", "cron"}:
        _check_time(checked, question)
    elif not question:
        raise refuse_order("of", "say which records: deal, lead or task, or of with filter and where")
    if checked.get(CONDITION) and changes:
        _try_condition(str(checked[CONDITION]), str(question["of"]))
    done = [name for name in ("text", "report", "propose") if checked.get(name)]
    if "propose" in done and (len(done) > 1 or when[0] in {"at", "cron"}):
        raise refuse_order("propose", "a proposal stands alone, and needs the records that a change or silence finds")
    if checked.get("report") and (checked.get("text") or when[0] in {"changes", "quiet"}):
        raise refuse_order("report", "a report goes with a time, and without text")
    if checked.get(CONDITION) and not changes:
        raise refuse_order(CONDITION, "a condition compares a record before and after a change, so it needs changes")
    readers = list(dict.fromkeys(checked.get("to") or ("me",)))
    if "owner" in readers and (when[0] in {"at", "cron"} or checked.get("propose")):
        raise refuse_order("to", "only news of records go to their owners")
    terms = _read_time(checked, zone)
    if checked.get("until"):
        terms["until"] = read_end(str(checked["until"]), zone)
    content = {
        **question,
        "changes": changes,
        CONDITION: checked.get(CONDITION),
        **{name: checked.get(name) for name in ("quiet", "text", "report", "propose")},
        "to": readers if readers != ["me"] else None,
    }
    return {**terms, **{name: value for name, value in content.items() if value}, ZONE: zone}


def check_records(proposed: JsonObject) -> None:
    """Of what was written, before its shape is checked. Raises Refusal."""
    counted = str(proposed.get("of") or "")
    named = [name for name in _UNWATCHED if proposed.get(name)] + ([counted] if counted and counted not in WATCHED_FIELDS else [])
    if named:
        raise _refuse_unwatched(named[0], "")


def _try_condition(source: str, counted: str) -> None:
    """With a value in each field, so that a name or a comparison that can never be true is told now."""
    samples = {name: _SAMPLES.get(column, "x") for name, column in WATCHED_FIELDS[counted].items()}
    try:
        compile_condition(source, known=NAMES).evaluate({"before": samples, "now": samples})
    except ConditionFailed as error:
        raise refuse_order(CONDITION, f"{error}; the fields are {', '.join(samples)}") from None


def _build_question(checked: JsonObject) -> dict[str, Any]:
    single = [(name, checked[name]) for name in _SINGLE if checked.get(name)]
    named = {name: checked[name] for name in ("filter", "where") if checked.get(name) is not None}
    if not single:
        if named and not checked.get("of"):
            raise refuse_order("of", "say of which records: deals, leads or tasks")
        if "filter" in named:  # its words must be the same when the stored call is read again
            named["filter"] = dict(sorted(named["filter"].items()))
        return {"of": checked["of"], **named} if checked.get("of") else {}
    if len(single) > 1 or named or checked.get("of"):
        raise refuse_order(single[0][0], "one record stands alone, without of, filter and where")
    kind, number = single[0]
    return {"of": _SINGLE[kind], "filter": {"ID": number}}


def _read_changes(checked: JsonObject, counted: str) -> list[str]:
    names = [str(name) for name in checked.get("changes") or ()]
    known = WATCHED_FIELDS.get(counted, {})
    for name in names:
        if name != NEW and known and name not in known:
            raise _refuse_unwatched(name, counted)
    return list(dict.fromkeys(names))


def _check_time(checked: JsonObject, question: Mapping[str, Any]) -> None:
    if question:
        raise refuse_order("of", "at a time there is a text or a report; records go with changes or quiet")
    if not checked.get("text") and not checked.get("report"):
        raise refuse_order("report", "say what is to come at that time: text or report")


def _read_time(checked: JsonObject, zone: str) -> dict[str, Any]:
    at, cron = checked.get("at"), checked.get("cron")
    if not at and not cron:
        return {}
    terms = parse_order_time(at, cron, zone)
    return {"at": format_iso(terms.at)} if terms.at is not None else {"cron": terms.cron}


def parse_order_time(at: str | None, cron: str | None, zone: str, method: str = ADD) -> Terms:
    """Raises Refusal."""
    try:
        return parse_terms(at or None, cron or None, zone)
    except TermsError as error:
        raise refuse_order(error.param, error.detail, method) from None


def read_end(text: str, zone: str, method: str = ADD) -> str:
    """A day lasts until its end in the person's zone. Raises Refusal."""
    try:
        if "T" not in text:
            return format_iso(datetime.combine(date.fromisoformat(text.strip()), _END_OF_DAY, ZoneInfo(zone)))
        terms = parse_terms(text, None, zone)
    except TermsError as error:
        raise refuse_order("until", error.detail, method) from None
    except (ValueError, OverflowError):
        raise refuse_order("until", "a day such as 2026-12-31 or a moment with its offset is needed", method) from None
    return format_iso(terms.at) if terms.at is not None else text


def to_terms(params: JsonObject) -> OrderTerms:
    """Of a normalized call."""
    question = {name: params[name] for name in ("of", "filter", "where") if name in params}
    known = {name: params[name] for name in OrderTerms.model_fields if name in params}
    return OrderTerms.model_validate({**known, "question": question, "condition": params.get(CONDITION, "")})


def check_person(person: str, method: str) -> None:
    if not (Address.parse(person).is_messenger or Address.parse(person).is_pulled):
        raise build_refusal("gate-schedule-person", method=method)
