"""Resolves references ("@deal:Ромашка") by code, without guessing. Choosing a record is no consent to a change."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never
from zoneinfo import ZoneInfo

from bitrix.catalogue.names import is_custom_field, to_field_key
from bitrix.errors import BitrixError
from orchestrator.directory import ranking
from orchestrator.directory.answers import Option, Resolution, Resolved, Unresolved, build_choice, build_guess
from orchestrator.directory.answers import to_number as to_record_number
from orchestrator.directory.current_records import CURRENT, find_current, is_binding_field, list_tie_candidates
from orchestrator.directory.date_references import DatedCall, DateReferences
from orchestrator.directory.field_references import FieldReferences
from orchestrator.directory.naming import Naming
from orchestrator.directory.order_references import resolve_order
from orchestrator.directory.person_references import PersonReferences
from orchestrator.directory.portal_reads import PortalReader, list_searches
from orchestrator.directory.reference import ReferenceContext
from orchestrator.directory.shown_references import ShownPlace, resolve_shown
from orchestrator.directory.stage_references import StageReferences
from orchestrator.directory.value_references import (
    find_currency,
    find_field,
    find_siblings,
    has_field,
    resolve_sum,
    to_number,
    to_portal_money,
)
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.money_format import find_base_currency
from orchestrator.language.text import to_visible_line
from orchestrator.language.title_matching import extract_words, is_mentioned, list_search_pieces
from state.clock import Clock
from state.events.daily import list_waiting_reminders
from state.model.session_state import Reminder
from state.stored import JsonObject

_CUSTOMERS = {"contact": "CONTACT_ID", "company": "COMPANY_ID"}
_RECORDS = ("deal", "lead", "contact", "company", "task")


class Lookup:
    """May raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming, clock: Clock) -> None:
        self._reads = reads
        self._naming = naming
        self._dates = DateReferences(reads, naming, clock)
        self._fields = FieldReferences(reads, naming)
        self._people = PersonReferences(reads, naming)
        self._stages = StageReferences(reads, naming)

    async def resolve(self, reference: str, place: ReferenceContext) -> Resolution:
        kind, _, words = reference[1:].partition(":")
        words = words.strip()
        match kind:
            case "me":
                return self._resolve_me(place)
            case "current":
                return await self._resolve_current(place, find_field(reference, place.params))
            case "shown":
                return resolve_shown(words, reference, ShownPlace(place.method, place.params, place.state, place.text), self._naming)
            case "reminder":
                return _resolve_reminder(words, place)
            case "order":
                return resolve_order(words, place.state)
            case "user":
                return await self._people.resolve_user(words, place)
            case "stage":
                return await self._stages.resolve_stage(words, place)
            case "category":
                return await self._stages.resolve_category(words, place)
            case "date":
                call = DatedCall(method=place.method, params=place.params, actor=place.actor, chosen={})
                return await self._dates.resolve_field(
                    call, find_field(reference, place.params), words, find_siblings(reference, place.params)
                )
            case _:
                return await self._resolve_value(kind, words, reference, place)

    async def _resolve_value(self, kind: str, words: str, reference: str, place: ReferenceContext) -> Resolution:
        match kind:
            case "sum":
                return await self._resolve_sum(words, reference, place)
            case "field":
                return await self._fields.resolve_field(words, place.method, place.params)
            case "option":
                return await self._fields.resolve_option(words, reference, place.method, place.params)
            case "task":
                return await self._resolve_task(words, place)
            case _:
                return await self.find_record(kind, words, place.actor, place.text)

    async def _resolve_task(self, words: str, place: ReferenceContext) -> Resolution:
        """One of the person's, else one set for a colleague in this conversation."""
        record = await self.find_record("task", words, place.actor, place.text, is_forgiving=False)
        if not isinstance(record, Unresolved) or record.notice.code != "not-found":
            return record
        task_numbers = [number for item in place.state.agent.done if (number := _find_made_task(item)) is not None]
        records = await self._reads.load_records([("task", number) for number in task_numbers]) if task_numbers else {}
        rows = [row for row in records.values() if row is not None]
        match self._find_match("task", words, rows, place.actor):
            case ranking.OneMatch() as one:
                label = await self._naming.build_label("task", one.found.item, place.actor.locale)
                is_named = is_mentioned(words, place.text) or is_mentioned(one.found.title, place.text)
                return Resolved(value=one.found.id, label=label, target=f"task:{one.found.id}", named_by_person=is_named)
            case ranking.SeveralMatches() as several:
                options = await self._build_record_options("task", several.candidates, place.actor)
                return build_choice(Notice(code="which-task", args={"name": words}), options)
            case _:
                return await self.find_record("task", words, place.actor, place.text)

    async def find_record(self, entity: str, words: str, actor: Actor, text: str, *, is_forgiving: bool = True) -> Resolution:
        """Among those that the person may see; `is_forgiving` also offers similar names."""
        ranked = await self._search(entity, words, actor)
        match ranked:
            case ranking.OneMatch():
                candidate = ranked.found
                is_named = is_mentioned(words, text) or is_mentioned(candidate.title, text) or str(candidate.id) in extract_words(text)
                label = await self._naming.build_label(entity, candidate.item, actor.locale)
                return Resolved(value=candidate.id, label=label, target=f"{entity}:{candidate.id}", named_by_person=is_named)
            case ranking.SeveralMatches():
                options = await self._build_record_options(entity, ranked.candidates, actor)
                return build_choice(Notice(code=f"which-{entity}", args={"name": words}), options)
            case ranking.TooManyMatches():
                notice = Notice(code="too-many-found", args={"name": words, "count": ranked.count})
                return Unresolved(notice=notice, detail=f"{ranked.count} records fit {words!r}: the person must be more precise")
            case ranking.NoMatch() if is_forgiving and (near := await self._find_nearest_records(entity, words, actor)):
                return build_guess("nearest-record", words, await self._build_record_options(entity, near, actor))
            case ranking.NoMatch():
                notice = Notice(code="not-found", args={"name": words})
                return Unresolved(notice=notice, detail=f"no {entity} that this person may see is called {words!r}")
            case _:
                assert_never(ranked)

    async def find_named_records(self, titles: Mapping[str, str], text: str, actor: Actor) -> set[str]:
        """By title, if no other record fits it; `titles` are by key ("deal:481")."""
        named_targets: set[str] = set()
        for target, title in list(titles.items())[:100]:
            if len(named_targets) < 3 and is_mentioned(title, text):  # noqa: PLR2004 - a request names a few records, not dozens
                entity, _, number = target.rpartition(":")
                known = entity in _RECORDS
                answer = await self.find_record(entity, title, actor, text, is_forgiving=False) if known else None
                if isinstance(answer, Resolved) and answer.value == int(number):
                    named_targets.add(target)
        return named_targets

    async def _search(self, entity: str, words: str, actor: Actor) -> ranking.Match[JsonObject]:
        significant = sorted(extract_words(words), key=len, reverse=True)
        number = words.lstrip("№# ")
        rows: list[JsonObject] = []
        if number.isdecimal():
            record = (await self._reads.load_records([(entity, int(number))]))[entity, int(number)]
            rows = [record] if record is not None and self._naming.is_visible(entity, record, actor) else []
        ranked = self._find_match(entity, words, rows, actor)
        extra = self._naming.build_owner_filter(entity, actor)
        for start, field in () if rows else list_searches(entity, significant):
            ranked = self._find_match(entity, words, await self._reads.search(entity, start, extra, field=field), actor)
            if not isinstance(ranked, ranking.NoMatch):
                break
        if isinstance(ranked, ranking.NoMatch) and extra and entity in _CUSTOMERS and significant:
            ranked = self._find_match(entity, words, await self._find_customers(entity, words, actor), actor)
        return ranked

    async def _find_customers(self, entity: str, words: str, actor: Actor) -> list[JsonObject]:
        """Of others, if an open deal of the person is linked to them."""
        significant = sorted(extract_words(words), key=len, reverse=True)
        for start, field in list_searches(entity, significant):
            rows = await self._reads.search(entity, start, {}, field=field)
            numbers = {number for row in rows if (number := to_record_number(row.get("ID")))}
            if not numbers:
                continue
            link = _CUSTOMERS[entity]
            conditions = {**self._naming.build_owner_filter("deal", actor), "CLOSED": "N", f"@{link}": sorted(numbers)}
            deals = await self._reads.load_rows("crm.deal.list", {"filter": conditions, "select": ["ID", "CLOSED", "ASSIGNED_BY_ID", link]})
            linked = {
                to_record_number(row.get(link)) for row in deals if row.get("CLOSED") == "N" and self._naming.is_visible("deal", row, actor)
            }
            if customers := [row for row in rows if to_record_number(row.get("ID")) in linked]:
                return customers
        return []

    def _find_match(self, entity: str, words: str, rows: Sequence[JsonObject], actor: Actor) -> ranking.Match[JsonObject]:
        return ranking.find_match(words, [self._naming.build_candidate(entity, row) for row in rows], me=actor.bitrix_user_id)

    async def _find_nearest_records(self, entity: str, words: str, actor: Actor) -> tuple[ranking.Candidate[JsonObject], ...]:
        """Almost the same spelling; none if the portal cannot search."""
        pieces = list_search_pieces(words)
        if not pieces:
            return ()
        try:
            rows = await self._reads.search_pieces(entity, pieces, self._naming.build_owner_filter(entity, actor))
        except BitrixError:  # that nothing has the name is known already
            return ()
        candidates = [self._naming.build_candidate(entity, row) for row in rows]
        return ranking.find_nearest(words, candidates, me=actor.bitrix_user_id)

    async def _build_record_options(
        self, entity: str, candidates: Sequence[ranking.Candidate[JsonObject]], actor: Actor
    ) -> tuple[Option, ...]:
        labels = [await self._naming.build_label(entity, candidate.item, actor.locale) for candidate in candidates]
        pairs = zip(candidates, labels, strict=True)
        return tuple(Option(value=candidate.id, label=label, target=f"{entity}:{candidate.id}") for candidate, label in pairs)

    def _resolve_me(self, place: ReferenceContext) -> Resolution:
        if place.actor.bitrix_user_id is None:
            return Unresolved(notice=Notice(code="no-bitrix-user"), detail="the speaker has no Bitrix24 user")
        return Resolved(value=place.actor.bitrix_user_id, label=place.actor.name, named_by_person=True)

    async def _resolve_current(self, place: ReferenceContext, field: str) -> Resolution:
        """The record whose kind the field's name tells (CONTACT_ID), or the call."""
        if is_binding_field(field):
            return await self._resolve_current_tie(place)
        entity = _find_held_kind(field) or self._naming.find_entity(place.method, place.params)
        number = find_current(place.state, entity)
        if number is None:
            detail = f"there is no current {entity or 'record'}: several or none were read or changed last; write @shown:N or the name"
            return Unresolved(notice=Notice(code="no-current"), detail=detail)
        return Resolved(value=number, target=f"{entity}:{number}", named_by_person=f"{entity}:{number}" in place.state.trusted)

    async def _resolve_current_tie(self, place: ReferenceContext) -> Resolution:
        """The only current record of any kind to which a task can be tied; customers of a current deal or lead do not count."""
        candidates = list_tie_candidates(place.state)
        if len(candidates) > 1:
            candidates = await self._drop_customers(candidates)
        if len(candidates) != 1:
            detail = f"it is not clear which record is meant: {', '.join(candidates) or 'none is current'}; write @shown:N or the name"
            return Unresolved(notice=Notice(code="link-unclear"), detail=detail)
        kind, number = next(iter(candidates.items()))
        return Resolved(value=number, target=f"{kind}:{number}", named_by_person=f"{kind}:{number}" in place.state.trusted)

    async def _drop_customers(self, candidates: Mapping[str, int]) -> Mapping[str, int]:
        """May raise BitrixError."""
        owners = [(kind, candidates[kind]) for kind in ("deal", "lead") if kind in candidates]
        rows = (await self._reads.load_records(owners)).values() if owners else ()
        customers = {(kind, to_record_number(row.get(field))) for row in rows if row is not None for kind, field in _CUSTOMERS.items()}
        return {kind: number for kind, number in candidates.items() if (kind, number) not in customers}

    async def _resolve_sum(self, words: str, reference: str, place: ReferenceContext) -> Resolution:
        """ "5000|USD" if the portal could read a number in another currency."""
        method = self._reads.catalogue.find(place.method)
        currency = find_currency(words, place.actor)
        if not currency or method is None or method.reads_only:
            return resolve_sum(words, place.actor, convert=to_number)
        book = await self._naming.load_currency_book()
        if book and currency not in book:
            notice = Notice(code="currency-not-here", args={"currency": currency, "known": ", ".join(sorted(book))})
            return Unresolved(notice=notice, detail=f"the portal has no currency {currency}; it has: {', '.join(sorted(book))}")
        field = find_field(reference, place.params)
        is_base = currency == find_base_currency(book)
        if is_custom_field(field) and await self._find_field_type(field, place) != "money":
            if not is_base:
                notice = Notice(code="field-no-currency", args={"named": currency})
                return Unresolved(notice=notice, detail=f"{field} holds a number without a currency, and {currency} was named")
            return resolve_sum(words, place.actor, convert=to_number)
        new = method.verb == "add" and to_field_key(field) == "opportunity" and not has_field(place.params, "currencyid")
        return resolve_sum(words, place.actor, convert=to_number if new and is_base else to_portal_money)

    async def _find_field_type(self, field: str, place: ReferenceContext) -> str:
        """Empty for a standard field, whose type follows from its name."""
        code = field.lstrip("<>=!@%")
        if not code.lower().startswith("uf"):
            return ""
        return await self._naming.find_field_type(self._naming.find_entity(place.method, place.params), code)


def _resolve_reminder(words: str, place: ReferenceContext) -> Resolution:
    """By the number that STATE gives to it, or words of its text."""
    waits = list_waiting_reminders(place.state)
    if words.isascii() and words.isdecimal():
        fitting = waits[int(words[:4]) - 1 : int(words[:4])] if int(words[:4]) else []
    else:
        fitting = [(known, entry) for known, entry in waits if is_mentioned(words, entry.text)]
    if len(fitting) == 1:
        return Resolved(value=fitting[0][0], label=fitting[0][1].text, named_by_person=True)
    if 1 < len(fitting) <= ranking.LIMIT:
        options = tuple(Option(value=known, label=_label_reminder(entry, place.actor)) for known, entry in fitting)
        return build_choice(Notice(code="which-reminder"), options)
    known = "; ".join(f"@reminder:{number} {entry.text}" for number, (_, entry) in enumerate(waits[:_MOST_REMINDERS], start=1))
    return Unresolved(notice=Notice(code="reminder-gone"), detail=f"no reminder fits {words!r}; there wait: {known or 'none in this chat'}")


def _label_reminder(entry: Reminder, actor: Actor) -> str:
    return f"{datetime.fromtimestamp(entry.due_ts, ZoneInfo(actor.time_zone)):%d.%m %H:%M} · {to_visible_line(entry.text, limit=60)}"


_MOST_REMINDERS = 6
_MADE_TASK = re.compile(r"tasks\.task\.add task ([0-9]{1,10})", re.ASCII)


def _find_made_task(done: Mapping[str, object]) -> int | None:
    match = _MADE_TASK.fullmatch(str(done.get("description", "")))
    return int(match[1]) if match is not None else None


def _find_held_kind(field: str) -> str:
    """CONTACT_ID and contactId: "contact"; "" if the name tells no kind."""
    kind = re.sub(r"_?ids?$", "", field, flags=re.IGNORECASE).lower()
    return kind if kind in CURRENT else ""
