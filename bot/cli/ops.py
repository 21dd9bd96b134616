"""Opening the database, tables for people, JSON lines for programs."""

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import orjson
import typer

from bitrix.masking import hide_installed, mask
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.journal.store import Store, StoreError
from state.sql import open_reader, open_store
from state.sql.store import SqlStore

if TYPE_CHECKING:
    from orchestrator.model_client.router import ModelRouter

_UNBROKEN_COLUMNS: Final = frozenset(
    {"#", "n", "session", "largest sessions", "time", "when", "last activity", "day", "call", "method", "class", "outcome", "step", "key"}
)
"""Ids and times: half an id on a line is useless."""
_UNLIMITED: Final = 1_000_000


@contextlib.contextmanager
def open_database_reader(settings: Settings | None = None) -> Iterator[Store]:
    """Also while the bot runs. Raises SettingsError (exit code 2)."""
    settings = settings or load_settings()
    try:
        store = open_reader(settings.database.get_secret_value())
    except StoreError as error:
        raise SettingsError(f"the database cannot be read: {mask(str(error))}") from None
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def open_database_writer(settings: Settings | None = None, *, failed: str = "nothing could be stored: {why}") -> Iterator[SqlStore]:
    """Never creates a database. Raises SettingsError, with `failed` if a write fails."""
    settings = settings or load_settings()
    with open_database_reader(settings):
        pass
    try:
        store = open_store(settings.database.get_secret_value())
    except StoreError as error:
        raise SettingsError(f"the database cannot be opened: {mask(str(error))}") from None
    try:
        yield store
    except (StoreError, TimeoutError) as error:
        raise SettingsError(failed.format(why=mask(str(error)))) from None
    finally:
        store.close()


@contextlib.contextmanager
def open_tolerant_reader(settings: Settings | None = None) -> Iterator[tuple[Store, Callable[[], None]]]:
    """Skips damaged records; call the function at the end: it reports them and raises typer.Exit(1)."""
    with open_database_reader(settings) as store:
        reader = DamageTolerantStore(store)

        def told() -> None:
            if not reader.damaged_records:
                return
            places = [f"{stream.removeprefix('session:')} #{seq}" for stream, seq in sorted(reader.damaged_records)]
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""  # noqa: PLR2004 - enough to look at
            count = f"{len(places)} record{'' if len(places) == 1 else 's'}"
            sys.stderr.write(f"{count} cannot be read: run `sdelka journal verify` ({', '.join(places[:3])}{more})\n")
            raise typer.Exit(1)

        yield cast("Store", reader), told


@contextlib.asynccontextmanager
async def open_models() -> "AsyncIterator[ModelRouter]":
    """What is asked costs. Raises SettingsError."""
    from bot.composition.model_providers import build_providers  # noqa: PLC0415 - few commands ask a model

    models = build_providers(load_settings())
    try:
        yield models.router
    finally:
        for client in models.clients.values():
            await client.aclose()


def write_json_lines(rows: Sequence[Mapping[str, object]]) -> None:
    """Without secrets of this installation."""
    for row in rows:
        sys.stdout.write(orjson.dumps(hide_installed(row), default=str).decode() + "\n")
    sys.stdout.flush()


def write_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", unbroken: Collection[str] = _UNBROKEN_COLUMNS
) -> None:
    """Escaped, without secrets. On a terminal cells wrap but `unbroken`; in a pipe each row is one line."""
    from rich import console, table, text  # noqa: PLC0415 - only commands that show something load it

    grid = table.Table(header_style="bold", show_edge=False, pad_edge=False)
    piped = not sys.stdout.isatty()
    screen = console.Console(width=_UNLIMITED if piped else None)
    for name in columns:
        grid.add_column(name, overflow="fold", no_wrap=piped or name in unbroken)
    for row in rows:
        grid.add_row(*(text.Text(escape_text(hide_installed(str(cell))).replace("\n", " ⏎ " if piped else "\n")) for cell in row))
    if title:  # printed separately: inside the table it would wrap at the table's width
        screen.print(text.Text(escape_text(title), style="italic"), soft_wrap=True)
    screen.print(grid)


def escape_text(text: str) -> str:
    """Control characters become their hexadecimal codes; spaces that do not break stay."""
    return "".join(char if char in "\n\u00a0\u202f" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)
