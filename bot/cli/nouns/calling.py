"""Calls an operation of the API in this process, and shows what it answers; the exit code says what came of it."""

import asyncio
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import typer

from bot.cli.inputs import parse_arg, pick_id, read_input
from bot.cli.nouns.commands import LoadEngines
from bot.cli.nouns.description import Operation, load_operations
from bot.cli.nouns.local_api import open_local_api
from bot.cli.nouns.table import FINDS, GROUPS, Command
from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.i18n.translate import Locale, Translator
from bot.plugins.building import load_installed_engines
from orchestrator.domain.errors import SettingsError
from orchestrator.runs.registry import Engines
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
            case dict() if not any(_is_nested(item) for item in part.values()):
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


def _is_nested(item: object) -> bool:
    """But for a person, whom one word names."""
    return isinstance(item, list) or (isinstance(item, dict) and not item.keys() <= _PERSON)


def _is_table(part: object) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(item, dict) and not item.keys() <= _PERSON for item in part)


NOT_DONE: Final = 1
_REFUSED: Final = frozenset({401, 403, 409, 410, 422, 429})
"""A no to what was understood; other errors are wrong use, or a database that cannot be used."""
_CREATED_LATER, _OK, _NOT_FOUND, _CONFLICT = 202, 200, 404, 409
_TRIES: Final = 10
_WAITS: Final = "stored, but no bot has taken it: does `sdelka run` work with this database? It is carried out as soon as one does."
_REFUSES: Final = " If one works, the bot refused it: its chat says why, and `sdelka logs` has more."
_JSON, _YAML = "application/json", "application/yaml"


def call_operation(name: str, command: Command, operation: Operation, load_engines: LoadEngines | None, /, **values: Any) -> None:
    """Raises SettingsError and typer.Exit."""
    asyncio.run(_Call(name, command, operation, values).run(load_engines or load_installed_engines))


class _Call:
    def __init__(self, name: str, command: Command, operation: Operation, values: JsonObject) -> None:
        self._name, self._command, self._values = name, command, values
        self._operation = self._choose(operation)
        self._page = Page(values.get("language", "en"))

    async def run(self, load_engines: LoadEngines) -> None:
        values = self._values
        noun = self._operation.name.partition(".")[0]
        opened = open_local_api(
            noun,
            load_engines() if noun == "definitions" or self._command.is_for_person else Engines(runs={}),
            reads=self._operation.verb == "get",
            person=values.get("person", ""),
            within=values.get("wait"),
            language=values.get("language", "en"),
        )
        async with opened as api:
            path = await self._build_path(api)
            if self._operation.rows:
                self._write_rows(await self._fetch_rows(api, path))
                return
            answer = await self._send(api, path)
            self._check(answer)
            if self._operation.is_text:
                sys.stdout.write(escape_text(answer.text) if sys.stdout.isatty() else answer.text)
            else:
                await self._write_answer(api, path, answer)

    def _choose(self, operation: Operation) -> Operation:
        """The operation meant where a part of its address may be left out."""
        for name, other in self._command.without.items():
            is_left_out = self._values[f"path_{name}"] is None
            if is_left_out != (self._values["revision_revision"] is None):
                raise SettingsError(f"--{name} and --revision belong together: `show` has both")
            if is_left_out:
                return load_operations()[other]
        return operation

    async def _build_path(self, api: httpx.AsyncClient) -> str:
        path = self._operation.path
        for parameter in self._operation.parameters:
            if parameter.place == "path":
                text = str(self._values[f"path_{parameter.name}"])
                noun = FINDS.get(parameter.name)
                path = path.replace(f"{{{parameter.name}}}", quote(await _find_id(api, noun, text) if noun else text, safe=""))
        return path

    def _collect(self, place: str) -> dict[str, Any]:
        collected = {}
        for parameter in self._operation.parameters:
            value: Any = self._command.fixed.get(parameter.name, self._values.get(f"{place}_{parameter.name}"))
            if parameter.place == place and value is not None and value != []:
                collected[parameter.name] = dict(map(parse_arg, value)) if parameter.takes_pairs else value
        return collected

    async def _send(self, api: httpx.AsyncClient, path: str) -> httpx.Response:
        operation, revision = self._operation, self._values.get("revision_revision")
        has_body = operation.takes_file or any(parameter.place == "body" for parameter in operation.parameters)
        body = _read_file(self._values["file"]) if operation.takes_file else {"json": self._collect("body")} if has_body else {}
        for tries_left in range(_TRIES, 0, -1):
            headers = dict(body.get("headers", {}))
            if revision is not None or self._command.finds_revision:
                seen = revision or (await self._read(api, path.rpartition("/")[0]))["revision"]
                headers["If-Match"] = f'"{seen}"'
            sent = {**body, "params": self._collect("query"), "headers": headers}
            answer = await api.request(operation.verb, path, **sent)
            is_stale = answer.status_code == _CONFLICT and answer.json()["error"]["code"] == "stale_revision"
            if not (is_stale and self._command.finds_revision and revision is None and tries_left > 1):
                break
        return answer

    async def _fetch_rows(self, api: httpx.AsyncClient, path: str) -> list[JsonObject]:
        last, query = int(self._values["last"]), self._collect("query")
        if self._operation.has_pages:
            query["limit"] = next(int(one.schema["maximum"]) for one in self._operation.parameters if one.name == "limit")
        rows: list[JsonObject] = []
        while True:
            answer = await api.get(path, params=query)
            self._check(answer)
            body = answer.json()
            rows += body[self._operation.rows]
            if not (self._operation.has_pages and body["next"]) or (last and len(rows) >= last):
                return rows[:last] if last else rows
            query["cursor"] = body["next"]

    async def _read(self, api: httpx.AsyncClient, path: str) -> JsonObject:
        answer = await api.get(path)
        self._check(answer)
        return dict(answer.json())

    def _write_rows(self, rows: Sequence[JsonObject]) -> None:
        if self._values["as_json"]:
            write_json_lines(rows)
        else:
            self._page.write_rows(rows, self._command.columns or self._operation.fields)

    async def _write_answer(self, api: httpx.AsyncClient, path: str, answer: httpx.Response) -> None:
        """Raises typer.Exit for an action that was not carried out."""
        is_done, thing, why = answer.status_code != _CREATED_LATER, dict(answer.json()), _WAITS
        if not is_done and "location" in answer.headers:
            later = await api.get(answer.headers["location"])
            is_done, thing, why = later.status_code == _OK, dict(later.json()) if later.status_code == _OK else thing, _WAITS + _REFUSES
        is_success = is_done and (not self._command.succeeds or thing.get("status") in self._command.succeeds)
        below = [
            (other, (await self._read(api, f"{path}/{other.path.rpartition('/')[2]}"))[other.rows])
            for other in map(load_operations().__getitem__, self._command.also)
        ]
        if self._values["as_json"]:
            write_json_lines([{**thing, **{other.rows: rows for other, rows in below}}])
        elif self._operation.verb == "get":
            self._page.write_thing(thing)
        elif is_success:
            typer.echo(f"{self._name}: done.")
            self._page.write_rows([thing], [name for name in self._command.columns or thing if name in thing])
        if not self._values["as_json"]:
            self._write_mistakes(thing.get("warnings", ()))
            for other, rows in below:
                if rows:
                    self._page.write_rows(rows, _find_columns(other), other.rows)
        if not is_success:
            typer.echo(escape_text(f"{self._name}: {thing.get('message', '') if is_done else why}"), err=True)
            raise typer.Exit(NOT_DONE)

    def _write_mistakes(self, mistakes: Sequence[JsonObject]) -> None:
        if mistakes:
            self._page.write_rows(mistakes, ("line", "column", "severity", "path", "message", "suggestion"))

    def _check(self, answer: httpx.Response) -> None:
        """Raises SettingsError (exit code 2) or typer.Exit for an error."""
        if answer.is_success:
            return
        error = answer.json()["error"]
        if self._values.get("as_json"):
            write_json_lines(error.get("findings", ()))
        else:
            self._write_mistakes(error.get("findings", ()))
        message = escape_text(error["message"].replace("send that in If-Match", "give that as --revision"))  # there are no headers here
        if answer.status_code not in _REFUSED:
            raise SettingsError(message)
        typer.echo(message, err=True)
        raise typer.Exit(NOT_DONE)


def _find_columns(operation: Operation) -> Sequence[str]:
    group, _, name = operation.name.partition(".")
    columns = GROUPS[group].find_command(name).columns
    return columns if set(columns) <= set(operation.fields) else operation.fields


async def _find_id(api: httpx.AsyncClient, noun: str, text: str) -> str:
    """The whole id, by its beginning or end. Raises SettingsError."""
    text = text.strip()
    if text and (await api.get(f"/{noun}/{quote(text, safe='')}")).status_code != _NOT_FOUND:
        return text
    ids, query = [], {"limit": "100"}
    while text:
        page = (await api.get(f"/{noun}", params=query)).json()
        ids += [row["id"] for row in page[noun]]
        if not page["next"]:
            break
        query["cursor"] = page["next"]
    return pick_id(text, ids, noun.removesuffix("s"))


def _read_file(name: str) -> JsonObject:
    """Raises SettingsError."""
    form = _JSON if Path(name).suffix.lower() == ".json" else _YAML
    return {"content": read_input(name), "headers": {"Content-Type": form}}
