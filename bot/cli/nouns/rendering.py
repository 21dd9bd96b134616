"""Tables for people, JSON lines for programs."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import typer

from bot.cli.ops import write_table
from bot.i18n.translate import Locale, Translator
from state.canonical import dumps
from state.stored import JsonObject

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
_NOTHING: Final = "—"
_PERSON: Final = frozenset({"id", "name"})
_LONGEST: Final = 200


class Page:
    """Times are in the zone of this machine."""

    def __init__(self, language: Locale) -> None:
        self._tr = Translator(language)

    def write_rows(self, rows: Sequence[JsonObject], columns: Sequence[str], title: str = "") -> None:
        if not rows:
            typer.echo(self._tr.translate("cli-none"))
            return
        cells = [[self._format(row.get(name), names_only=True)[:_LONGEST] for name in columns] for row in rows]
        heads = [self._name(name) for name in columns]
        whole = {head for number, head in enumerate(heads) if all(_is_whole(row[number]) for row in cells)}
        write_table(heads, cells, title=self._name(title) if title else "", unbroken=whole)

    def write_thing(self, thing: JsonObject) -> None:
        """Lists in it are tables below."""
        tables = {name: rows for name, rows in thing.items() if _is_table(rows)}
        rows = [(self._name(name), self._format(part)) for name, part in thing.items() if name not in tables]
        write_table((self._name("field"), self._name("value")), rows)
        for name, lines in tables.items():
            self.write_rows(lines, [field for field in lines[0] if any(line.get(field) not in (None, "", [], {}) for line in lines)], name)

    def _name(self, name: str) -> str:
        return self._tr.translate("cli-head", field=name, name=name.replace("_", " "))

    def _format(self, part: object, *, names_only: bool = False) -> str:
        match part:
            case None | "" | []:
                return _NOTHING
            case dict() if not part:
                return _NOTHING
            case bool():
                return self._tr.translate("cli-yes" if part else "cli-no")
            case str() if _MOMENT.fullmatch(part):
                return format_moment(part)
            case {"id": str(key), **rest} if rest.keys() <= _PERSON:
                name = str(rest.get("name") or "")
                return name if name and names_only else f"{name} ({key})" if name else key
            case list() if not any(isinstance(item, list) for item in part):
                return ", ".join(self._format(item, names_only=names_only) for item in part)
            case dict() if not any(isinstance(item, dict | list) for item in part.values()):
                return ", ".join(f"{self._name(name)}: {self._format(item)}" for name, item in part.items() if item not in (None, ""))
            case dict() | list():
                return dumps(part)
            case _:
                return str(part)


def format_moment(ts: str) -> str:
    """Such as "2026-11-21 15:00:05+03:00", in UTC "2026-11-21 12:00:05Z"."""
    return datetime.fromisoformat(ts).astimezone().isoformat(" ", "seconds").replace("+00:00", "Z")


def _is_whole(cell: str) -> bool:
    """A word or a time, half of which would be useless."""
    return " " not in cell or _MOMENT.fullmatch(cell.replace(" ", "T")) is not None


def _is_table(part: object) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(item, dict) and not item.keys() <= _PERSON for item in part)
