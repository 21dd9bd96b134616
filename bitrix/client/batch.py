"""The batch method of the REST API v2: parses a batch into commands, builds one from commands, and reads the outcome of each command.

Nested batches are refused, and so is everything that PHP could read differently from this program. Rights and confirmations are decided
elsewhere.
"""

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
    "parse_commands",
    "read_answer",
]

MAX_COMMANDS = 50
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"\$result\s*(?:\[[^\[\]]*\])+|\$result\s*\[[^\]]*", re.IGNORECASE)
_NUMBERED = re.compile(r"(\$result\s*\[)([0-9]+)(?=\])", re.IGNORECASE)
_DECODINGS = 3

Status = Literal["success", "error", "not_run", "unknown"]


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a batch: its key, its method as written, its parsed parameters."""

    key: str
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The outcome of one command; `unknown` means the answer does not mention it (S004-71)."""

    key: str
    method: str
    status: Status
    result: Any = None
    error: str = ""
    description: str = ""
    total: int | None = None
    next: int | None = None


def parse_commands(cmd: Any) -> tuple[Command, ...]:
    """Return the commands of a batch in order. `cmd` is a map or a list of texts like "method?query". Raises `BatchError` (S004-24, -27).

    For numeric keys PHP would answer with a list. Such a key gets a letter in front (`c00`), and references to it (`$result[0]`) are
    changed, too.
    """
    entries = _list_entries(cmd)
    if not entries:
        raise BatchError("", "no commands")
    if len(entries) > MAX_COMMANDS:
        raise BatchError("", f"more than {MAX_COMMANDS} commands")
    renamed = {str(int(key)): f"c{int(key):02}" for key, _ in entries if key.isdigit()}
    commands: dict[str, Command] = {}
    for written, text in entries:
        key = renamed[str(int(written))] if written.isdigit() else written
        if key in commands:
            raise BatchError(key, "the key is used twice")
        commands[key] = _parse_command(key, text, renamed)
    return tuple(commands.values())


def build_cmd(commands: Sequence[Command]) -> dict[str, str]:
    """Return the `cmd` map of a batch with these commands, to be executed in this order. Raises `BatchError` if one cannot be encoded."""
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
    """Return every `$result[...]` in nested values and keys, in order, including percent-encoded or unfinished ones."""
    if isinstance(value, str):
        return list(dict.fromkeys(found for text in _list_decodings(value) for found in _REFERENCE.findall(text)))
    if isinstance(value, Mapping):
        return [found for key, item in value.items() for part in (key, item) for found in find_references(part)]
    if isinstance(value, list | tuple):
        return [found for item in value for found in find_references(item)]
    return []


def read_answer(commands: Sequence[Command], answer: Answer, *, halt: bool = False) -> tuple[CommandOutcome, ...]:
    """Return one outcome per command of a batch, in the order of the commands. HTTP 200 for the batch says nothing about a single command.

    A command that the answer does not mention gets the status `unknown`. It gets `not_run` if the batch was sent with `halt` and an earlier
    command failed.
    """
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


def _parse_command(key: str, text: str, renamed: Mapping[str, str]) -> Command:
    method, _, query = text.strip().partition("?")
    if not is_method_name(method):
        raise BatchError(key, "the command does not begin with a plain method name")
    if method.lower() == "batch":
        raise BatchError(key, "a batch inside a batch")
    try:
        params = php_query.parse(query)
    except QueryError as error:
        raise BatchError(key, error.why) from None
    return Command(key, method, _rename_references(params, renamed))


def _rename_references(value: Any, renamed: Mapping[str, str]) -> Any:
    """Return `value` with the references to renamed commands corrected; `renamed` gives the new key of each such command by its old key."""
    if isinstance(value, str):
        return _NUMBERED.sub(lambda found: found[1] + renamed.get(str(int(found[2])), found[2]), value)
    if isinstance(value, dict):
        return {key: _rename_references(item, renamed) for key, item in value.items()}
    return [_rename_references(item, renamed) for item in value]


def _list_decodings(text: str) -> list[str]:
    forms = [text]
    while len(forms) <= _DECODINGS and (decoded := unquote_plus(forms[-1])) != forms[-1]:
        forms.append(decoded)
    return forms


def _to_mapping(value: Any) -> Mapping[str, Any]:
    """Return a map from the portal's answer as a dict. PHP writes a map as a list if it is empty or has the keys 0, 1, 2 and so on."""
    if isinstance(value, Mapping):
        return value
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list) else {}


def _parse_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_error(entry: Any) -> tuple[str, str]:
    if isinstance(entry, Mapping):
        return to_safe_line(str(entry.get("error", ""))), to_safe_line(str(entry.get("error_description", "")))
    return "", to_safe_line(str(entry))
