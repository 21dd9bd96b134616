"""Sandbox portal, the method that finds duplicates by an exact phone number or e-mail address. Merging records is not offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.errors import classic
from sandbox.portal.schema import Row

_KINDS = ("lead", "contact", "company")


def _plain(kind: str, value: str) -> str:
    if kind == "EMAIL":
        return value.strip().lower()
    digits = "".join(c for c in value.partition(";")[0] if c.isdigit())
    return "7" + digits[1:] if len(digits) == 11 and digits.startswith("8") else digits


def _find(call: Call) -> dict[str, list[int]] | list[Any]:
    params = call.folded()
    kind = str(params.get("type") or "").upper()
    if kind not in {"PHONE", "EMAIL"}:
        raise classic("Communication type is not defined")
    values = params.get("values")
    if not isinstance(values, list) or not values:
        raise classic("Communication values is not defined")
    wanted = {_plain(kind, str(value)) for value in values[:20]}
    only = str(params.get("entity_type") or "").lower()
    found: dict[str, list[int]] = {}
    for entity in _KINDS if not only else [name for name in _KINDS if name == only]:
        ids = [row["ID"] for row in call.store.walk(entity) if _has(row, kind, wanted)]
        if ids:
            found[entity.upper()] = ids[:20]
    return found or []


def _has(row: Row, kind: str, wanted: set[str]) -> bool:
    return any(m["TYPE_ID"] == kind and _plain(kind, m["VALUE"]) in wanted for m in row.get("FM", ()))


METHODS: dict[str, Callable[[Call], Any]] = {"crm.duplicate.findbycomm": _find}
