"""The process that reads documents: `python -m orchestrator.services.rag.parse_worker`. It has no secrets, few rights and little memory.

Each line on its input is a `ParseOrder`, each line of its output a `ParseReply`; both are JSON. What a document does to this process harms
nobody else: it cannot write files, and the system ends it when it takes too much time of the processor.
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
    """A document to read. The path is in hexadecimal digits, as names of files need not be text."""

    path: str
    known_digest: str = ""
    """The digest of the content that is indexed: the same content is not read again."""
    cpu_seconds: float
    memory: int
    largest: int


class ParseReply(BaseModel, frozen=True):
    """What became of it: passages as (title, text), a problem, or neither if the content is the known one."""

    digest: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    problem: Problem | None = None


def read_document(path: bytes, *, known_digest: str = "", largest: int) -> ParseReply:
    """Read the file at `path` and cut it into passages; a problem becomes part of the reply."""
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
    """Open an ordinary file. Raises UnreadableDocument for a link, a device and what cannot be opened; it waits for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnreadableDocument("gone") from None
    except PermissionError:
        raise UnreadableDocument("not_allowed") from None
    except OSError:
        raise UnreadableDocument("link" if os.path.islink(path) else "broken") from None
    file = os.fdopen(descriptor, "rb")
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and 0 < found.st_size <= largest:
        return file
    file.close()
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableDocument("special")
    if not found.st_size:
        raise UnreadableDocument("empty")
    raise UnreadableDocument("too_large", size=str(math.ceil(found.st_size / 1e6)), limit=str(largest // 1_000_000))


def _read_kind(kind: FileKind, file: BinaryIO) -> Document:
    """Return what the reader of that kind finds; only its libraries are imported."""
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
    """Answer each order with a reply until the input ends."""
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
    """Let the next document have so much time of the processor and memory; the system ends the process that takes more time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = math.ceil(used.ru_utime + used.ru_stime + order.cpu_seconds)
    for limit, soft in ((resource.RLIMIT_CPU, allowed), (resource.RLIMIT_AS, order.memory)):
        hard = resource.getrlimit(limit)[1]
        with contextlib.suppress(ValueError, OSError):  # a system without this limit: the deadline of the parent is left
            resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def main() -> None:
    """Serve on the standard streams. Nothing else may write to the output: libraries' own words go nowhere."""
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
