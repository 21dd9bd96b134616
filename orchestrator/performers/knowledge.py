"""Performs effects of kind `knowledge`: answers from the catalogue, the journal and documents; the portal gives only names."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bitrix.catalogue.catalogue import Catalogue, Entity, FieldInfo, Method
from bitrix.catalogue.names import is_custom_field, to_field_key, to_universal
from bitrix.errors import BitrixError
from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.own_reads import DAY, DOCUMENTS, HELP, REPORT, DocumentAnswer, HelpTexts, RecordHistory
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.knowledge_methods import DayQuestion, DocumentQuestion, HistoryQuestion, ReportQuestion
from orchestrator.gate.call.modes import describe_classes, is_closed
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded
from orchestrator.gate.decide.field_checks import may_have
from orchestrator.gate.normalize.nearest_method import find_nearest_method
from orchestrator.language.text import Locale
from state.journal.store import StoreError
from state.stored import JsonObject

_NEAR: Final = 6
_GROUP: Final = 60
_SAMPLE_FIELDS: Final = 3
_NO_SAMPLES: Final = frozenset({"text", "prose", "number", "flag", "category"})
_ALIKE: Final = 0.6
_SHOWN_NAME: Final = 100


def describe_method(name: str, catalogue: Catalogue, policy: Policy, texts: HelpTexts) -> str | None:
    """For no method, name those that begin so; None if there is none."""
    if (step := texts.steps.get(name.strip().lower())) is not None:
        return step
    method = catalogue.find(name)
    if method is not None:
        return "\n".join(_describe(method, catalogue.entities.get(method.entity), policy, texts))
    start = f"{name.strip().lower().rstrip('.*')}."
    group = sorted(one.name for one in catalogue if one.name.lower().startswith(start) and not is_closed(one, policy))
    if group:
        more = f" and {len(group) - _GROUP} more" if len(group) > _GROUP else ""
        return f"{escape_text(name, limit=_SHOWN_NAME)} is no method but a group: {', '.join(group[:_GROUP])}{more}"
    return None


def list_near_methods(name: str, catalogue: Catalogue, texts: HelpTexts) -> list[str]:
    by_lower = {one.lower(): one for one in (*(method.name for method in catalogue), *texts.steps)}
    likely = find_nearest_method(name, catalogue)
    alike = difflib.get_close_matches(name.strip().lower(), by_lower, n=_NEAR, cutoff=_ALIKE)
    return list(dict.fromkeys([*([likely] if likely else []), *(by_lower[one] for one in alike)]))[:_NEAR]


def _describe(method: Method, entity: Entity | None, policy: Policy, texts: HelpTexts) -> Iterator[str]:
    closed = is_closed(method, policy)
    yield f"{method.name}: {describe_classes(method)}{'; CLOSED by the rules of this company: it will be refused' if closed else ''}"
    yield f"needs: {', '.join(method.required) or 'nothing'}"
    more = [name for name in method.params if name not in method.required]
    if more:
        yield f"may have: {'any parameters' if '*' in more else ', '.join(more)}"
    if entity is not None and (lines := [_describe_field(name, info, method) for name, info in _list_fields(method, entity)]):
        where = "filter, select and order name" if method.verb == "list" else f"{method.fields_at or 'the parameters'} may have"
        marked = " (* a change asks a person)" if any(line.endswith("*") for line in lines) else ""
        yield f"{where} these fields, and the company's own ones{marked}: {'; '.join(dict.fromkeys(lines))}"
    if method.note:
        yield f"note: {method.note}"
    yield f"example: {_build_example(method, entity, texts)}"


def _list_fields(method: Method, entity: Entity) -> Iterable[tuple[str, FieldInfo]]:
    """Those that the gate takes."""
    has_fields = "filter" in method.param_names if method.verb == "list" else method.verb in {"add", "update"} and method.fields_at
    if not has_fields:
        return ()
    return [(name, info) for name, info in entity.fields.items() if may_have(method, _spell(name, method))]


def _describe_field(name: str, info: FieldInfo, method: Method) -> str:
    asks = to_field_key(name, method.entity) in {to_field_key(one, method.entity) for one in method.critical}
    return f"{_spell(name, method)} {info.kind} «{info.ru}»{'*' if asks and method.verb == 'update' else ''}"


def _spell(name: str, method: Method) -> str:
    return to_universal(name, method.entity) if method.name.startswith("crm.item.") and not is_custom_field(name) else name


def _build_example(method: Method, entity: Entity | None, texts: HelpTexts) -> str:
    worked = texts.examples.get(method.name)
    params = worked if worked is not None else _make_params(method, entity, texts.samples)
    return json.dumps({"method": method.name, "params": params}, ensure_ascii=False, separators=(",", ":"))


def _make_params(method: Method, entity: Entity | None, samples: Mapping[str, object]) -> dict[str, object]:
    params: dict[str, object] = {}
    for path in method.required:
        _put(params, path.split("."), samples.get(path.rpartition(".")[2].lstrip("="), _find_sample(path, entity, samples)))
    place = method.fields_at
    if entity is not None and place in method.required:
        taken = list(_list_fields(method, entity))
        titled = [(name, info) for name, info in taken if name == entity.title_field]
        others = [(name, info) for name, info in taken if info.kind not in _NO_SAMPLES]
        sample_fields = [*titled, *others][:_SAMPLE_FIELDS]
        params[place] = {_spell(name, method): samples[info.kind] for name, info in sample_fields if info.kind in samples}
    return params


def _find_sample(path: str, entity: Entity | None, samples: Mapping[str, object]) -> object:
    name = path.rpartition(".")[2].lstrip("=")
    info = entity.fields.get(entity.by_key.get(to_field_key(name, entity.name), "")) if entity is not None else None
    return samples.get(info.kind if info is not None else "", 1 if name.lower().endswith("id") else "…")


def _put(params: dict[str, object], path: list[str], value: object) -> None:
    inner = params.setdefault(path[0], {}) if len(path) > 1 else params
    if len(path) == 1:
        params[path[0]] = value
    elif isinstance(inner, dict):
        _put(inner, path[1:], value)


class Histories(Protocol):
    async def read(self, *, target: str, zone: str, locale: Locale, texts: bool) -> RecordHistory:
        """Return its newest changes; with `texts` also long ones. Raises StoreError."""


class Documents(Protocol):
    async def ask(self, question: str, *, person: str, role: str) -> DocumentAnswer:
        """Search what this role may read, at the cost of `person`. Raises ServiceFailed."""


class Reports(Protocol):
    async def answer(self, question: JsonObject, *, sees: frozenset[int] | None, zone: str, locale: Locale) -> ReportAnswer | ReportTrouble:
        """Count over the records of the people `sees`, None for all. Raises no errors of portal or mirror."""


class Days(Protocol):
    async def read(self, person: str) -> DailyBody:
        """Their day, as /today shows it. May raise BitrixError."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeRooms:
    """What answers beside the catalogue and the journal."""

    documents: Documents
    reports: Reports
    days: Days


class KnowledgePerformer:
    portal = ""
    is_application = True

    def __init__(
        self,
        catalogue: Catalogue,
        policies: PolicySource,
        texts: HelpTexts,
        histories: Histories,
        rooms: KnowledgeRooms,
    ) -> None:
        self._catalogue = catalogue
        self._policies = policies
        self._texts = texts
        self._histories = histories
        self._documents = rooms.documents
        self._days = rooms.days
        self.reports = rooms.reports

    async def execute(self, call: Call) -> CallResult:
        if call.method == HELP:
            text = describe_method(str(call.params["method"]), self._catalogue, self._policies.now(), self._texts)
            return Succeeded(result={"text": text}) if text is not None else self._refuse_unknown(str(call.params["method"]))
        if call.method == DOCUMENTS:
            return await self._ask_documents(DocumentQuestion.model_validate(call.params))
        if call.method == REPORT:
            return await self._count(ReportQuestion.model_validate(call.params))
        if call.method == DAY:
            return await self._show_day(DayQuestion.model_validate(call.params))
        question = HistoryQuestion.model_validate(call.params)
        try:
            history = await self._histories.read(target=question.record, zone=question.zone, locale=question.locale, texts=question.texts)
        except StoreError as error:
            return Rejected(code="history-unread", detail=f"the journal cannot be read: {error}", sent=False)
        return Succeeded(result=history.to_json(), total=history.total, foreign_text=history.has_prose)

    def _refuse_unknown(self, name: str) -> Rejected:
        near = ", ".join(list_near_methods(name, self._catalogue, self._texts))
        detail = f"there is no method {escape_text(name, limit=_SHOWN_NAME)!r}; near it: {near or 'nothing'}"
        return Rejected(code="help-unknown", detail=detail, sent=False)

    async def _ask_documents(self, document_question: DocumentQuestion) -> CallResult:
        try:
            answer = await self._documents.ask(document_question.question, person=document_question.person, role=document_question.role)
        except ServiceFailed as error:
            return Rejected(code="documents-unavailable", detail=f"the documents cannot be searched: {error.reason}", sent=False)
        return Succeeded(result=answer.to_json(), total=len(answer.passages), foreign_text=True)

    async def _show_day(self, day_question: DayQuestion) -> CallResult:
        try:
            day = await self._days.read(day_question.person)
        except BitrixError as error:
            return Rejected(code="today-unreachable", detail=f"the day cannot be read: {error}", sent=False)
        return Succeeded(result=day.to_json())

    async def _count(self, report_question: ReportQuestion) -> CallResult:
        sees = None if report_question.sees == "all" else frozenset(report_question.sees)
        answer = await self.reports.answer(report_question.question, sees=sees, zone=report_question.zone, locale=report_question.locale)
        if isinstance(answer, ReportTrouble):
            return Rejected(code="report-trouble", detail=answer.detail, args={"text": answer.text}, sent=False)
        return Succeeded(result=answer.to_json(), total=answer.records)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Always unclear: a question is asked again."""
        del call, before
        return Reconciled(verdict="unclear")
