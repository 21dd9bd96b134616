"""Splits a batch into commands, and builds it from the checked ones (S004-24 to S004-27). Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bitrix.catalogue.catalogue import Method
from bitrix.client.batch import BatchError, Command, build_cmd, find_references, number_keys, parse_commands, restore_keys
from orchestrator.gate.call import fields, targets
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.params import build_refusal
from orchestrator.gate.call.reasons import CommandLabel, wrap_in_batch
from state.stored import JsonObject

_KEY = re.compile(r"\$result\s*\[([A-Za-z0-9_-]+)\]", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"\$result\[([A-Za-z0-9_-]+)\]((?:\[[A-Za-z0-9_-]+\])*)", re.ASCII)
NEW_ID_PLACES = {
    "crm.item.add": "[item][id]",
    "tasks.task.add": "[task][id]",
    "crm.activity.todo.add": "[id]",
    **dict.fromkeys(
        ("crm.deal.add", "crm.lead.add", "crm.contact.add", "crm.company.add", "crm.activity.add", "crm.timeline.comment.add"), ""
    ),
}
"""Where an add's answer holds the new id; any other value may have been chosen by somebody."""
_ON = frozenset({"1", "true", "y"})
_OFF = frozenset({"", "0", "false", "n"})
_ORDER = ("R", "W", "M", "N", "C", "D")
_OUTWARD: Final = "N"


def unpack_commands(cmd: object) -> tuple[Command, ...]:
    """In order of execution, with the keys that were written. Raises Refusal if it cannot be parsed."""
    try:
        return restore_keys(parse_commands(cmd))
    except BatchError as error:
        raise build_refusal("gate-batch-broken", key=error.key or "cmd", why=error.why) from None
    except ValueError:  # int() refuses text of thousands of digits
        raise build_refusal("gate-batch-broken", key="cmd", why="a key is too long") from None


def parse_halt(halt: object) -> bool:
    """Raises Refusal for anything but a plain yes or no."""
    text = str(halt if halt is not None else "").strip().lower()
    if text not in _ON | _OFF:
        raise build_refusal("gate-param-invalid", param="halt", expected="0 or 1")
    return text in _ON


def bind_command(call: Call, earlier: Mapping[str, Call]) -> Call:
    """How the command depends on `earlier` ones.

    A record counts as created by the batch only if its id refers to a new record of the same kind. Raises Refusal for an invalid id, and
    for a reference to anything but an earlier command.
    """
    paths = _find_reference_paths(call.params, earlier, method=call.method)
    are_new: list[bool] = []
    kind, bound = (call.lookup.kind, call.lookup.bound) if call.lookup is not None else ("", ())
    for path, place in call.places.items():
        if targets.as_id(place) is not None:
            continue
        if path not in paths and call.reads_only and isinstance(place, list):  # a filter by several values is about no single record
            continue
        if path not in paths:
            raise build_refusal("gate-param-invalid", param=path, expected="the number of a record")
        are_new.append(_is_new(place, kind, earlier))
    open_ties = [_is_new(tie.written, tie.entity, earlier) for tie in bound if tie.number is None]
    unknown = call.unknown_target or not all(open_ties)
    return replace(call, references=paths, unknown_target=unknown, target_created=bool(are_new) and all([*are_new, *open_ties]))


def _is_new(reference: object, kind: str, earlier: Mapping[str, Call]) -> bool:
    whole = _WHOLE.fullmatch(str(reference).strip())
    if whole is None:
        return False
    add = earlier[whole[1]]
    return NEW_ID_PLACES.get(add.method) == whole[2] and add.entity == kind != ""


def find_reference_key(reference: object) -> str:
    """The command to whose result a value refers (`$result[key]`); "" if it is no reference."""
    match = _KEY.search(reference) if isinstance(reference, str) else None
    return match[1] if match else ""


def _tells_of_others(calls: Sequence[Call]) -> bool:
    first = next((place for place, call in enumerate(calls) if not call.reads_only and _OUTWARD not in call.classes), len(calls))
    return any(_OUTWARD in call.classes for call in calls[first + 1 :])


def build_batch(spec: Method, calls: tuple[Call, ...], *, halt: bool, portal: str) -> Call:
    """Stops at the first error if `halt` is set, a command uses another's result, or one tells people of others before it.

    Stored keys are sorted, which must not change the order: they carry their places if need be.
    """
    stop = halt or any(call.references for call in calls) or _tells_of_others(calls)
    try:
        cmd = build_cmd(number_keys([Command(call.key, call.method, dict(call.params)) for call in calls]))
    except BatchError as error:
        raise build_refusal("gate-batch-broken", key=error.key or "cmd", why=error.why) from None
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
        ties=tuple(dict.fromkeys(tie for call in calls for tie in call.ties)),
    )


def _find_reference_paths(value: object, earlier: Mapping[str, Call], *, method: str, prefix: str = "") -> tuple[str, ...]:
    if not isinstance(value, Mapping):
        keys = [_KEY.match(text) for text in find_references(value)]
        if not all(key is not None and key[1] in earlier for key in keys):
            raise build_refusal("gate-reference", param=prefix, method=method)
        return (prefix,) if keys else ()
    if any(find_references(name) for name in value):
        raise build_refusal("gate-reference", param=prefix or "params", method=method)
    inner = [_find_reference_paths(item, earlier, method=method, prefix=f"{prefix}.{name}".lstrip(".")) for name, item in value.items()]
    return tuple(path for paths in inner for path in paths)


_HIDDEN: Final = frozenset({"gate-not-yours", "gate-not-found", "gate-unread", "gate-filter-foreign"})
"""Without a title in the label the person learns nothing about a record they may not see."""
_TITLES: Final = ("TITLE", "SUBJECT", "NAME", "LAST_NAME")
_LIMIT: Final = 60


def build_command_label(leaf: Call, facts: Facts, *, why: str = "") -> CommandLabel:
    """A new record has the title that the command writes and the number 0.

    In a refusal, `why` is its code, which may hide the title.
    """
    target = next(iter(leaf.targets), None)
    entity = leaf.entity.partition(":")[0]
    record = facts.records.get(target) if target else leaf.written_fields
    title = "" if why in _HIDDEN or record is None else _find_title(record, entity)
    return CommandLabel(entity=entity, title=title or "none", number=target[1] if target else 0, method=leaf.method)


def wrap_refusal(leaf: Call, refusal: Refuse, facts: Facts) -> Refuse:
    about = build_command_label(leaf, facts, why=refusal.reason.code)
    notice = wrap_in_batch("gate-batch-refused", refusal.reason, key=leaf.key, method=leaf.method, about=about)
    return Refuse(reason=notice, detail=f"command {leaf.key} ({leaf.method}) of the batch: {refusal.detail}")


def _find_title(record: JsonObject, entity: str) -> str:
    parts = [str(title_part) for name in _TITLES if (title_part := fields.find_value(record, name, entity)) not in (None, "")]
    whole = parts[:1] if fields.find_value(record, "TITLE", entity) else parts
    return escape_text(" ".join(whole), limit=_LIMIT) if whole else ""
