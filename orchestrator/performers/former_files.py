"""Reads the files that a write takes away before it is sent, and puts kept ones into an undo when that is sent."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from bitrix.catalogue.names import find_kind_number
from bitrix.client.client import BitrixClient
from bitrix.errors import OutcomeUnknown
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.kept_files import CONTENT, KeptFile, KeptFiles, find_lost_files, list_kept_digests
from orchestrator.language.text import to_visible_line
from state.canonical import hash_text
from state.journal.blobs import pack_file, unpack_file
from state.stored import JsonObject

log = logging.getLogger(__name__)

LoadBlob = Callable[[str], Awaitable[str | None]]
"""None if there is none."""


async def load_no_blob(_digest: str) -> str | None:
    return None


MAX_BYTES: Final = 10 * 1024 * 1024
"""Of all files of one write."""
WITHIN: Final = 20.0
"""In seconds: a person waits, and the records were compared with the card before."""
_ITEMS: Final = "crm.item."
_LONGEST_NAME: Final = 200


async def read_former_files(call: Call, before: BeforeImage, client: BitrixClient, key: str) -> KeptFiles:
    """All of them or none, for whatever reason; `key` is the session's."""
    lost = find_lost_files(call, before)
    number = find_kind_number(call.entity) if lost else None
    if number is None:
        return KeptFiles()
    try:
        async with asyncio.timeout(WITHIN):
            params = {
                "entityTypeId": number,
                "id": call.targets[0][1],
                "useOriginalUfNames": "N" if call.method.startswith(_ITEMS) else "Y",
            }
            answer = (await client.call("crm.item.get", params, repeatable=True)).result
            return await _read_fields(call, lost, answer["item"], client, key)
    except Exception as error:  # noqa: BLE001 - the person has approved the write with the word that the file may be lost
        log.info("files of a record could not be kept: %s", type(error).__name__, extra={"action": "files_not_kept"})
        return KeptFiles()


async def _read_fields(call: Call, lost: Mapping[str, tuple[str, ...]], item: JsonObject, client: BitrixClient, key: str) -> KeptFiles:
    left, kept, blobs = MAX_BYTES, dict[str, list[KeptFile]](), dict[str, str]()
    for name, ids in lost.items():
        value: Any = fields.find_value(item, name, call.entity)
        shown = {str(one["id"]): one for one in (value if isinstance(value, list) else [value])}
        kept[name] = []
        for number in ids:
            # a KeyError for an id that is not there: changed since the card was checked
            file = await client.read_file(str(shown[number].get("urlMachine", "")), at_most=left, within=WITHIN)
            left -= len(file.content)
            if not file.content:
                raise OutcomeUnknown("the file is empty")
            digest, blobs[digest] = await asyncio.to_thread(pack_file, key, file.content)
            kept[name].append(KeptFile(id=number, name=_clean_name(file.name, number), size=len(file.content), digest=digest))
    place = "{}:{}".format(*call.targets[0])
    return KeptFiles(files={place: kept} if kept else {}, blobs=blobs)


def _clean_name(name: str, number: str) -> str:
    """A plain name: no folders, no hidden characters."""
    line = to_visible_line(name.replace("\\", "/").rpartition("/")[2])
    return line[-_LONGEST_NAME:].lstrip(". ") or f"file-{number}"


async def put_contents(call: Call, load_blob: LoadBlob) -> JsonObject | None:
    """The parameters as they are sent; None if a kept file is gone."""
    contents: dict[str, str] = {}
    for digest in set(list_kept_digests(call.params)):
        text = await load_blob(digest)
        if text is None or await asyncio.to_thread(hash_text, text) != digest:
            return None
        contents[digest] = b64encode(await asyncio.to_thread(unpack_file, text)).decode()
    return _fill(call.params, contents, is_item=call.method.startswith(_ITEMS)) if contents else call.params


def _fill(value: Any, contents: Mapping[str, str], *, is_item: bool) -> Any:
    if isinstance(value, list | tuple):
        return [_fill(item, contents, is_item=is_item) for item in value]
    if not isinstance(value, Mapping):
        return value
    file = value.get(CONTENT)
    if not isinstance(file, Mapping) or "digest" not in file:
        return {name: _fill(item, contents, is_item=is_item) for name, item in value.items()}
    pair = [file["name"], contents[file["digest"]]]
    return pair if is_item else {CONTENT: pair}
