"""Searches the records of the portal by name beside a running bot, for `sdelka ask`."""

from collections.abc import Awaitable, Callable

from bitrix.errors import BitrixError
from orchestrator.directory.answers import FoundRecords
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.outputs import MOST_ROWS, Notice, Row, Table
from orchestrator.language.text import to_visible_line
from state.stored import JsonObject


class TitleSearch:
    """Searches the records of the portal by name with a client that refuses everything but reads."""

    def __init__(self, reads: PortalReader, *, close: Callable[[], Awaitable[None]]) -> None:
        """Search with these reads; `close` closes the connections of their client."""
        self._reads, self._close = reads, close

    async def find_records(self, name: str) -> FoundRecords:
        """Return the deals, leads, contacts and companies whose names contain `name`; a problem if the portal does not answer."""
        tables: list[Table] = []
        try:
            for entity in ("deal", "lead", "contact", "company"):
                rows = [Row(label=title) for row in await self._reads.search(entity, name, {}) if (title := _read_title(row))]
                tables += [Table(rows=tuple(rows[:MOST_ROWS]), shown=min(len(rows), MOST_ROWS), total=len(rows))] if rows else []
        except BitrixError:
            return FoundRecords(problem=Notice(code="ask-find-in-crm-failed"))
        return FoundRecords(tables=tables, is_prose=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._close()


def _read_title(row: JsonObject) -> str:
    names = " ".join(str(row[part]) for part in ("NAME", "LAST_NAME") if row.get(part))
    return to_visible_line(str(row.get("TITLE") or names), limit=200)
