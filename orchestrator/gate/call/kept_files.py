"""Files of the company's own fields that a write takes away, and what was kept of them for an undo. Pure.

A parameter holds a kept file as {"fileData": {"name", "size", "digest"}}; only an undo may, and the content is put in at sending.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from orchestrator.domain.frozen import View
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import BeforeImage, Call
from state.stored import JsonObject

FILE_GONE: Final = "undo-file-gone"
CONTENT: Final = "fileData"
KEY: Final = "files"
"""In the event, the card and the stored outcome of a call."""


class KeptFile(View):
    id: str
    name: str
    size: int
    digest: str

    def to_param(self) -> dict[str, object]:
        return {CONTENT: {"name": self.name, "size": self.size, "digest": self.digest}}


class FieldFiles(View):
    """`was` are the files that the write took away, `now` the ids of all that stood in the field right after it."""

    was: tuple[KeptFile, ...]
    now: tuple[str, ...]


RecordFiles = Mapping[str, FieldFiles]
"""By the field's name as it was written."""


def parse_files(stored: object, place: str) -> RecordFiles:
    """Of one record such as "deal:481"."""
    found = stored.get(place) if isinstance(stored, Mapping) else None
    return {name: FieldFiles.model_validate(value) for name, value in (found or {}).items()}


def list_file_ids(value: object) -> tuple[str, ...] | None:
    """Of what the portal shows of a field; () for an empty one, None for what holds no files."""
    if fields.is_blank(value):
        return ()
    items = value if isinstance(value, list) else [value]
    ids = [str(item.get("id", item.get("ID", ""))) for item in items if isinstance(item, Mapping) and _has_address(item)]
    return tuple(ids) if len(ids) == len(items) and all(one.isdecimal() for one in ids) else None


def _has_address(item: JsonObject) -> bool:
    return any(str(name).lower() in {"showurl", "downloadurl", "url", "urlmachine"} for name in item)


def find_lost_files(call: Call, before: BeforeImage) -> dict[str, tuple[str, ...]]:
    """Ids by field, in the order of the field; those that the write names by their ids stay."""
    if call.commands or call.spec.verb != "update" or not call.targets or call.targets[0][0] != call.entity:
        return {}
    old = before.get("{}:{}".format(*call.targets[0])) or {}
    lost: dict[str, tuple[str, ...]] = {}
    for name, value in call.written_fields.items():
        present = list_file_ids(fields.find_value(old, name, call.entity)) or ()
        if gone := tuple(one for one in present if one not in set(_list_left(value))):
            lost[name] = gone
    return lost


def _list_left(value: object) -> Iterator[str]:
    items = [*value.values(), value] if isinstance(value, Mapping) else value if isinstance(value, list) else []
    for item in items:
        if isinstance(item, Mapping) and CONTENT not in item and str(item.get("remove", "")).upper() != "Y":
            yield str(item.get("id", item.get("ID", "")))


def build_former_value(old: object, files: FieldFiles) -> object:
    """What is written to have the files of `old` again: those that still stand there by their ids."""
    kept = {file.id: file.to_param() for file in files.was}
    if not isinstance(old, list):
        return next(iter(kept.values()))
    return [kept.get(one) or {"id": int(one)} for one in list_file_ids(old) or ()]


def list_kept_digests(value: object) -> Iterator[str]:
    """All that parameters name."""
    if isinstance(value, Mapping):
        content = value.get(CONTENT)
        if isinstance(content, Mapping) and "digest" in content:
            yield str(content["digest"])
        value = list(value.values())
    for item in value if isinstance(value, Sequence) and not isinstance(value, str) else ():
        yield from list_kept_digests(item)


@dataclass(frozen=True, kw_only=True)
class KeptFiles:
    """What a write takes away, by record and written field; `blobs` are the contents by digest."""

    files: Mapping[str, Mapping[str, Sequence[KeptFile]]] = field(default_factory=dict)
    blobs: Mapping[str, str] = field(default_factory=dict)

    def join(self, now: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[dict[str, object], dict[str, str]]:
        """As stored, and the contents: only of fields whose ids (`now`) could be read after the write as well."""
        known = [
            (place, name, files) for place, by_field in self.files.items() for name, files in by_field.items() if name in now.get(place, {})
        ]
        joined: dict[str, dict[str, object]] = {}
        for place, name, files in known:
            joined.setdefault(place, {})[name] = {"was": [file.model_dump() for file in files], "now": list(now[place][name])}
        return {**joined}, {file.digest: self.blobs[file.digest] for _, _, files in known for file in files}


@runtime_checkable
class KeepsFiles(Protocol):
    async def read_former_files(self, call: Call, before: BeforeImage, key: str) -> KeptFiles:
        """All or nothing; `key` is the session's. Never raises."""
