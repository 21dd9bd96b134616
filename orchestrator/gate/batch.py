"""A batch taken apart into commands and rebuilt from what was judged (S004-24 to S004-27). Ring 2, pure."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bitrix.batch import BatchError, Command, build_cmd, parse_commands, references
from bitrix.catalogue import Method
from orchestrator.gate import targets
from orchestrator.gate.effects import Call
from orchestrator.gate.params import refused

_KEY = re.compile(r"\$result\s*\[([A-Za-z0-9_-]+)\]", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"\$result\[([A-Za-z0-9_-]+)\](?:\[[A-Za-z0-9_-]+\])*", re.ASCII)
_ON = frozenset({"1", "true", "y"})
_OFF = frozenset({"", "0", "false", "n"})
_ORDER = ("R", "W", "M", "N", "C", "D")


def commands(cmd: Any) -> tuple[Command, ...]:
    """The commands in order of execution, under keys that keep this order when sorted; raises Refusal.

    Stored JSON sorts its keys, so a batch whose keys are not in order gets numbered ones, and its references follow.
    """
    try:
        parsed = parse_commands(cmd)
    except BatchError as error:
        raise refused("gate-batch-broken", key=error.key or "cmd", why=error.why) from None
    keys = [command.key for command in parsed]
    if keys == sorted(keys):
        return parsed
    renamed = {key: f"c{place:02}_{key}"[:64] for place, key in enumerate(keys)}
    return tuple(Command(renamed[command.key], command.method, _renamed(command.params, renamed)) for command in parsed)


def halt(written: Any) -> bool:
    """The `halt` switch; raises Refusal for anything but a plain yes or no."""
    text = str(written if written is not None else "").strip().lower()
    if text not in _ON | _OFF:
        raise refused("gate-param-invalid", param="halt", expected="0 or 1")
    return text in _ON


def placed(call: Call, earlier: Mapping[str, Call]) -> Call:
    """`call` as a command after `earlier` ones; raises Refusal for a reference that leads nowhere or an id that is none."""
    paths = _paths(call.params, earlier, method=call.method)
    created = False
    for path in call.spec.target:
        written = targets.at(call.params, path)
        if written is None or targets.as_id(written) is not None:
            continue
        if path not in paths:
            raise refused("gate-param-invalid", param=path, expected="the number of a record")
        whole = _WHOLE.fullmatch(str(written).strip())
        created = whole is not None and earlier[whole[1]].spec.verb == "add"
    return replace(call, references=paths, target_created=created)


def assembled(spec: Method, calls: tuple[Call, ...], *, halt: bool, portal: str) -> Call:
    """The batch to send, rebuilt from its commands; it halts at the first error when a command needs another's result."""
    stop = halt or any(call.references for call in calls)
    try:
        cmd = build_cmd([Command(call.key, call.method, dict(call.params)) for call in calls])
    except BatchError as error:
        raise refused("gate-batch-broken", key=error.key or "cmd", why=error.why) from None
    present = {name for call in calls for name in call.classes}
    return Call(
        kind="bitrix",
        method=spec.name,
        params={"cmd": cmd, "halt": int(stop)},
        spec=spec,
        classes=tuple(name for name in _ORDER if name in present),
        portal=portal,
        commands=calls,
        halt=stop,
        targets=tuple(dict.fromkeys(target for call in calls for target in call.targets)),
        unknown_target=any(call.unknown_target for call in calls),
        entities={name: entity for call in calls for name, entity in call.entities.items()},
    )


def _renamed(value: Any, keys: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _renamed(item, keys) for name, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, keys) for item in value]
    return _KEY.sub(lambda found: f"$result[{keys.get(found[1], found[1])}]", str(value))


def _paths(value: Any, earlier: Mapping[str, Call], *, method: str, prefix: str = "") -> tuple[str, ...]:
    """Paths whose value holds `$result[...]`; raises Refusal for one in a name, or one that leads to no earlier command."""
    if not isinstance(value, Mapping):
        keys = [_KEY.match(text) for text in references(value)]
        if not all(key is not None and key[1] in earlier for key in keys):
            raise refused("gate-reference", param=prefix, method=method)
        return (prefix,) if keys else ()
    if any(references(name) for name in value):
        raise refused("gate-reference", param=prefix or "params", method=method)
    inner = [_paths(item, earlier, method=method, prefix=f"{prefix}.{name}".lstrip(".")) for name, item in value.items()]
    return tuple(path for paths in inner for path in paths)
