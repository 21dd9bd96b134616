"""What records, people, stages, fields and sums are called, and whose records are. Ring 2; implements the `Names` that previews need."""

from collections.abc import Mapping, Sequence
from typing import Any

from bitrix import names
from bitrix.errors import BitrixError
from orchestrator.directory import field_words
from orchestrator.directory.labels import (
    amount_of,
    card_url,
    company_label,
    contact_label,
    deal_label,
    item_label,
    lead_label,
    user_label,
)
from orchestrator.directory.money_style import NO_BOOK, Book
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.directory.reference_data import INVOICE, QUOTE, Category, Field, Row, SmartType, Stage, own_kind, type_number
from orchestrator.directory.sum_format import format_sum
from orchestrator.directory.text import Locale, clean, cut
from orchestrator.directory.zones import DEFAULT, is_zone
from orchestrator.messages import Actor

_DONE_TASK = "5"
_FIXED_KINDS = {
    QUOTE: {"ru": "предложение", "en": "quote"},
    INVOICE: {"ru": "счёт", "en": "invoice"},
}
_SMART = {"ru": "элемент смарт-процесса", "en": "smart process item"}


class Naming:
    """See the module docstring. A name that cannot be found is shown as its number, never guessed; reads may raise BitrixError."""

    def __init__(self, reads: PortalReads) -> None:
        """Keep the reads."""
        self._reads = reads
        self._reference = reads.reference

    async def user(self, user_id: int) -> str:
        """ "Анна Ковалёва"."""
        row = await self._reference.user(user_id)
        name = f"{row.get('NAME') or ''} {row.get('LAST_NAME') or ''}".strip() if row else ""
        return clean(name, limit=60) or f"№{user_id}"

    async def department(self, user: Row) -> str:
        """The first department of an employee's row, "" where the portal names none."""
        numbers = user.get("UF_DEPARTMENT")
        if not isinstance(numbers, list) or not numbers:
            return ""
        try:
            found = (await self._reference.departments()).get(_int(numbers[0]))
        except BitrixError:  # a right of its own, and never more than a help
            return ""
        return clean(found.name, limit=60) if found else ""

    async def stage(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """ "Договор"; the funnel is read from the stage id where it stands there ("C1:NEW")."""
        stage = await self._reference.stage(entity, stage_id, category_id)
        return clean(stage.name, limit=40) if stage else stage_id

    async def category(self, category_id: int, entity: str = "deal") -> str:
        """The name of a funnel."""

        def found(items: Sequence[Category]) -> bool:
            return any(item.id == category_id for item in items)

        items = await self._reference.categories(entity, has=found)
        return next((clean(item.name, limit=60) for item in items if item.id == category_id), f"№{category_id}")

    async def entry(self, book: str, code: str) -> str:
        """The name of an entry of a book of the CRM: "CALL" of SOURCE is «Звонок»."""

        def found(stages: Sequence[Stage]) -> bool:
            return any(stage.id == code for stage in stages)

        stages = await self._reference.book(book, has=found)
        return next((clean(stage.name, limit=60) for stage in stages if stage.id == code), code)

    async def kind(self, entity: str, locale: Locale) -> str:
        """«элемент смарт-процесса «Договоры»», «счёт», "quote"; "" for the kinds that doors name themselves."""
        number = type_number(entity)
        if entity in _FIXED_KINDS or own_kind(entity) != entity or number is None or not entity.startswith("item:"):
            return _FIXED_KINDS.get(entity, {}).get(locale, "")

        def found(types: Mapping[int, SmartType]) -> bool:
            return number in types

        try:
            kept = (await self._reference.types(has=found)).get(number)
        except BitrixError:  # the list needs an administrator's rights
            kept = None
        title = clean(kept.title, limit=40) if kept else ""
        return f"{_SMART[locale]} «{title}»" if title else f"{_SMART[locale]} №{number}"

    async def title(self, entity: str, record_id: int) -> str:
        """What the record is called."""
        if entity == "user":
            return await self.user(record_id)
        return (await self.titles([(entity, record_id)]))[entity, record_id]

    async def titles(self, targets: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], str]:
        """What several records are called, read in one request for fifty."""
        records = await self._reads.records([(own_kind(entity), number) for entity, number in targets])
        found: dict[tuple[str, int], str] = {}
        for entity, number in targets:
            record = records.get((own_kind(entity), number))
            found[entity, number] = (self.title_of(own_kind(entity), record) if record else "") or f"№{number}"
        return found

    def card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """The address of the record's card, or "" for kinds that have none; a task's is under `user`, whoever looks."""
        return card_url(self._reads.client.base_url, own_kind(entity), record_id, user=user) if record_id > 0 else ""

    def title_of(self, entity: str, record: Row) -> str:
        """What a record that was read is called."""
        if entity in {"contact", "user"}:
            parts = (record.get("NAME") or record.get("name"), record.get("LAST_NAME") or record.get("lastName"))
            text = " ".join(str(part) for part in parts if part)
        else:
            text = str(record.get("TITLE") or record.get("title") or record.get("SUBJECT") or "")
        return cut(clean(text), limit=80)

    async def label(self, entity: str, row: Row, locale: Locale) -> str:
        """One line for a list or a button."""
        entity = own_kind(entity)
        book = await self.book() if "OPPORTUNITY" in row or "opportunity" in row else NO_BOOK
        match entity:
            case "deal":
                return deal_label(row, stage_name=await self._stage_of(entity, row, "STAGE_ID"), locale=locale, book=book)
            case "lead":
                return lead_label(row, status_name=await self._stage_of(entity, row, "STATUS_ID"), locale=locale, book=book)
            case "contact":
                return contact_label(row, locale=locale)
            case "company":
                return company_label(row, locale=locale)
            case "user":
                return user_label(row, locale=locale)
            case _ if entity.startswith("item:"):
                name = await self._stage_of(entity, row, "STAGE_ID")
                kind = "" if self.title_of(entity, row) else await self.kind(entity, locale)
                return item_label(row, kind_name=kind, stage_name=name, locale=locale, book=book)
            case _:
                number = row.get("ID") or row.get("id") or ""
                return f"{self.title_of(entity, row)} · №{number}" if number else self.title_of(entity, row)

    async def book(self) -> Book:
        """How the portal writes its currencies; empty where it cannot be asked, so that a sum never fails for its sign."""
        try:
            return await self._reference.currencies()
        except BitrixError:
            return NO_BOOK

    async def money(self, amount: Any, currency: str, locale: Locale) -> str:
        """The exact sum as the portal writes it: «1 234 567,50 ₽»; what is no amount stays as it is, an unknown currency its code."""
        found = amount_of(amount)
        if found is None:
            return clean(str(amount))
        return format_sum(found, clean(currency, limit=12) or None, locale=locale, book=await self.book())

    async def field_title(self, entity: str, name: str) -> str:
        """What the portal calls a field, in either spelling of its code; "" where it has no title or cannot be asked."""
        found = await self._field(entity, name)
        return clean(found.title, limit=80) if found else ""

    async def field_type(self, entity: str, name: str) -> str:
        """The portal's type of a field (date, money, enumeration), "" where it is not known."""
        found = await self._field(entity, name)
        return found.type if found else ""

    async def field_value(self, entity: str, name: str, value: Any, *, locale: Locale, zone: str) -> str | None:
        """The value of the portal's own field in words; None where the value says all, or the field is not known."""
        field = await self._field(entity, name)
        if field is None:
            return None
        place = field_words.Place(entity=entity, locale=locale, zone=zone, portal_zone=await self.portal_zone())
        try:
            return await field_words.in_words(value, field, self, place)
        except BitrixError:
            return None

    async def choice(self, entity: str, name: str, value: Any) -> str:
        """The names of what is chosen in a list field of the portal's own; "" for fields of other types and unknown values."""
        field = await self._field(entity, name)
        if field is None or field.type != "enumeration":
            return ""
        chosen = value if isinstance(value, list) else [value]
        return ", ".join(clean(found, limit=60) for item in chosen if (found := field.choices.get(str(item))))

    async def portal_zone(self) -> str:
        """The portal's time zone, the default where it cannot be asked."""
        try:
            return await self._reference.portal_zone()
        except BitrixError:
            return DEFAULT

    async def zone_of(self, user_id: int | None) -> str:
        """An employee's own time zone, else the portal's; never fails."""
        try:
            row = await self._reference.user(user_id) if user_id is not None else None
        except BitrixError:
            row = None
        own = str(row.get("TIME_ZONE") or "") if row else ""
        return own if is_zone(own) else await self.portal_zone()

    def rankable(self, entity: str, row: Row) -> dict[str, Any]:
        """A row as `ranking.choose` wants it, with the row itself kept."""
        if entity == "task":
            closed = str(row.get("status") or row.get("STATUS") or "") == _DONE_TASK
        else:
            closed = (row.get("CLOSED") or row.get("closed")) in {"Y", True}
        return {
            "id": _int(row.get("ID") or row.get("id")),
            "title": self.title_of(entity, row),
            "owner": self.owner_of(entity, row),
            "closed": closed,
            "row": row,
        }

    def owner_of(self, entity: str, row: Row) -> int:
        """Whose the record is; 0 when it does not say."""
        field = self._reads.catalogue.entities[entity.partition(":")[0]].owner_field
        return _int(row.get(field) or row.get(names.universal(field, entity)))

    def visible(self, entity: str, row: Row, actor: Actor) -> bool:
        """Whether `actor` may see the record."""
        allowed = _allowed(actor)
        return allowed is None or self.owner_of(entity, row) in allowed

    def owner_filter(self, entity: str, actor: Actor) -> dict[str, Any]:
        """The filter that keeps a list to what `actor` may see."""
        allowed = _allowed(actor)
        return {} if allowed is None else {self._reads.catalogue.entities[entity.partition(":")[0]].owner_field: sorted(allowed)}

    def entity_of(self, method: str, params: Mapping[str, Any]) -> str:
        """The kind of record a method is about ("deal", "item:177"), "" when it has none."""
        found = self._reads.catalogue.find(method)
        if found is None:
            return ""
        if found.entity == "item":
            return _kind_of(params.get("entityTypeId"))
        if found.target_entity.startswith("@"):
            value: Any = params
            for part in found.target_entity[1:].split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            code = str(value or "").lower()
            return _kind_of(code.removeprefix("dynamic_")) or code
        return found.target_entity or found.entity

    async def _stage_of(self, entity: str, row: Row, field: str) -> str | None:
        stage = str(row.get(field) or row.get("stageId") or "")
        if not stage:
            return None
        try:
            return await self.stage(entity, stage, _int(row.get("CATEGORY_ID") or row.get("categoryId")))
        except BitrixError:
            if entity in {"deal", "lead"}:
                raise
            return stage  # a smart process may be without stages, and its list without a name for them

    async def _field(self, entity: str, name: str) -> Field | None:
        """The portal's field by its code in either spelling."""
        kind = own_kind(entity)
        try:
            fields = await self._reference.fields(kind, has=lambda fields: _pick(fields, name, kind) is not None)
        except BitrixError:
            return None
        return _pick(fields, name, kind)


def _pick(fields: Mapping[str, Field], name: str, entity: str) -> Field | None:
    spellings = (name, names.classic(name, entity), names.universal(name, entity))
    found = next((fields[code] for code in spellings if code in fields), None)
    return found or next((field for field in fields.values() if field.upper_name in spellings), None)


def _kind_of(type_id: Any) -> str:
    number = _int(type_id)
    return names.CRM.get(number, f"item:{number}" if number else "")


def _allowed(actor: Actor) -> frozenset[int] | None:
    """Whose records `actor` may see; None = everybody's."""
    if actor.sees == "all":
        return None
    own = {actor.bitrix_user_id} if actor.bitrix_user_id is not None else set()
    return frozenset(own if actor.sees == "own" else {*actor.sees, *own})


def _int(value: Any) -> int:
    text = str(value if value is not None else "")
    return int(text) if text.isascii() and text.isdecimal() else 0
