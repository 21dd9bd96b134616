"""Sandbox portal, seed file: records and custom fields of a test's own, in JSON, beside or in place of those of the sample firm."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sandbox.portal import records, schema
from sandbox.portal.context import Call
from sandbox.portal.schema import Row
from sandbox.portal.store import Store
from sandbox.portal.values import MULTIFIELDS


class OwnField(BaseModel):
    """A custom field of leads, deals, contacts, companies or quotes; `choices` are the items of a list by their ids."""

    model_config = ConfigDict(extra="forbid")
    kind: str
    name: str = Field(pattern=r"^UF_CRM_[A-Z0-9_]+$")
    type: str
    title: str
    choices: dict[int, str] = {}


class SeedFile(BaseModel):
    """What a seed file holds; a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid")
    fields: list[OwnField] = []
    clear: list[str] = []
    """The kinds of records of which the sample firm's are taken away."""
    records: dict[str, list[dict[str, Any]]] = {}
    """Rows by kind, each with its ID: a row of an id that is there changes the given values of it, others are added.

    The values are those of the store. A lead, contact or company may have PHONE and EMAIL as a list of texts.
    """


def read_seed(path: Path) -> SeedFile:
    """Return the contents of a seed file. Raises ValidationError if it does not fit, OSError if it is not there."""
    return SeedFile.model_validate_json(path.read_bytes())


def add_fields(seed: SeedFile) -> None:
    """Define the custom fields of a seed file. They are those of all portals of this process until `remove_fields`."""
    for own in seed.fields:
        schema.add_field(own.kind, f"{own.name} {own.type} D {own.title}", tuple(own.choices.items()))


def remove_fields(seed: SeedFile) -> None:
    """Take the custom fields of a seed file away again."""
    for own in seed.fields:
        schema.remove_field(own.kind, own.name)


def add_records(store: Store, now: datetime, seed: SeedFile) -> None:
    """Write the records of a seed file into a store that holds the sample firm."""
    for kind in seed.clear:
        store.remove_where(kind, lambda _: True)
    call = Call(store, 1, False, now - timedelta(days=30), {}, lambda _event, _data: None, ())
    for kind, rows in seed.records.items():
        for row in rows:
            _put_record(store, call, kind, row)


def _put_record(store: Store, call: Call, kind: str, row: Row) -> None:
    fm = [
        {"ID": store.next_id("multifield"), "TYPE_ID": name, "VALUE_TYPE": "WORK", "VALUE": value}
        for name in MULTIFIELDS
        for value in row.get(name, ())
    ]
    values = {name: value for name, value in row.items() if name not in MULTIFIELDS}
    old = store.get(kind, int(row["ID"]))
    if old is not None or kind not in schema.CRM:
        store.add(kind, {**(old or {}), **values})
    else:
        records.create(call, schema.CRM[kind], values, fm)
