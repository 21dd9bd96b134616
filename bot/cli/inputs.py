"""Arguments of several commands: files, values by name, people, parts of ids."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson

from bot.cli.ops import escape_text
from orchestrator.documents.reading import MAX_BYTES
from orchestrator.domain.errors import SettingsError
from state.canonical import to_storable
from state.journal.run_index import MOST, NO_TIME, RunFilter, RunRow
from state.journal.store import Store

_MOST_SHOWN: Final = 5


def read_text(path: Path) -> bytes:
    """At most a byte more than may be read. Raises SettingsError."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SettingsError(escape_text(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")) from None


def read_input(name: str) -> bytes:
    """- is standard input. Raises SettingsError."""
    return sys.stdin.buffer.read(MAX_BYTES + 1) if name == "-" else read_text(Path(name))


def parse_arg(text: str, option: str = "--arg") -> tuple[str, object]:
    """Name and value of deal=481: JSON data, or else the text as it stands."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise SettingsError(escape_text(f"{option} {text!r}: a value such as deal=481 is needed"))
    try:
        return name, to_storable(orjson.loads(value))
    except orjson.JSONDecodeError:
        return name, to_storable(value)


def check_person(person: str) -> None:
    """Raises SettingsError for a text that is no person or token such as tg:1007."""
    channel, _, rest = person.partition(":")
    if channel not in {"tg", "http"} or not rest:
        raise SettingsError("--for: a person or token such as tg:1007 or http:site is needed")


def pick_id(text: str, ids: Iterable[str], noun: str) -> str:
    """`text` is a beginning or end. Raises SettingsError."""
    fits = [whole for whole in ids if text and (whole.startswith(text) or whole.endswith(text))]
    if not fits:
        raise SettingsError(escape_text(f"there is no {noun} {text!r}; `sdelka {noun}s list` shows all"))
    if len(fits) > 1:
        choices = f"{', '.join(fits[:_MOST_SHOWN])}{' …' if len(fits) > _MOST_SHOWN else ''}"
        raise SettingsError(escape_text(f"{text!r} may be {choices}: give more of it"))
    return fits[0]


def find_run(store: Store, text: str) -> str:
    """By the whole id, its beginning or end. Raises SettingsError."""
    run_id = text.strip().removeprefix("run:")
    if run_id and (runs := store.list_runs(RunFilter(run_id=run_id))):
        return runs[0].run_id
    return pick_id(run_id, (row.run_id for row in _list_all(store)), "run")


def _list_all(store: Store) -> list[RunRow]:
    rows: list[RunRow] = []
    while page := store.list_runs(RunFilter(limit=MOST, after=(rows[-1].started_at, rows[-1].run_id) if rows else (NO_TIME, ""))):
        rows += page
    return rows


def format_time(ts: str) -> str:
    """Such as "2026-11-21 12:00:05Z", "" for an empty one."""
    return f"{ts[:19].replace('T', ' ')}Z" if ts else ""
