"""Sandbox portal, files in custom fields: takes them in base64, shows addresses in their place, and gives the content for an address.

As the documentation says, a multiple field keeps the files whose ids are given, and loses all others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from sandbox.portal.schema import BY_TYPE_ID, Field, Row
from sandbox.portal.store import Store

PATH = "/rest/{user:int}/{code}/crm.controller.item.getFile/"
_ADDRESS = "rest/1/sandbox/crm.controller.item.getFile/?token="


def parse(field: Field, raw: Any, old: Any) -> Any:
    """Return the stored form of a file, of a list of them for a multiple field, or None. Raises ValueError for what is no file."""
    if not field.multiple:
        files = _parse_one(raw, [old] if old else [])
        return files[-1] if files else None
    items = raw if isinstance(raw, list) else list(raw.values()) if isinstance(raw, dict) and "fileData" not in raw else [raw]
    if len(items) == 2 and all(isinstance(item, str) for item in items):
        items = [items]
    return [file for item in items for file in _parse_one(item, old or [])]


def _parse_one(raw: Any, old: list[Row]) -> list[Row]:
    if raw in (None, "", False, []):
        return []
    data = raw.get("fileData") if isinstance(raw, dict) else raw
    if isinstance(raw, dict) and not isinstance(data, list):
        return [file for file in old if str(file["id"]) == str(raw.get("id")) and str(raw.get("remove", "")).upper() != "Y"]
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError("a name and the content in base64 are expected")
    try:
        content = base64.b64decode(str(data[1]), validate=True)
    except binascii.Error as error:
        raise ValueError("the content is no base64") from error
    # an id is never given twice, as in the portal
    return [{"id": uuid4().int % 10**9, "name": str(data[0]), "content": base64.b64encode(content).decode()}]


def show_classic(field: Field, stored: Any) -> Any:
    """Return a file as the old methods show it: addresses that only a browser's session opens, and no name."""

    def show(file: Row) -> Row:
        place = f"/bitrix/components/bitrix/crm.deal.show/show_file.php?auth=&fieldName={field.name}&fileId={file['id']}"
        return {"id": file["id"], "showUrl": place, "downloadUrl": f"{place}&download=1"}

    return _show(field, stored, show, empty=False)


def show_universal(field: Field, stored: Any, base_url: str) -> Any:
    """Return a file as `crm.item.*` shows it: an address for people, and one with a token for programs."""

    def show(file: Row) -> Row:
        place = f"/bitrix/services/main/ajax.php?action=crm.controller.item.getFile&fieldName={field.name}&fileId={file['id']}"
        return {"id": file["id"], "url": place, "urlMachine": base_url + _ADDRESS + quote(sign(file["id"]))}

    return _show(field, stored, show, empty=None)


def _show(field: Field, stored: Any, show: Any, *, empty: Any) -> Any:
    if field.multiple:
        return [show(file) for file in stored or ()]
    return show(stored) if stored else empty


def sign(file_id: int) -> str:
    """Return the token of a file's address."""
    return f"crm|{file_id}|{hashlib.sha256(f'sandbox-{file_id}'.encode()).hexdigest()[:24]}"


def find(store: Store, token: str) -> tuple[str, bytes] | None:
    """Return name and content of the file of a token. A wrong token, and a file that is in no field any more, give None."""
    for schema in BY_TYPE_ID.values():
        names = [field.name for field in schema.fields.values() if field.type == "file" and field.custom]
        for row in store.table(schema.kind).walk() if names else ():
            for name in names:
                held = row.get(name) or []
                for file in held if isinstance(held, list) else [held]:
                    if sign(file["id"]) == token:
                        return file["name"], base64.b64decode(file["content"])
    return None
