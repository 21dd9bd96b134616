"""Which parts of definitions' rows are a person's, and their erasure.

Documents and titles are the company's.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, func, or_, select, update

from state.sql.person_rows import StoredText, build_text
from state.sql.tables import definition_history, definition_keys, definition_texts, definitions

COMPANY: Final = "company"
"""An erasure names a person's words in such texts and leaves them."""
TABLES: Final = (definition_keys, definitions, definition_texts, definition_history)
_PERSONAL: Final[Mapping[Table, Mapping[str, tuple[str, ...]]]] = {
    definitions: {"author": ("author_name",), "updated_by": ("note",), "published_by": ("published_by_name",)},
    definition_history: {"by": ("by_name", "note")},
}


def count_personal(connection: Connection, person: str) -> dict[str, int]:
    return {
        table.name: connection.execute(select(func.count()).select_from(table).where(or_(*_match(table, person)))).scalar_one()
        for table in _PERSONAL
    }


def erase_personal(connection: Connection, person: str) -> dict[str, int]:
    counts = count_personal(connection, person)
    for table, parts in _PERSONAL.items():
        for condition, names in zip(_match(table, person), parts.values(), strict=True):
            connection.execute(update(table).where(condition).values(dict.fromkeys(names, "")))
    return counts


def build_texts(table: Table, row: Mapping[str, Any]) -> Iterator[StoredText]:
    """Yield each person's texts apart from others' and the company's."""
    whole = build_text(table, row, {})
    personal = {name for names in _PERSONAL.get(table, {}).values() for name in names}
    for key, names in _PERSONAL.get(table, {}).items():
        yield StoredText(place=whole.place, owner=row[key], text="\n".join(row[name] for name in names))
    rest = [value for name, value in row.items() if isinstance(value, str) and name not in personal]
    yield StoredText(place=whole.place, owner=COMPANY, text="\n".join(rest))


def _match(table: Table, person: str) -> list[ColumnElement[bool]]:
    return [and_(table.c[key] == person, or_(*(table.c[name] != "" for name in names))) for key, names in _PERSONAL[table].items()]
