"""What the commands for ops share: the database opened for reading, tables for people, lines for machines. Ring 3."""

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from orchestrator.errors import SettingsError

if TYPE_CHECKING:  # every command of `sdelka` passes here, its `--help` too: what takes long to load is loaded where it is used
    from bot.settings import Settings
    from state.store import Store

AS_JSON = "One JSON object a line instead of a table."


@contextlib.contextmanager
def opened_reader(settings: "Settings | None" = None) -> Iterator["Store"]:
    """The database to look into, also while the bot runs; SettingsError (exit code 2) where it cannot be opened."""
    from bitrix.masking import mask  # noqa: PLC0415 - see the top
    from bot.settings import load_settings  # noqa: PLC0415 - see the top
    from state.sql import open_reader  # noqa: PLC0415 - see the top
    from state.store import StoreError  # noqa: PLC0415 - see the top

    settings = settings or load_settings()
    try:
        store = open_reader(settings.database.get_secret_value())
    except StoreError as error:
        raise SettingsError(f"the database cannot be read: {mask(str(error))}") from None
    try:
        yield store
    finally:
        store.close()


def print_lines(rows: Sequence[Mapping[str, Any]]) -> None:
    """Each row as one JSON object on a line of its own."""
    for row in rows:
        sys.stdout.write(orjson.dumps(row, default=str).decode() + "\n")
    sys.stdout.flush()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "") -> None:
    """A table as wide as the terminal; control characters of foreign text are made visible."""
    from rich.console import Console  # noqa: PLC0415 - only commands that show something load it
    from rich.table import Table  # noqa: PLC0415 - see above
    from rich.text import Text  # noqa: PLC0415 - see above

    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    Console().print(table)


def visible(text: str) -> str:
    """`text` with what a terminal would obey instead of show (escapes, direction marks) written out."""
    return "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)
