"""Performs effects of kind `file`; a change is made only if the file is as it was for the card or the last check."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from orchestrator.domain.file_path import parse_folder, parse_path
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.kinds import file_methods
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.performers.files.folder import MAX_BYTES, FileContent, FileDoubtful, FileRefused, Folder
from state.clock import format_iso
from state.stored import JsonObject

TEXT, DIGEST, SIZE = "text", "sha256", "size"
"""Of a file's image; the text is left out if it is long or no text."""
_KEPT: Final = 1000


class SeenFiles:
    """Remembers in which state a file was read for a call, which changes no other state."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, str | None] = OrderedDict()

    def record(self, call: Call, digest: str | None) -> None:
        self._seen[call.fingerprint] = digest
        self._seen.move_to_end(call.fingerprint)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)

    def take(self, call: Call) -> str | None:
        """Raises FileRefused if the file was not read for this call."""
        if call.fingerprint not in self._seen:
            raise FileRefused("file-changed", "the file was not looked at before the call")
        return self._seen[call.fingerprint]


class FilePerformer:
    portal = ""
    is_application = True

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen = SeenFiles()
        self._changing = asyncio.Lock()

    async def execute(self, call: Call) -> CallResult:
        """Make the call once; what the disk says becomes the result."""
        if call.reads_only:
            return await asyncio.to_thread(_refusing, lambda: self._read(call))
        async with self._changing:  # so that two calls of this process do not look and write between each other
            return await asyncio.to_thread(_refusing, lambda: self._change(call))

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Rejected if it may not be touched, is missing or exists against the call's need."""
        try:
            return await asyncio.to_thread(self._look, call)
        except FileRefused as refused:
            return Rejected(code=refused.code, detail=str(refused), sent=False)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Unclear if somebody else has changed the file since."""
        path = str(call.params["path"])
        try:
            present = await asyncio.to_thread(self._folder.read, parse_path(path))
        except FileRefused as refused:
            return Reconciled(verdict="unclear", detail=str(refused))
        image = before.get(path) or {}
        if _is_done(call, present, image):
            return Reconciled(verdict="done", detail="the file holds what was to be written" if present else "the file is gone")
        if (present.digest if present else None) == image.get(DIGEST):
            return Reconciled(verdict="not_done", detail="the file is as it was")
        return Reconciled(verdict="unclear", detail="the file holds neither the old nor the new content")

    def _read(self, call: Call) -> CallResult:
        path = str(call.params.get("path", ""))
        if call.method == "file.list":
            listing = self._folder.list_entries(parse_folder(path))
            rows = [
                {
                    "name": entry.name,
                    "type": "folder" if entry.is_folder else "file",
                    **({} if entry.is_folder else {SIZE: entry.size}),
                    "changed": format_iso(datetime.fromtimestamp(entry.changed, UTC)),
                }
                for entry in listing.entries
            ]
            note = f"{listing.left_out} entries are left out: hidden, links, devices, odd names, or too many" if listing.left_out else ""
            return Succeeded(result={"entries": rows, "left_out": listing.left_out}, total=len(rows), note=note, foreign_text=True)
        content = self._folder.read(parse_path(path))
        if content is None:
            raise FileRefused("file-missing", "there is no such file")
        text = _decode(content)
        if text is None or "\0" in text:
            raise FileRefused("file-not-text", "the file is no text in UTF-8")
        return Succeeded(result={"path": path, TEXT: text, SIZE: len(content.data), DIGEST: content.digest}, foreign_text=True)

    def _look(self, call: Call) -> BeforeImage:
        path = str(call.params["path"])
        content = self._folder.read(parse_path(path))
        if call.method == file_methods.CREATE and content is not None:
            raise FileRefused("file-exists", "there is such a file already; file.write replaces it")
        if call.method in {file_methods.APPEND, file_methods.DELETE} and content is None:
            raise FileRefused("file-missing", "there is no such file")
        if call.method == file_methods.APPEND and content is not None:
            _join(content, str(call.params[TEXT]))
        self._seen.record(call, content.digest if content else None)
        return {path: _describe(content) if content else None}

    def _change(self, call: Call) -> CallResult:
        parts, seen = parse_path(str(call.params["path"])), self._seen.take(call)
        try:
            if call.method == file_methods.DELETE:
                self._folder.delete(parts, expected=seen or "")
                return Succeeded(result={"path": call.params["path"]}, entity="file")
            data = str(call.params[TEXT]).encode()
            if call.method == file_methods.APPEND:
                content = self._folder.read(parts)
                if content is None or content.digest != seen:
                    raise FileRefused("file-changed", "the file was changed or removed in the meantime")
                data = _join(content, str(call.params[TEXT]))
            self._folder.write(parts, data, expected=seen)
        except FileDoubtful as doubt:
            return Unknown(detail=str(doubt))
        digest = hashlib.sha256(data).hexdigest()
        return Succeeded(result={"path": call.params["path"], SIZE: len(data), DIGEST: digest}, entity="file")


def _refusing(act: Callable[[], CallResult]) -> CallResult:
    try:
        return act()
    except FileRefused as refused:
        return Rejected(code=refused.code, detail=str(refused), sent=False)


def _decode(content: FileContent) -> str | None:
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        return None


def _describe(content: FileContent) -> dict[str, object]:
    image: dict[str, object] = {SIZE: len(content.data), DIGEST: content.digest}
    text = _decode(content) if len(content.data) <= file_methods.MAX_TEXT else None
    return image if text is None or "\0" in text else {**image, TEXT: text}


def _join(content: FileContent, text: str) -> bytes:
    """Raises FileRefused if it would be too large."""
    joined = content.data + text.encode()
    if len(joined) > MAX_BYTES:
        raise FileRefused("file-too-large", f"with this text the file would have more than {MAX_BYTES} bytes")
    return joined


def _is_done(call: Call, content: FileContent | None, image: JsonObject) -> bool:
    """`image` is of before the call, empty without a file."""
    if call.method == file_methods.DELETE or content is None:
        return call.method == file_methods.DELETE and content is None
    old = int(image.get(SIZE, 0)) if call.method == file_methods.APPEND else 0
    is_kept = not old or hashlib.sha256(content.data[:old]).hexdigest() == image.get(DIGEST)
    return is_kept and content.data[old:] == str(call.params[TEXT]).encode()
