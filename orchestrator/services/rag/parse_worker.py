"""Reads documents in a process without secrets, with few rights and little memory: a bad document harms nobody else.

Lines of JSON: `ParseOrder` in, `ParseReply` out.
"""

import contextlib
import hashlib
import logging
import math
import os
import resource
import stat
import sys
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import PurePath
from typing import BinaryIO, Final

from pydantic import BaseModel, ValidationError

from orchestrator.services.rag.document import Document, FileKind, Problem, UnreadableDocument
from orchestrator.services.rag.file_kinds import find_kind
from orchestrator.services.rag.passages import cut_passages

_MOST_FILES: Final = 64


class ParseOrder(BaseModel, frozen=True):
    """In hexadecimal digits: names need not be text."""

    path: str
    known_digest: str = ""
    """The same content is not read again."""
    cpu_seconds: float
    memory: int
    largest: int


class ParseReply(BaseModel, frozen=True):
    """(title, text); neither passages nor problem if the content is known."""

    digest: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    problem: Problem | None = None


def read_document(path: bytes, *, known_digest: str = "", largest: int) -> ParseReply:
    """A problem becomes part of the reply."""
    digest = ""
    try:
        with _open_file(path, largest) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest == known_digest:
                return ParseReply(digest=digest)
            file.seek(0)
            name = PurePath(os.fsdecode(path)).name
            document = _read_kind(find_kind(file, name), file)
            passages = cut_passages(document, PurePath(name).stem)
        return ParseReply(digest=digest, passages=tuple((passage.title, passage.text) for passage in passages))
    except UnreadableDocument as error:
        return ParseReply(digest=digest, problem=error.problem)
    except MemoryError:
        return ParseReply(digest=digest, problem=Problem("too_much_memory"))
    except Exception:  # noqa: BLE001 - the readers of foreign formats raise whatever a damaged file leads them to
        return ParseReply(digest=digest, problem=Problem("broken"))


def _open_file(path: bytes, largest: int) -> BufferedReader:
    """Raises UnreadableDocument; waits for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnreadableDocument("gone") from None
    except PermissionError:
        raise UnreadableDocument("not_allowed") from None
    except OSError:
        raise UnreadableDocument("link" if os.path.islink(path) else "broken") from None
    file = os.fdopen(descriptor, "rb")
    file_stat = os.fstat(descriptor)
    if stat.S_ISREG(file_stat.st_mode) and 0 < file_stat.st_size <= largest:
        return file
    file.close()
    if not stat.S_ISREG(file_stat.st_mode):
        raise UnreadableDocument("special")
    if not file_stat.st_size:
        raise UnreadableDocument("empty")
    raise UnreadableDocument("too_large", size=str(math.ceil(file_stat.st_size / 1e6)), limit=str(largest // 1_000_000))


def _read_kind(kind: FileKind, file: BinaryIO) -> Document:
    """Imports only that reader's libraries."""
    if kind in {"pdf", "docx", "xlsx"}:
        from orchestrator.services.rag.readers.office import read_docx, read_pdf, read_xlsx  # noqa: PLC0415 - see above

        return read_pdf(file) if kind == "pdf" else read_docx(file) if kind == "docx" else read_xlsx(file)
    return _load_text_reader(kind)(file.read())


def _load_text_reader(kind: FileKind) -> Callable[[bytes], Document]:
    from orchestrator.services.rag.readers.markdown import read_markdown  # noqa: PLC0415 - see _read_kind
    from orchestrator.services.rag.readers.plain_text import read_text  # noqa: PLC0415 - see _read_kind

    if kind == "html":
        from orchestrator.services.rag.readers.html import read_html  # noqa: PLC0415 - see _read_kind

        return read_html
    readers: Mapping[str, Callable[[bytes], Document]] = {"markdown": read_markdown, "text": read_text}
    return readers[kind]


def serve(orders: BinaryIO, replies: BinaryIO) -> None:
    for line in orders:
        try:
            order = ParseOrder.model_validate_json(line)
        except ValidationError:
            return
        _limit(order)
        reply = read_document(bytes.fromhex(order.path), known_digest=order.known_digest, largest=order.largest)
        replies.write(reply.model_dump_json().encode() + b"\n")
        replies.flush()


def _limit(order: ParseOrder) -> None:
    """The system ends the process if it takes more time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = math.ceil(used.ru_utime + used.ru_stime + order.cpu_seconds)
    for limit, soft in ((resource.RLIMIT_CPU, allowed), (resource.RLIMIT_AS, order.memory)):
        hard = resource.getrlimit(limit)[1]
        with contextlib.suppress(ValueError, OSError):  # a system without this limit: the deadline of the parent is left
            resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def main() -> None:
    """Nothing else may write to the output."""
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    logging.disable(logging.CRITICAL)
    for limit, value in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, _MOST_FILES)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
