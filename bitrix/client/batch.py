import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote_plus

from bitrix.answers import Answer
from bitrix.catalogue.names import is_method_name
from bitrix.client import php_query
from bitrix.errors import BatchError, QueryError, to_safe_line

__all__ = [
    "MAX_COMMANDS",
    "BatchError",
    "Command",
    "CommandOutcome",
    "build_cmd",
    "find_references",
    "number_keys",
    "parse_commands",
    "read_answer",
    "restore_keys",
    "restore_written_keys",
]

MAX_COMMANDS = 50
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}|n[0-9]{2}--[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"\$result\s*(?:\[[^\[\]]*\])+|\$result\s*\[[^\]]*", re.IGNORECASE)
_REFERRED_KEY = re.compile(r"(\$result\s*\[)([A-Za-z0-9_-]+)(?=\])", re.ASCII | re.IGNORECASE)
_NUMBERED_KEY = re.compile(r"n[0-9]{2}--.", re.ASCII)
_NUMBERED_REFERENCE = re.compile(r"((?:\$|%24)result(?:\[|%5B))n[0-9]{2}--", re.ASCII | re.IGNORECASE)
_PLACE = 5
_DECODINGS = 3

Status = Literal["success", "error", "not_run", "unknown"]


@dataclass(frozen=True, slots=True)
class Command:
    key: str
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """`unknown` means the answer does not mention it (S004-71)."""

    key: str
    method: str
    status: Status
    result: Any = None
    error: str = ""
    description: str = ""
    total: int | None = None
    next: int | None = None


def parse_commands(cmd: Any) -> tuple[Command, ...]:
    """`cmd` is a map or a list of texts like "method?query". Raises `BatchError` (S004-24, -27)."""
    entries = _list_entries(cmd)
    if not entries:
        raise BatchError("", "no commands")
    if len(entries) > MAX_COMMANDS:
        raise BatchError("", f"more than {MAX_COMMANDS} commands")
    commands: dict[str, Command] = {}
    for key, text in entries:
        same = str(int(key)) if key.isdigit() else key  # PHP takes "01" for another key than 1, and nobody means that
        if same in commands:
            raise BatchError(key, "the key is used twice")
        commands[same] = _parse_command(key, text)
    return tuple(commands.values())


def number_keys(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Put the place in front of keys ("n00--find"), so that the order survives sorting. `restore_keys` undoes it."""
    keys = [command.key for command in commands]
    if keys == sorted(keys) and not any(key.isdigit() or _NUMBERED_KEY.match(key) for key in keys):
        return tuple(commands)
    return _rename_commands(commands, {key: f"n{place:02}--{key}" for place, key in enumerate(keys)})


def restore_keys(commands: Sequence[Command]) -> tuple[Command, ...]:
    ordered = sorted(commands, key=lambda command: command.key)
    if not all(command.key.startswith(f"n{place:02}--") and len(command.key) > _PLACE for place, command in enumerate(ordered)):
        return tuple(commands)
    return _rename_commands(ordered, {command.key: command.key[_PLACE:] for command in ordered})


def restore_written_keys(cmd: Any) -> Any:
    if not isinstance(cmd, Mapping) or not all(isinstance(key, str) and _NUMBERED_KEY.match(key) for key in cmd):
        return cmd
    return {key[_PLACE:]: _NUMBERED_REFERENCE.sub(r"\1", text) if isinstance(text, str) else text for key, text in sorted(cmd.items())}


def _rename_commands(commands: Sequence[Command], keys: Mapping[str, str]) -> tuple[Command, ...]:
    return tuple(
        Command(keys[command.key], command.method, {name: _rename_references(value, keys) for name, value in command.params.items()})
        for command in commands
    )


def build_cmd(commands: Sequence[Command]) -> dict[str, str]:
    cmd: dict[str, str] = {}
    for command in commands:
        if command.key in cmd:
            raise BatchError(command.key, "the key is used twice")
        try:
            query = php_query.build(command.params)
        except QueryError as error:
            raise BatchError(command.key, error.why) from None
        cmd[command.key] = f"{command.method}?{query}" if query else command.method
    return cmd


def find_references(value: Any) -> list[str]:
    """Every `$result[...]` in values and keys, also percent-encoded or unfinished."""
    if isinstance(value, str):
        return list(dict.fromkeys(found for text in _list_decodings(value) for found in _REFERENCE.findall(text)))
    if isinstance(value, Mapping):
        return [reference for key, item in value.items() for part in (key, item) for reference in find_references(part)]
    if isinstance(value, list | tuple):
        return [reference for item in value for reference in find_references(item)]
    return []


def read_answer(commands: Sequence[Command], answer: Answer, *, halt: bool = False) -> tuple[CommandOutcome, ...]:
    """One outcome per command in order; HTTP 200 for the batch says nothing about a single command."""
    body = answer.result if isinstance(answer.result, Mapping) else {}
    names = ("result", "result_error", "result_total", "result_next")
    results, errors, totals, nexts = (_to_mapping(body.get(name)) for name in names)
    outcomes: list[CommandOutcome] = []
    failed = False
    for command in commands:
        key = command.key
        if key in errors:
            failed = True
            code, description = _parse_error(errors[key])
            outcome = CommandOutcome(key, command.method, "error", error=code, description=description)
        elif key in results:
            total, following = _parse_count(totals.get(key)), _parse_count(nexts.get(key))
            outcome = CommandOutcome(key, command.method, "success", result=results[key], total=total, next=following)
        else:
            outcome = CommandOutcome(key, command.method, "not_run" if halt and failed else "unknown")
        outcomes.append(outcome)
    return tuple(outcomes)


def _list_entries(cmd: Any) -> list[tuple[str, str]]:
    if isinstance(cmd, Mapping):
        pairs = [(str(key) if isinstance(key, int) else key, text) for key, text in cmd.items()]
    elif isinstance(cmd, Sequence) and not isinstance(cmd, str | bytes | bytearray):
        pairs = [(str(index), text) for index, text in enumerate(cmd)]
    else:
        raise BatchError("", "`cmd` must be a map or a list of commands")
    for key, text in pairs:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise BatchError(str(key), "a key may hold Latin letters, digits, `_` and `-` only")
        if not isinstance(text, str):
            raise BatchError(key, 'a command must be text such as "crm.deal.get?id=1"')
    return pairs


def _parse_command(key: str, text: str) -> Command:
    method, _, query = text.strip().partition("?")
    if not is_method_name(method):
        raise BatchError(key, "the command does not begin with a plain method name")
    if method.lower() == "batch":
        raise BatchError(key, "a batch inside a batch")
    try:
        params = php_query.parse(query)
    except QueryError as error:
        raise BatchError(key, error.why) from None
    return Command(key, method, params)


def _rename_references(value: Any, keys: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _REFERRED_KEY.sub(lambda match: match[1] + keys.get(match[2], match[2]), value)
    if isinstance(value, dict):
        return {name: _rename_references(item, keys) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rename_references(item, keys) for item in value]
    return value


def _list_decodings(text: str) -> list[str]:
    forms = [text]
    while len(forms) <= _DECODINGS and (decoded := unquote_plus(forms[-1])) != forms[-1]:
        forms.append(decoded)
    return forms


def _to_mapping(value: Any) -> Mapping[str, Any]:
    """PHP writes a map as a list if it is empty or has the keys 0, 1, 2 and so on."""
    if isinstance(value, Mapping):
        return value
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list) else {}


def _parse_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_error(entry: Any) -> tuple[str, str]:
    if isinstance(entry, Mapping):
        return to_safe_line(str(entry.get("error", ""))), to_safe_line(str(entry.get("error_description", "")))
    return "", to_safe_line(str(entry))
