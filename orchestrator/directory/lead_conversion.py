"""What a lead becomes: a company, a contact and a deal, as commands of one batch that also marks the lead as converted.

Bitrix24 has no call for it (crm.lead has none, and LEAD_ID of the new records is for reading only). Nothing is written here.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.names import is_custom_field
from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, RecordRow, Unresolved, to_number
from orchestrator.directory.duplicates import CREATE, ContactPoints, DuplicateFinder
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader, Target
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import BatchUnwritable, write_batch
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

CONVERT: Final = "lead.convert"
CONVERTED: Final = "CONVERTED"
_OVER: Final = {"S": "lead-converted", "F": "lead-junk"}
_PLACES: Final = {"S": "converted already", "F": "closed as junk"}
_PERSON: Final = ("HONORIFIC", "NAME", "SECOND_NAME", "LAST_NAME", "POST", "BIRTHDATE")
_NAMES: Final = ("NAME", "SECOND_NAME", "LAST_NAME")
_ORIGIN: Final = ("SOURCE_ID", "SOURCE_DESCRIPTION")
_UTM: Final = ("UTM_SOURCE", "UTM_MEDIUM", "UTM_CAMPAIGN", "UTM_CONTENT", "UTM_TERM")
_POINTS: Final = ("PHONE", "EMAIL", "WEB", "IM")
_TEXTS: Final = ("TITLE", "COMPANY_TITLE", *_PERSON, *_ORIGIN, *_UTM, *_POINTS)
_COMMENT: Final = "COMMENTS"
_LONGEST_COMMENT: Final = 2000
_SEARCHED: Final = ("PHONE", "EMAIL")
_RESPONSIBLE: Final = "ASSIGNED_BY_ID"
_REFERENCE: Final = "$result"
_UNWRITABLE: Final = "holds a text that a batch cannot carry"
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {}, False)
Commands = Mapping[str, tuple[str, JsonObject]]


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """`params` are those of a batch; `left` says what of the lead is not taken over."""

    params: JsonObject
    left: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CustomerQuestion:
    """`reference` names the question among those of a turn."""

    reference: str
    several: Ambiguous


@dataclass(frozen=True, kw_only=True)
class _Customers:
    """Numbers of known records, 0 for none."""

    company: int = 0
    contact: int = 0


class LeadConverter:
    def __init__(self, reads: PortalReader, naming: Naming, duplicates: DuplicateFinder) -> None:
        self._reads = reads
        self._naming = naming
        self._duplicates = duplicates

    async def plan(self, *, lead: int, actor: Actor, chosen: Mapping[str, object]) -> Conversion | CustomerQuestion | Unresolved:
        """`chosen` are answers by the `reference` of their questions. Raises BitrixError."""
        row = (await self._reads.load_records([("lead", lead)]))[("lead", lead)]
        refusal = self._find_refusal(lead, row, actor)
        if refusal is not None or row is None:
            return refusal or _refuse("gate-not-found", lead, "does not exist")
        known = await self._find_customers(lead, row, actor, chosen)
        if isinstance(known, CustomerQuestion):
            return known
        owned = await self._drop_dismissed(row)
        silent = {name: value for name, value in owned.items() if name != _COMMENT}
        left = [notice async for notice in self._list_left(lead, row)]
        for one in (owned, silent):  # without a comment that a batch cannot carry
            if one is owned and not _is_writable_comment(row):
                continue
            try:
                commands = write_batch(build_commands(lead, one, company=known.company, contact=known.contact))
            except BatchUnwritable:
                continue
            told = [Notice(code="lead-comment-left")] if one is silent and str(row.get(_COMMENT) or "").strip() else []
            return Conversion(params={"halt": 1, "cmd": commands}, left=(*left, *told))
        return _refuse("lead-unwritable", lead, _UNWRITABLE)

    def _find_refusal(self, lead: int, row: JsonObject | None, actor: Actor) -> Unresolved | None:
        if row is None:
            return _refuse("gate-not-found", lead, "does not exist")
        if not self._naming.is_visible("lead", row, actor):
            return _refuse("gate-not-yours", lead, "belongs to somebody else")
        if any(_REFERENCE in str(row.get(name)).lower() for name in _TEXTS):  # the portal would put an answer in its place
            return _refuse("lead-unwritable", lead, _UNWRITABLE)
        state = _find_state(row)
        return _refuse(_OVER[state], lead, f"is {_PLACES[state]}, and so is not converted") if state in _OVER else None

    async def _find_customers(
        self, lead: int, row: JsonObject, actor: Actor, chosen: Mapping[str, object]
    ) -> _Customers | CustomerQuestion:
        """Those tied to the lead, or that the person takes."""
        record = RecordRow.model_validate(row)
        company, contact = record.company_id, to_number(row.get("CONTACT_ID"))
        points = {kind: values for kind in _SEARCHED if (values := [one["VALUE"] for one in _list_points(row, kind)])}
        if not contact and _is_person(row):
            found = await self._choose(f"@same:{CONVERT}:{lead}:contact", "contact", points, actor, chosen)
            if isinstance(found, CustomerQuestion):
                return found
            contact = found
        if not company and contact:
            rows = await self._reads.load_records([("contact", contact)])
            company = RecordRow.model_validate(rows[("contact", contact)] or {}).company_id
        if not company and record.company_title.strip():
            found = await self._choose(f"@same:{CONVERT}:{lead}:company", "company", points, actor, chosen, title=record.company_title)
            if isinstance(found, CustomerQuestion):
                return found
            company = found
        return _Customers(company=company, contact=contact)

    async def _drop_dismissed(self, row: JsonObject) -> JsonObject:
        """The records of a person who left go to the one who asks."""
        owner = to_number(row.get(_RESPONSIBLE))
        if owner and await self._reads.reference.is_active(owner):
            return row
        return {name: value for name, value in row.items() if name != _RESPONSIBLE}

    async def _choose(
        self, reference: str, kind: str, points: ContactPoints, actor: Actor, chosen: Mapping[str, object], *, title: str = ""
    ) -> int | CustomerQuestion:
        """0 for a new record."""
        answer = str(chosen.get(reference, ""))
        if answer:
            number = answer.partition(" ")[0].removeprefix(f"{kind}:")
            return int(number) if answer != CREATE and number.isdecimal() else 0
        alike = await self._find_namesakes(title, actor) if title else ()
        several = await self._duplicates.find(points, actor, kinds=(kind.upper(),), alike=alike)
        if several is None:
            return 0
        ask = several.ask if several.ask.code != "duplicates-found" else Notice(code="lead-customer-found", args={"entity": kind})
        return CustomerQuestion(reference=reference, several=Ambiguous(ask=ask, options=several.options))

    async def _find_namesakes(self, title: str, actor: Actor) -> Sequence[Target]:
        """Companies with exactly this title that the person may see."""
        found_filter = {"TITLE": title.strip(), **self._naming.build_owner_filter("company", actor)}
        answer = (await self._reads.client.call("crm.company.list", {"filter": found_filter, "select": ["ID"]}, repeatable=True)).result
        rows = [RecordRow.model_validate(row) for row in answer if isinstance(row, Mapping)] if isinstance(answer, list) else []
        return [("company", row.id) for row in rows if row.id]

    async def _list_left(self, lead: int, row: JsonObject) -> AsyncIterator[Notice]:
        own = [name for name, value in row.items() if is_custom_field(name) and value not in (*_EMPTY, "0", 0)]
        if own:
            yield Notice(code="lead-fields-left", args={"count": len(own)})
        try:
            rows = (await self._reads.client.call("crm.lead.productrows.get", {"id": lead}, repeatable=True)).result
        except BitrixError:  # the rows are only told of
            return
        if isinstance(rows, list) and rows:
            yield Notice(code="lead-products-left", args={"count": len(rows)})


def build_commands(lead: int, row: JsonObject, *, company: int, contact: int) -> Commands:
    """By key, in alphabetical order, which is that in which they run. `company` and `contact` are known ones, 0 for none."""
    commands: dict[str, tuple[str, JsonObject]] = {}
    owner = _pick(row, (_RESPONSIBLE,))
    is_person, has_company = _is_person(row), bool(str(row.get("COMPANY_TITLE") or "").strip())
    points = {kind: values for kind in _POINTS if (values := _list_points(row, kind))}
    customers: dict[str, object] = {}
    if company or has_company:
        customers["COMPANY_ID"] = company or "$result[company]"
    if not company and has_company:
        reached = points if not (contact or is_person) else {}
        commands["company"] = ("crm.company.add", {"fields": {"TITLE": row["COMPANY_TITLE"], **reached, **owner}})
    if not contact and is_person:
        commands["contact"] = ("crm.contact.add", {"fields": {**_pick(row, (*_PERSON, *_ORIGIN)), **points, **customers, **owner}})
    if contact or is_person:
        customers["CONTACT_ID"] = contact or "$result[contact]"
    title = str(row.get("TITLE") or "").strip() or f"#{lead}"
    deal = {"TITLE": title, **_pick(row, ("OPPORTUNITY", "CURRENCY_ID", _COMMENT, *_ORIGIN, *_UTM)), **customers, **owner}
    commands["deal"] = ("crm.deal.add", {"fields": deal})
    commands["lead"] = ("crm.lead.update", {"id": lead, "fields": {"STATUS_ID": CONVERTED, **customers}})
    return commands


def _pick(row: JsonObject, names: Sequence[str]) -> dict[str, object]:
    return {name: row[name] for name in names if row.get(name) not in (*_EMPTY, "0", "0.00", 0)}


def _list_points(row: JsonObject, kind: str) -> list[dict[str, str]]:
    return list(_read_points(row.get(kind)))


def _read_points(value: object) -> Iterator[dict[str, str]]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, Mapping) and str(one.get("VALUE") or "").strip():
            yield {"VALUE": str(one["VALUE"]), "VALUE_TYPE": str(one.get("VALUE_TYPE") or "WORK")}


def _is_person(row: JsonObject) -> bool:
    return any(str(row.get(name) or "").strip() for name in _NAMES)


def _is_writable_comment(row: JsonObject) -> bool:
    text = str(row.get(_COMMENT) or "")
    return len(text) <= _LONGEST_COMMENT and _REFERENCE not in text.lower()


def _find_state(row: JsonObject) -> str:
    return str(row.get("STATUS_SEMANTIC_ID") or ("S" if row.get("STATUS_ID") == CONVERTED else ""))


def _refuse(code: str, lead: int, why: str) -> Unresolved:
    return Unresolved(notice=Notice(code=code, args={"entity": "lead", "id": lead}), detail=f"lead {lead} {why}")
