"""What records, people and stages are called, and whose they are. Ring 2; implements the `Names` that previews need."""

from collections.abc import Mapping
from typing import Any

from orchestrator.directory.labels import Entity, card_url, company_label, contact_label, deal_label, lead_label, user_label
from orchestrator.directory.portal_reads import PortalReads, Row
from orchestrator.directory.text import Locale, clean, cut
from orchestrator.messages import Actor

_LINKED: Mapping[str, Entity] = {
    "deal": "deal",
    "lead": "lead",
    "contact": "contact",
    "company": "company",
    "task": "task",
    "user": "user",
}
_TYPE_IDS = {1: "lead", 2: "deal", 3: "contact", 4: "company"}
_DONE_TASK = "5"


class Naming:
    """See the module docstring. A name that cannot be found is shown as its number, never guessed; reads may raise BitrixError."""

    def __init__(self, reads: PortalReads) -> None:
        """Keep the reads."""
        self._reads = reads

    async def user(self, user_id: int) -> str:
        """ "Анна Ковалёва"."""
        row = (await self._reads.users()).get(user_id)
        name = f"{row.get('NAME') or ''} {row.get('LAST_NAME') or ''}".strip() if row else ""
        return clean(name, limit=60) or f"№{user_id}"

    async def stage(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """ "Договор"; the funnel is read from the stage id where it stands there ("C1:NEW")."""
        category = int(stage_id[1:].split(":", maxsplit=1)[0]) if stage_id.startswith("C") and ":" in stage_id else category_id
        stages = await self._reads.stages(entity, category)
        return next((clean(stage.name, limit=40) for stage in stages if stage.id == stage_id), stage_id)

    async def category(self, category_id: int) -> str:
        """The name of a funnel of deals."""
        return (await self._reads.categories()).get(category_id, f"№{category_id}")

    async def title(self, entity: str, record_id: int) -> str:
        """What the record is called."""
        if entity == "user":
            return await self.user(record_id)
        record = (await self._reads.records([(entity, record_id)])).get((entity, record_id))
        return self.title_of(entity, record) if record else f"№{record_id}"

    def card_url(self, entity: str, record_id: int) -> str:
        """The address of the record's card, or "" for kinds that have none."""
        kind = _LINKED.get(entity)
        return card_url(self._reads.client.base_url, kind, record_id) if kind and record_id > 0 else ""

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
        match entity:
            case "deal":
                stage = str(row.get("STAGE_ID") or row.get("stageId") or "")
                name = await self.stage("deal", stage, _int(row.get("CATEGORY_ID") or row.get("categoryId"))) if stage else None
                return deal_label(row, stage_name=name, locale=locale)
            case "lead":
                status = str(row.get("STATUS_ID") or row.get("stageId") or "")
                return lead_label(row, status_name=await self.stage("lead", status) if status else None, locale=locale)
            case "contact":
                return contact_label(row, locale=locale)
            case "company":
                return company_label(row, locale=locale)
            case "user":
                return user_label(row, locale=locale)
            case _:
                number = row.get("ID") or row.get("id") or ""
                return f"{self.title_of(entity, row)} · №{number}" if number else self.title_of(entity, row)

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
        field = self._reads.catalogue.entities[entity].owner_field
        camel = field.split("_")[0].lower() + "".join(part.capitalize() for part in field.split("_")[1:])
        return _int(row.get(field) or row.get(camel))

    def visible(self, entity: str, row: Row, actor: Actor) -> bool:
        """Whether `actor` may see the record."""
        allowed = _allowed(actor)
        return allowed is None or self.owner_of(entity, row) in allowed

    def owner_filter(self, entity: str, actor: Actor) -> dict[str, Any]:
        """The filter that keeps a list to what `actor` may see."""
        allowed = _allowed(actor)
        return {} if allowed is None else {self._reads.catalogue.entities[entity].owner_field: sorted(allowed)}

    def entity_of(self, method: str, params: Mapping[str, Any]) -> str:
        """The kind of record a method is about, "" when it has none."""
        found = self._reads.catalogue.find(method)
        if found is None:
            return ""
        if found.entity == "item":
            return _TYPE_IDS.get(_int(params.get("entityTypeId")), "")
        if found.target_entity.startswith("@"):
            value: Any = params
            for part in found.target_entity[1:].split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            return _TYPE_IDS.get(_int(value), str(value or "").lower())
        return found.target_entity or found.entity


def _allowed(actor: Actor) -> frozenset[int] | None:
    """Whose records `actor` may see; None = everybody's."""
    if actor.sees == "all":
        return None
    own = {actor.bitrix_user_id} if actor.bitrix_user_id is not None else set()
    return frozenset(own if actor.sees == "own" else {*actor.sees, *own})


def _int(value: Any) -> int:
    text = str(value if value is not None else "")
    return int(text) if text.isascii() and text.isdecimal() else 0
