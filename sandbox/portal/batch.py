"""Sandbox portal, the method `batch`: runs up to 50 commands in order and inserts their results into later commands.

A failed command does not undo the earlier ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbox.portal.errors import PortalError
from sandbox.portal.php import parse_query
from sandbox.portal.rendering import Rows
from sandbox.portal.schema import Row

LIMIT = 50
_REFERENCE = re.compile(r"\$result((?:\[[^\[\]]*\])+)")
RunCommand = Callable[[str, str, Row], Row]


@dataclass
class _Report:
    result: Row = field(default_factory=dict)
    errors: Row = field(default_factory=dict)
    total: Row = field(default_factory=dict)
    next: Row = field(default_factory=dict)
    time: Row = field(default_factory=dict)


def run_batch(params: Row, run_command: RunCommand) -> Row:
    """Run the commands of a `batch` call and return its `result` object, with results and errors by command key.

    After a failed command the batch goes on, unless the parameter `halt` is set. Raises PortalError if `cmd` is not an array.
    """
    commands = params.get("cmd")
    if not isinstance(commands, dict | list):
        raise PortalError(400, "INVALID_ARG_VALUE", "Parameter 'cmd' must be array.")
    pairs = list(commands.items()) if isinstance(commands, dict) else [(str(i), c) for i, c in enumerate(commands)]
    halt = str(params.get("halt", "0")).lower() not in {"0", "", "false", "none"}
    report = _Report()
    for place, (key, command) in enumerate(pairs):
        try:
            _run_one(report, key, str(command), place, run_command)
        except PortalError as error:
            report.errors[key] = error.body()
            if halt:
                break
    return {
        "result": _php_map(report.result),
        "result_error": _php_map(report.errors),
        "result_total": _php_map(report.total),
        "result_next": _php_map(report.next),
        "result_time": _php_map(report.time),
    }


def _run_one(report: _Report, key: str, command: str, place: int, run_command: RunCommand) -> None:
    if place >= LIMIT:
        raise PortalError(400, "ERROR_BATCH_LENGTH_EXCEEDED", "Max batch length exceeded")
    method, _, text = command.partition("?")
    params = {name: _substitute(value, report.result) for name, value in parse_query(text).items()}
    body = run_command(key, method, params)
    report.result[key] = body["result"]
    report.time[key] = body["time"]
    for name, target in (("total", report.total), ("next", report.next)):
        if name in body:
            target[key] = body[name]


def _substitute(value: Any, results: Row) -> Any:
    """Return a parameter in which references such as `$result[key][0]`, at any depth, are replaced by the results of earlier commands.

    A reference that finds nothing becomes an empty string. This is assumed: the Bitrix24 documentation does not describe the case.
    """
    if isinstance(value, dict):
        return {name: _substitute(item, results) for name, item in value.items()}
    if isinstance(value, list):
        return [_substitute(item, results) for item in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole:
        found = _look_up(whole.group(1), results)
        if isinstance(found, Rows):
            return found.opened()
        return "" if found is None else found
    return _REFERENCE.sub(lambda m: _as_text(_look_up(m.group(1), results)), value)


def _look_up(path: str, results: Row) -> Any:
    node: Any = results
    for step in path[1:-1].split("]["):
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list | Rows) and step.isdecimal() and int(step) < len(node):
            node = node.at(int(step)) if isinstance(node, Rows) else node[int(step)]
        else:
            return None
    return node


def _as_text(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list | Rows) else str(value)


def _php_map(values: Row) -> Row | list[Any]:
    """Return a map with the keys 0..n-1, or an empty one, as a list, as PHP does; any other map is returned unchanged."""
    return list(values.values()) if list(values) == [str(i) for i in range(len(values))] else values
