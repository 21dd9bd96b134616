"""Opening the database, tables for people, JSON lines for programs."""

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

import orjson
import typer

from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:  # every command of `sdelka` passes here, its `--help` too: what takes long to load is loaded where it is used
    from bot.settings.settings import Settings
    from orchestrator.model_client.router import ModelRouter
    from state.journal.store import Store
    from state.sql.store import SqlStore

_UNBROKEN_COLUMNS: Final = frozenset(
    {"#", "n", "session", "largest sessions", "time", "when", "last activity", "day", "call", "method", "class", "outcome", "step", "key"}
)
"""Ids and times: half an id on a line is useless."""
_UNLIMITED: Final = 1_000_000

Language = Literal["ru", "en"]


@contextlib.contextmanager
def open_database_reader(settings: "Settings | None" = None) -> Iterator["Store"]:
    """Also while the bot runs. Raises SettingsError (exit code 2)."""
    from bitrix.masking import mask  # noqa: PLC0415 - see the module docstring
    from bot.settings.loading import load_settings  # noqa: PLC0415 - see the module docstring
    from state.journal.store import StoreError  # noqa: PLC0415 - see the module docstring
    from state.sql import open_reader  # noqa: PLC0415 - see the module docstring

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
def open_database_writer(settings: "Settings | None" = None, *, failed: str = "nothing could be stored: {why}") -> "Iterator[SqlStore]":
    """Never creates a database. Raises SettingsError, with `failed` if a write fails."""
    from bitrix.masking import mask  # noqa: PLC0415 - see the module docstring
    from bot.settings.loading import load_settings  # noqa: PLC0415 - see the module docstring
    from state.journal.store import StoreError  # noqa: PLC0415 - see the module docstring
    from state.sql import open_store  # noqa: PLC0415 - see the module docstring

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
def open_tolerant_reader(settings: "Settings | None" = None) -> "Iterator[tuple[Store, Callable[[], None]]]":
    """Skips damaged records; call the function at the end: it reports them and raises typer.Exit(1)."""
    from orchestrator.reports.reading.damaged_records import DamageTolerantStore  # noqa: PLC0415 - see the module docstring

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
    from bot.composition.model_providers import build_providers  # noqa: PLC0415 - see the module docstring
    from bot.settings.loading import load_settings  # noqa: PLC0415 - see the module docstring

    models = build_providers(load_settings())
    try:
        yield models.router
    finally:
        for client in models.clients.values():
            await client.aclose()


def write_json_lines(rows: Sequence[Mapping[str, object]]) -> None:
    """Without secrets of this installation."""
    from bitrix.masking import hide_installed  # noqa: PLC0415 - see the module docstring

    for row in rows:
        sys.stdout.write(orjson.dumps(hide_installed(row), default=str).decode() + "\n")
    sys.stdout.flush()


def hide_log_lines() -> None:
    """For commands that say themselves what happened; Python would write them to stderr."""
    import logging  # noqa: PLC0415 - see the module docstring

    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())


def write_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", unbroken: Collection[str] = _UNBROKEN_COLUMNS
) -> None:
    """Escaped, without secrets. On a terminal cells wrap but `unbroken`; in a pipe each row is one line."""
    from rich.console import Console  # noqa: PLC0415 - only commands that show something load it
    from rich.table import Table  # noqa: PLC0415 - see above
    from rich.text import Text  # noqa: PLC0415 - see above

    from bitrix.masking import hide_installed  # noqa: PLC0415 - see the module docstring

    table = Table(header_style="bold", show_edge=False, pad_edge=False)
    piped = not sys.stdout.isatty()
    console = Console(width=_UNLIMITED if piped else None)
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=piped or name in unbroken)
    for row in rows:
        table.add_row(*(Text(escape_text(hide_installed(str(cell))).replace("\n", " ⏎ " if piped else "\n")) for cell in row))
    if title:  # printed separately: inside the table it would wrap at the table's width
        console.print(Text(escape_text(title), style="italic"), soft_wrap=True)
    console.print(table)


def escape_text(text: str) -> str:
    """Control characters become their hexadecimal codes; spaces that do not break stay."""
    return "".join(char if char in "\n\u00a0\u202f" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)
