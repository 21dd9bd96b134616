"""The records that an order found, read again with the rights of now, as lines for one reader. Their texts are shown and never obeyed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bitrix.errors import BitrixError
from bitrix.limits.limiter import Priority
from bitrix.masking import mask
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.outputs import Row, Table
from orchestrator.domain.standing_orders import ChangedRecord
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Context, Reader, format_value
from orchestrator.language.date_format import format_day_of
from orchestrator.language.links import strip_unknown_links
from orchestrator.sessions.session import Session
from orchestrator.turns.turn_ending import read_shown_table
from state.stored import JsonObject

_TITLE: Final = 80
_VALUE: Final = 120
Records = Mapping[str, JsonObject]


@dataclass(frozen=True, kw_only=True)
class RecordLines:
    reads: PortalReader
    naming: Naming

    async def load(self, changed: Sequence[ChangedRecord]) -> Records:
        """Without those that are gone. Raises BitrixError if the portal cannot be used."""
        targets = [parse_target(one.target) for one in changed]
        loaded = await self.reads.load_each_record(targets, Priority.BULK)
        return {f"{kind}:{number}": row for (kind, number), row in loaded.items() if row is not None and not isinstance(row, BitrixError)}

    def find_owner(self, target: str, record: JsonObject) -> int:
        return self.naming.find_owner(parse_target(target)[0], record)

    def is_visible(self, target: str, record: JsonObject, actor: Actor) -> bool:
        return self.naming.is_visible(parse_target(target)[0], record, actor)

    def clean_title(self, target: str, record: JsonObject, actor: Actor) -> str:
        kind, number = parse_target(target)
        return self._clean(self.naming.extract_title(kind, record) or f"#{number}", actor, _TITLE)

    async def build_table(self, changed: Sequence[ChangedRecord], records: Records, actor: Actor, session: Session) -> Table:
        rows = [await self._build_row(one, records[one.target], actor, session) for one in changed]
        return Table(rows=tuple(rows), shown=len(rows), total=len(rows))

    async def _build_row(self, changed: ChangedRecord, record: JsonObject, actor: Actor, session: Session) -> Row:
        kind, number = parse_target(changed.target)
        cells = [await self._build_change(changed, name, kind, record, actor) for name in changed.after]
        if not changed.after and changed.state.isdecimal():
            last = datetime.fromtimestamp(int(changed.state), UTC)
            cells.append(format_day_of(last, actor.time_zone, now=session.now, locale=actor.locale))
        return Row(
            label=self.clean_title(changed.target, record, actor),
            url=self.naming.build_card_url(kind, number, user=actor.bitrix_user_id or 0),
            target=changed.target,
            cells=tuple(cells),
        )

    async def _build_change(self, changed: ChangedRecord, name: str, kind: str, record: JsonObject, actor: Actor) -> str:
        entity = self.reads.catalogue.entities[kind]
        info = fields.find_field_info(entity, name)
        category = fields.parse_number(fields.find_value(record, "CATEGORY_ID", kind))
        currency = str(fields.find_value(record, "CURRENCY_ID", kind) or "") if name == "OPPORTUNITY" else ""
        context = Context(entity=kind, currency=currency, category=int(category or 0))
        reader = Reader(names=self.naming, locale=actor.locale, zone=actor.time_zone)
        before, after = [
            self._clean(await format_value(value, info.kind if info else "text", context=context, reader=reader), actor, _VALUE)
            for value in (changed.before.get(name), changed.after.get(name))
        ]
        return f"{fields.find_label(entity, name, actor.locale)}: {before} → {after}"

    def _clean(self, text: str, actor: Actor, limit: int) -> str:
        """One line, without secrets and unknown links."""
        escaped = escape_text(mask(text), locale=actor.locale, limit=limit)
        return strip_unknown_links(escaped, frozenset({self.reads.client.portal}), locale=actor.locale)


def list_shown(table: Table) -> list[dict[str, object]]:
    """So that later words can mean a row by its number."""
    return [dict(read_shown_table(table, None, has_file=True).to_stored())]
