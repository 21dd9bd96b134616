"""Reads and writes the rows of definitions. A text is stored once, under its digest."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, literal_column, null, or_, select, update

from state.journal.definition_rows import DefinitionChange, HistoryRow, KeyRow, StoredVersion, VersionRow
from state.journal.store import StaleEpoch
from state.sql.database import Database, Params, Row, Statement, Transaction, build_insert
from state.sql.tables import definition_history, definition_keys, definition_sources, definition_texts, definitions

_KEY: Final = [definition_keys.c[name] for name in KeyRow._fields]
_VERSION: Final = [definitions.c[name] for name in VersionRow._fields]
_HISTORY: Final = [definition_history.c[name] for name in HistoryRow._fields]
_IS_ACTIVE: Final = definition_keys.c.active_version == definitions.c.version
_Compile = Callable[..., Statement]


class DefinitionStatements:
    def __init__(self, compile_: _Compile, insert: Callable[[Table], Any]) -> None:
        self._add_reads(compile_)
        self.add_version = compile_(build_insert(definitions, VersionRow._fields), StaleEpoch)
        self.add_history = compile_(build_insert(definition_history, HistoryRow._fields))
        self.add_text = compile_(
            insert(definition_texts)
            .values(digest=bindparam("digest"), document=bindparam("document"))
            .on_conflict_do_nothing(index_elements=["digest"])
        )
        self.add_source = compile_(
            insert(definition_sources)
            .values(digest=bindparam("digest"), text=bindparam("text"))
            .on_conflict_do_nothing(index_elements=["digest"])
        )
        new = insert(definition_keys).values({name: bindparam(name) for name in KeyRow._fields})
        new_values = {name: new.excluded[name] for name in KeyRow._fields[2:]}
        self.set_key = compile_(new.on_conflict_do_update(index_elements=["kind", "key"], set_=new_values))
        before = and_(definitions.c.id == bindparam("at_id"), definitions.c.revision == bindparam("at_revision"))
        self.change_version = compile_(
            update(definitions).where(before).values({name: bindparam(name) for name in VersionRow._fields if name != "id"})
        )

    def _add_reads(self, compile_: _Compile) -> None:
        at_kind: ColumnElement[str] = bindparam("at_kind")
        at_key: ColumnElement[str] = bindparam("at_key")
        query = select(*_KEY)
        self.key = compile_(query.where(definition_keys.c.kind == at_kind, definition_keys.c.key == at_key))
        later = and_(definition_keys.c.kind == bindparam("after_kind"), definition_keys.c.key > bindparam("after_key"))
        of_kind = query.where(definition_keys.c.kind == at_kind, definition_keys.c.key > bindparam("after_key"))
        of_all = query.where(or_(definition_keys.c.kind > bindparam("after_kind"), later))
        order = definition_keys.c.kind, definition_keys.c.key
        self.keys_of_kind = compile_(of_kind.order_by(*order).limit(bindparam("at_most")))
        self.keys = compile_(of_all.order_by(*order).limit(bindparam("at_most")))
        of_definition = and_(definitions.c.kind == at_kind, definitions.c.key == at_key)
        self.version = compile_(_select_versions(texts=True).where(of_definition, definitions.c.version == bindparam("at_version")))
        self.by_id = compile_(_select_versions(texts=True).where(definitions.c.id == bindparam("at_id")))
        enabled: ColumnElement[bool] = definition_keys.c.enabled == literal_column("1")
        self.active = compile_(_select_versions(texts=True).where(of_definition, _IS_ACTIVE, enabled))
        self.versions = compile_(_select_versions(texts=False).where(of_definition).order_by(definitions.c.version.desc()))
        history = select(*_HISTORY).where(definition_history.c.kind == at_kind, definition_history.c.key == at_key)
        self.history = compile_(
            history.order_by(definition_history.c.seq.desc(), definition_history.c.what.desc()).limit(bindparam("at_most"))
        )


class SqlDefinitions:
    """Implements `state.journal.definition_rows.DefinitionReader`, whose docstrings apply."""

    def __init__(self, database: Database, statements: DefinitionStatements) -> None:
        self._database = database
        self._statements = statements

    def find_key(self, kind: str, key: str) -> KeyRow | None:
        rows = self._fetch_rows(self._statements.key, {"at_kind": kind, "at_key": key})
        return KeyRow(*rows[0]) if rows else None

    def list_keys(self, kind: str, after: tuple[str, str], limit: int) -> list[KeyRow]:
        if kind:
            params = {"at_kind": kind, "after_key": after[1], "at_most": limit}
            return [KeyRow(*row) for row in self._fetch_rows(self._statements.keys_of_kind, params)]
        params = {"after_kind": after[0], "after_key": after[1], "at_most": limit}
        return [KeyRow(*row) for row in self._fetch_rows(self._statements.keys, params)]

    def find_version(self, kind: str, key: str, version: int) -> StoredVersion | None:
        return self._find_one(self._statements.version, {"at_kind": kind, "at_key": key, "at_version": version})

    def find_by_id(self, version_id: str) -> StoredVersion | None:
        return self._find_one(self._statements.by_id, {"at_id": version_id})

    def find_active(self, kind: str, key: str) -> StoredVersion | None:
        return self._find_one(self._statements.active, {"at_kind": kind, "at_key": key})

    def list_versions(self, kind: str, key: str) -> list[StoredVersion]:
        return [_to_stored(row) for row in self._fetch_rows(self._statements.versions, {"at_kind": kind, "at_key": key})]

    def list_history(self, kind: str, key: str, limit: int) -> list[HistoryRow]:
        rows = self._fetch_rows(self._statements.history, {"at_kind": kind, "at_key": key, "at_most": limit})
        return [HistoryRow(*row) for row in rows]

    def _find_one(self, statement: Statement, params: Params) -> StoredVersion | None:
        rows = self._fetch_rows(statement, params)
        return _to_stored(rows[0]) if rows else None

    def _fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        return self._database.fetch_rows(statement, params)


def write_definitions(transaction: Transaction, statements: DefinitionStatements, change: DefinitionChange) -> None:
    """Raises StaleEpoch if a version is not as expected."""
    for digest, document in change.texts.items():
        transaction.run(statements.add_text, {"digest": digest, "document": document})
    for digest, source in change.sources.items():
        transaction.run(statements.add_source, {"digest": digest, "text": source})
    for row in change.added:
        transaction.run(statements.add_version, row._asdict())
    for row in change.changed:
        values = {name: value for name, value in row._asdict().items() if name != "id"}
        if transaction.run(statements.change_version, {**values, "at_id": row.id, "at_revision": row.revision - 1}) != 1:
            raise StaleEpoch(f"version {row.version} of {row.kind}/{row.key} does not have revision {row.revision - 1}")
    transaction.run(statements.set_key, change.head._asdict())
    for entry in change.history:
        transaction.run(statements.add_history, entry._asdict())


def _select_versions(*, texts: bool) -> Select[Any]:
    whole = and_(definition_keys.c.kind == definitions.c.kind, definition_keys.c.key == definitions.c.key)
    joined = definitions.join(definition_keys, whole)
    if not texts:
        return select(*_VERSION, _IS_ACTIVE, null(), null()).select_from(joined)
    joined = joined.outerjoin(definition_texts, definition_texts.c.digest == definitions.c.digest)
    joined = joined.outerjoin(definition_sources, definition_sources.c.digest == definitions.c.source)
    return select(*_VERSION, _IS_ACTIVE, definition_texts.c.document, definition_sources.c.text).select_from(joined)


def _to_stored(row: Row) -> StoredVersion:
    return StoredVersion(VersionRow(*row[:-3]), active=bool(row[-3]), text=row[-2], source=row[-1])
