"""Names of portal objects, and owners of records; it implements the gate's `Names`."""

from collections.abc import Mapping, Sequence

from bitrix.catalogue import names
from bitrix.errors import BitrixError
from orchestrator.directory import field_values, ranking
from orchestrator.directory.answers import RecordRow, User, name_organisation, to_number
from orchestrator.directory.labels import (
    BUTTON,
    build_card_url,
    format_company_label,
    format_contact_label,
    format_deal_label,
    format_item_label,
    format_lead_label,
    format_user_label,
    parse_amount,
)
from orchestrator.directory.portal_reads import PortalReader, read_name, read_part
from orchestrator.directory.reference_data import INVOICE, QUOTE, Field, to_own_kind, to_type_number
from orchestrator.domain.actor import Actor
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyBook, find_base_currency, format_sum
from orchestrator.language.text import Locale, format_number, quote, to_visible_line, trim_text
from orchestrator.language.time_zones import DEFAULT_ZONE, is_zone
from state.stored import JsonObject

_DONE_TASK = "5"
_WORDS = load_lexicon("records")
_FIXED_KINDS = {QUOTE: _WORDS.read_titles("fixed_kinds", "quote"), INVOICE: _WORDS.read_titles("fixed_kinds", "invoice")}
_OWNERS = {3: "contact", 4: "company"}
"""By type number, the kinds that have requisites."""
_SMART = _WORDS.read_titles("smart_item")


class Naming:
    """What has no known name is shown by its number. The reads may raise BitrixError."""

    def __init__(self, reads: PortalReader) -> None:
        self._reads = reads
        self._reference = reads.reference

    async def find_user_name(self, user_id: int) -> str:
        """«Анна Ковалёва», or «№7»."""
        user = await self._reference.find_user(user_id)
        return to_visible_line(user.full_name if user else "", limit=60) or f"№{user_id}"

    async def find_department_name(self, user: User) -> str:
        """The first department; "" where the portal gives none."""
        numbers = user.departments
        if not isinstance(numbers, list) or not numbers:
            return ""
        try:
            department = (await self._reference.load_departments()).get(to_number(numbers[0]))
        except BitrixError:  # departments need a permission of their own, and the name is only a help
            return ""
        return to_visible_line(department.name, limit=60) if department else ""

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """The id if no name is known. `category_id` does not count if the id names a funnel ("C1:NEW")."""
        stage = await self._reference.find_stage(entity, stage_id, category_id)
        return to_visible_line(stage.name, limit=40) if stage else stage_id

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        """Of deals or a smart process ("item:177"); «№10» if it is not known."""
        items = await self._reference.load_categories(entity, has=lambda items: any(item.id == category_id for item in items))
        return next((to_visible_line(item.name, limit=60) for item in items if item.id == category_id), f"№{category_id}")

    async def find_status_name(self, book: str, code: str) -> str:
        """«Звонок» for "CALL" in SOURCE; `code` if it is not known."""
        stages = await self._reference.load_status_entries(book, has=lambda stages: any(stage.id == code for stage in stages))
        return next((to_visible_line(stage.name, limit=60) for stage in stages if stage.id == code), code)

    async def find_kind_name(self, entity: str, locale: Locale) -> str:
        """«счёт»; "" for deals and other kinds that bot/i18n names."""
        number = to_type_number(entity)
        if entity in _FIXED_KINDS or to_own_kind(entity) != entity or number is None or not entity.startswith("item:"):
            return _FIXED_KINDS.get(entity, {}).get(locale, "")
        try:
            type_ = (await self._reference.load_types(has=lambda types: number in types)).get(number)
        except BitrixError:  # the list needs administrator rights
            type_ = None
        title = to_visible_line(type_.title, limit=40) if type_ else ""
        return f"{_SMART[locale]} {quote(title, locale) if title else format_number(number, locale)}"

    async def find_title(self, entity: str, record_id: int) -> str:
        """«№481» if it is not known."""
        if entity == "user":
            return await self.find_user_name(record_id)
        return (await self.find_titles([(entity, record_id)]))[entity, record_id]

    async def find_titles(self, targets: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], str]:
        """By (kind, id), fifty to a request; «№481» for no title."""
        records = await self._reads.load_records([(to_own_kind(entity), number) for entity, number in targets])
        titles: dict[tuple[str, int], str] = {}
        for entity, number in targets:
            record = records.get((to_own_kind(entity), number))
            titles[entity, number] = (self.extract_title(to_own_kind(entity), record) if record else "") or f"№{number}"
        return titles

    async def find_name_by_read(self, method: str, params: JsonObject, number: int, locale: Locale) -> str:
        """Empty if it has none. Only those of `params` are sent that the method knows. May raise BitrixError."""
        return await read_name(method, params, number, client=self._reads.client, catalogue=self._reads.catalogue, locale=locale)

    async def find_payee(self, requisite_id: int) -> str:
        """Company or contact, organisation and tax number. May raise BitrixError."""
        reads, place = self._reads, {"id": requisite_id}
        row = await read_part("crm.requisite.get", place, requisite_id, client=reads.client, catalogue=reads.catalogue) or {}
        kind, number = _OWNERS.get(to_number(row.get("ENTITY_TYPE_ID")), ""), to_number(row.get("ENTITY_ID"))
        owner = await self.find_title(kind, number) if kind and number else ""
        parts = filter(None, (owner, *name_organisation(row)))
        return ", ".join({"".join(filter(str.isalnum, part)).casefold(): part for part in parts}.values())  # «ООО Вектор» = «ООО "Вектор"»

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """Empty for kinds without a page. The address of a task contains `user`."""
        return build_card_url(self._reads.client.base_url, to_own_kind(entity), record_id, user=user) if record_id > 0 else ""

    def extract_title(self, entity: str, record: JsonObject) -> str:
        """For a contact or employee the full name."""
        row = RecordRow.model_validate(record)
        if entity == "requisite":
            return trim_text(", ".join(filter(None, (to_visible_line(row.name), *name_organisation(record)))), limit=80)
        return trim_text(to_visible_line(row.full_name if entity in {"contact", "user"} else row.title), limit=80)

    async def build_label(self, entity: str, row: JsonObject, locale: Locale, *, limit: int = BUTTON) -> str:
        """For a button, or with `LINE` for a list; only the title is cut."""
        entity, record = to_own_kind(entity), RecordRow.model_validate(row)
        book = await self.load_currency_book() if record.opportunity is not None else NO_CURRENCY_BOOK
        match entity:
            case "deal":
                return format_deal_label(
                    record, stage_name=await self._find_stage_of(entity, record), locale=locale, book=book, limit=limit
                )
            case "lead":
                return format_lead_label(
                    record, status_name=await self._find_stage_of(entity, record), locale=locale, book=book, limit=limit
                )
            case "contact":
                return format_contact_label(record, locale=locale, limit=limit)
            case "company":
                return format_company_label(record, locale=locale, limit=limit)
            case "user":
                return format_user_label(record, locale=locale, limit=limit)
            case _ if entity.startswith("item:"):
                name = await self._find_stage_of(entity, record)
                kind = "" if self.extract_title(entity, row) else await self.find_kind_name(entity, locale)
                return format_item_label(record, kind_name=kind, stage_name=name, locale=locale, book=book, limit=limit)
            case _:
                title = self.extract_title(entity, row)
                return f"{title} · {format_number(record.id, locale)}" if record.id else title

    async def load_currency_book(self) -> CurrencyBook:
        """Empty if the portal fails."""
        try:
            return await self._reference.load_currency_book()
        except BitrixError:
            return NO_CURRENCY_BOOK

    async def format_money(self, amount: object, currency: str, locale: Locale) -> str:
        """«1 234 567,50 ₽»; an `amount` that is no number stays."""
        parsed_amount = parse_amount(amount)
        if parsed_amount is None:
            return to_visible_line(str(amount))
        return format_sum(parsed_amount, to_visible_line(currency, limit=12) or None, locale=locale, book=await self.load_currency_book())

    async def find_base_currency(self) -> str:
        """ "" if the portal fails."""
        return find_base_currency(await self.load_currency_book())

    async def find_field_title(self, entity: str, name: str) -> str:
        """In either spelling of `name`; "" also if the portal fails."""
        field = await self.find_field(entity, name)
        return to_visible_line(field.title, limit=80) if field else ""

    async def find_field_type(self, entity: str, name: str) -> str:
        """ "date", "money", "enumeration"; "" if it is not known."""
        field = await self.find_field(entity, name)
        return field.type if field else ""

    async def describe_field_value(self, entity: str, name: str, value: object, *, locale: Locale, zone: str) -> list[str] | None:
        """None if no words are needed or known."""
        field = await self.find_field(entity, name)
        if field is None:
            return None
        place = field_values.ValueContext(entity=entity, locale=locale, zone=zone, portal_zone=await self.load_portal_zone())
        try:
            return await field_values.describe_value(value, field, self, place)
        except BitrixError:
            return None

    async def format_choice(self, entity: str, name: str, value: object) -> str:
        """Of a list field, with commas; "" for other fields."""
        field = await self.find_field(entity, name)
        if field is None or field.type != "enumeration":
            return ""
        chosen = value if isinstance(value, list) else [value]
        return ", ".join(to_visible_line(choice, limit=60) for item in chosen if (choice := field.choices.get(str(item))))

    async def load_portal_zone(self) -> str:
        """The default if the portal fails."""
        try:
            return await self._reference.load_portal_zone()
        except BitrixError:
            return DEFAULT_ZONE

    async def find_zone(self, user_id: int | None) -> str:
        """Else the portal's; never raises."""
        try:
            user = await self._reference.find_user(user_id) if user_id is not None else None
        except BitrixError:
            user = None
        return user.time_zone if user and is_zone(user.time_zone) else await self.load_portal_zone()

    def build_candidate(self, entity: str, row: JsonObject) -> ranking.Candidate[JsonObject]:
        record = RecordRow.model_validate(row)
        return ranking.Candidate(
            id=record.id,
            title=self.extract_title(entity, row),
            owner=self.find_owner(entity, row),
            closed=record.status == _DONE_TASK if entity == "task" else record.closed in ("Y", True),
            item=row,
        )

    def find_owner(self, entity: str, row: JsonObject) -> int:
        """0 if the row names nobody."""
        field = self._reads.catalogue.entities[entity.partition(":")[0]].owner_field
        return to_number(row.get(field) or row.get(names.to_universal(field, entity)))

    def is_visible(self, entity: str, row: JsonObject, actor: Actor) -> bool:
        allowed = _list_visible_users(actor)
        return allowed is None or self.find_owner(entity, row) in allowed

    def build_owner_filter(self, entity: str, actor: Actor) -> dict[str, object]:
        """{} if the actor may see all."""
        allowed = _list_visible_users(actor)
        return {} if allowed is None else {self._reads.catalogue.entities[entity.partition(":")[0]].owner_field: sorted(allowed)}

    def find_entity(self, method: str, params: JsonObject) -> str:
        """ "deal", "item:177"; "" for none."""
        spec = self._reads.catalogue.find(method)
        if spec is None:
            return ""
        if spec.entity == "item":
            return _to_kind(params.get("entityTypeId"))
        if spec.target_entity.startswith("@"):
            value: object = params
            for part in spec.target_entity[1:].split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            return names.to_kind(str(value)) if value else ""
        return spec.target_entity or spec.entity

    async def _find_stage_of(self, entity: str, record: RecordRow) -> str | None:
        if not record.stage:
            return None
        try:
            return await self.find_stage_name(entity, record.stage, record.category_id)
        except BitrixError:  # the record was read, and its stage has a code as well; a smart process may have no names for its stages
            return record.stage

    async def find_field(self, entity: str, name: str) -> Field | None:
        """In either spelling; None if it is not known."""
        kind = to_own_kind(entity)
        try:
            fields = await self._reference.load_fields(kind, has=lambda fields: pick_field(fields, name, kind) is not None)
        except BitrixError:
            return None
        return pick_field(fields, name, kind)


def pick_field(fields: Mapping[str, Field], name: str, entity: str) -> Field | None:
    """In either spelling of the portal."""
    spellings = (name, names.to_classic(name, entity), names.to_universal(name, entity))
    field = next((fields[code] for code in spellings if code in fields), None)
    return field or next((field for field in fields.values() if field.upper_name in spellings), None)


def _to_kind(type_id: object) -> str:
    number = to_number(type_id)
    return names.CRM.get(number, f"item:{number}" if number else "")


def _list_visible_users(actor: Actor) -> frozenset[int] | None:
    """None means everybody."""
    if actor.sees == "all":
        return None
    own = {actor.bitrix_user_id} if actor.bitrix_user_id is not None else set()
    return frozenset(own if actor.sees == "own" else {*actor.sees, *own})
