"""Reads backups of version 0.1: a zip of tables as lines of JSON.

It may go once those need not be restored.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from state.sql.dialect import build_sqlite_url, open_database
from state.transfer.manifest import DATABASE, LOGS, LONGEST_MANIFEST, MANIFEST, BackupHeader, BadBackup, Part, parse_manifest
from state.transfer.staging import Progress, check_space, copy_stream
from state.transfer.table_copy import PAGE, create_tables, insert_rows, list_tables, read_heads

_ROOM = 3


class _Table(Part):
    columns: tuple[str, ...]
    key: tuple[str, ...]
    rows: int


class _OldManifest(BackupHeader):
    kind: str
    tables: dict[str, _Table]
    open: dict[str, int]

    @property
    def row_count(self) -> int:
        return sum(part.rows for part in self.tables.values())


def is_old(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def read_manifest(path: Path) -> BackupHeader:
    with _open_archive(path) as archive:
        return _read_manifest(path, archive)


def unpack_backup(path: Path, folder: Path, progress: Progress) -> BackupHeader:
    """Raises BadBackup, which names the damaged part."""
    with _open_archive(path) as archive:
        old = _read_manifest(path, archive)
        check_space(folder, sum(part.size for part in old.logs.values()) + _ROOM * sum(part.size for part in old.tables.values()))
        parts: dict[str, Part] = {f"{LOGS}/{name}": part for name, part in old.logs.items()}
        tables = {f"tables/{name}.jsonl": part for name, part in old.tables.items()}
        if sorted(archive.namelist()) != sorted((MANIFEST, *parts, *tables)):
            raise BadBackup(f"{path.name} does not hold the parts of which its manifest speaks")
        for name, part in {**parts, **tables}.items():
            progress(f"unpacking {name}")
            with archive.open(name) as content:
                if archive.getinfo(name).file_size != part.size or copy_stream(content, folder / name) != part.sha256:
                    raise BadBackup(f"{path.name}: {name} is not what was written there")
    _build_database(path.name, old, folder)
    return old


def _build_database(backup: str, old: _OldManifest, folder: Path) -> None:
    with open_database(build_sqlite_url(folder / DATABASE)) as dialect:
        try:
            with dialect.engine.begin() as target:
                create_tables(dialect, target, old.revision)
                columns = list_tables(target)
                for name, part in old.tables.items():
                    if sorted(part.columns) != sorted(columns.get(name, ())):
                        raise BadBackup(f"{backup}: table {name} with the columns {', '.join(part.columns)} is none of this schema")
                    with (folder / "tables" / f"{name}.jsonl").open("rb") as lines:
                        while page := list(islice(lines, PAGE)):
                            insert_rows(target, name, part.columns, [orjson.loads(line) for line in page])
                if read_heads(target) != old.heads:
                    raise BadBackup(f"{backup}: its streams do not end where its manifest says")
        finally:
            dialect.engine.dispose()


def _read_manifest(path: Path, archive: zipfile.ZipFile) -> _OldManifest:
    if MANIFEST not in archive.namelist():
        raise BadBackup(f"{path.name} has no manifest: it is no backup of this program")
    with archive.open(MANIFEST) as member:
        return parse_manifest(path.name, member.read(LONGEST_MANIFEST), _OldManifest)


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadBackup(f"{path.name} is no whole backup: {error}") from None
