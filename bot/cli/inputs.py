"""Arguments of several commands: values by name, people, parts of ids."""

from typing import TYPE_CHECKING, Final

from bot.cli.ops import escape_text
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state.journal.run_index import RunRow
    from state.journal.store import Store

_MOST_SHOWN: Final = 5


def parse_arg(text: str, option: str = "--arg") -> tuple[str, object]:
    """Name and value of deal=481: JSON data, or else the text as it stands."""
    import orjson  # noqa: PLC0415 - see the module docstring

    from state.canonical import to_storable  # noqa: PLC0415 - see the module docstring

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


def pick_id(text: str, ids: "Iterable[str]", noun: str) -> str:
    """`text` is a beginning or end. Raises SettingsError."""
    fits = [whole for whole in ids if text and (whole.startswith(text) or whole.endswith(text))]
    if not fits:
        raise SettingsError(escape_text(f"there is no {noun} {text!r}; `sdelka {noun}s list` shows all"))
    if len(fits) > 1:
        choices = f"{', '.join(fits[:_MOST_SHOWN])}{' …' if len(fits) > _MOST_SHOWN else ''}"
        raise SettingsError(escape_text(f"{text!r} may be {choices}: give more of it"))
    return fits[0]


def find_run(store: "Store", text: str) -> str:
    """By the whole id, its beginning or end. Raises SettingsError."""
    from state.journal.run_index import RunFilter  # noqa: PLC0415 - see the module docstring

    run_id = text.strip().removeprefix("run:")
    if run_id and (runs := store.list_runs(RunFilter(run_id=run_id))):
        return runs[0].run_id
    return pick_id(run_id, (row.run_id for row in _list_all(store)), "run")


def _list_all(store: "Store") -> "list[RunRow]":
    from state.journal.run_index import MOST, NO_TIME, RunFilter  # noqa: PLC0415 - see the module docstring

    rows: list[RunRow] = []
    while page := store.list_runs(RunFilter(limit=MOST, after=(rows[-1].started_at, rows[-1].run_id) if rows else (NO_TIME, ""))):
        rows += page
    return rows


def format_time(ts: str) -> str:
    """Such as "2026-11-21 12:00:05Z", "" for an empty one."""
    return f"{ts[:19].replace('T', ' ')}Z" if ts else ""
