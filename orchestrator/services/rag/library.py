"""Keeps the index like the folder: the worker reads what changed, and it is stored in small batches."""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from orchestrator.services.rag.access import Access, AccessProblem
from orchestrator.services.rag.answering import describe_access, describe_problem
from orchestrator.services.rag.document import Problem
from orchestrator.services.rag.folder import Listing, find_bytes, read_access, remove_old_parts, scan_folder
from orchestrator.services.rag.index.port import DocumentIndex, FileRecord, IndexChanges, StoredDocument
from orchestrator.services.rag.parse_worker import ParseReply
from orchestrator.services.rag.parser_process import ParseLimits, ParserProcess

_BATCH_PASSAGES: Final = 2_000
_BATCH_SECONDS: Final = 5.0
_AHEAD: Final = 4
"""Documents held while others are stored."""
_RETRIED: Final = frozenset({"not_allowed", "gone"})
"""They may pass without a change of the file."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    files: int
    read: int = 0
    removed: int = 0


@dataclass(slots=True)
class _Batch:
    """What is stored together next."""

    stored: list[StoredDocument] = field(default_factory=list)
    updated: list[FileRecord] = field(default_factory=list)
    passages: int = 0
    since: float = field(default_factory=time.monotonic)

    def is_full(self) -> bool:
        return self.passages >= _BATCH_PASSAGES or time.monotonic() - self.since > _BATCH_SECONDS


class Library:
    """`refresh` blocks; one thread calls it at a time."""

    def __init__(self, root: Path, index: DocumentIndex, limits: ParseLimits | None = None) -> None:
        self.root, self.index = root.resolve(), index
        self.access_problems: Sequence[AccessProblem] = ()
        self._parser = ParserProcess(limits)
        self._stopping = threading.Event()
        self._access: Access | None = None
        self._had_access_file = False

    def refresh(self) -> Refreshed:
        """Nothing without the right to update. Raises FolderUnavailable and IndexUnavailable."""
        if not self.index.claim_updates():
            return Refreshed(files=0)
        changed, refreshed = self.apply_listing()
        for batch in self._read_changed(changed):
            self.index.apply(IndexChanges(stored=batch.stored, updated=batch.updated))
        if not self._stopping.is_set() and not self.index.is_complete():
            self.index.mark_complete()
        return replace(refreshed, read=len(changed))

    def apply_listing(self) -> tuple[list[FileRecord], Refreshed]:
        """Without reading documents: who may read what, and which are gone. Returns those to read."""
        known, listing = self.index.load_files(), scan_folder(self.root)
        remove_old_parts(self.root, listing)
        access = self._find_access(listing)
        files = {path: replace(file, access=access.find_class(path)) for path, file in listing.files.items()}
        removed = [path for path in known if path not in files]
        changed = [file for path, file in files.items() if file.problem is None and _is_changed(file, known.get(path))]
        updated = list(self._find_updates(files, known))
        emptied = [StoredDocument(file, ()) for file in updated if file.problem is not None and file.problem != _find_problem(known, file)]
        file_records = [file for file in updated if file.problem is None or file.problem == _find_problem(known, file)]
        self.index.apply(IndexChanges(removed=removed, updated=file_records, stored=emptied))
        return changed, Refreshed(files=len(files), removed=len(removed))

    def _find_access(self, listing: Listing) -> Access:
        """A file that vanished counts once more: programs replace a file by removing it first."""
        access = read_access(self.root, listing)
        if not listing.access_files and self._had_access_file and self._access is not None:
            access = self._access
        self._had_access_file = bool(listing.access_files)
        problems = (*access.problems, *access.find_missing(listing.folders))
        if problems != self.access_problems:
            for problem in problems:
                log.warning("documents: %s", describe_access(problem, "en"), extra={"action": "documents_access"})
        self._access, self.access_problems = access, problems
        return access

    def _find_updates(self, files: Mapping[str, FileRecord], known: Mapping[str, FileRecord]) -> Iterator[FileRecord]:
        """Without the document being read again."""
        for path, file in files.items():
            before = known.get(path)
            if file.problem is not None:
                if before is None or (before.problem, before.access) != (file.problem, file.access):
                    yield file
                    log.warning("documents: %s", describe_problem(file, "en"), extra={"action": "document_unreadable"})
            elif before is not None and (before.access, before.name) != (file.access, file.name):
                yield replace(before, access=file.access, name=file.name)

    def _read_changed(self, changed: Sequence[FileRecord]) -> Iterator[_Batch]:
        known = self.index.load_files() if changed else {}
        batch = _Batch()
        for number, (file, reply) in enumerate(self._parse_ahead(changed, known), 1):
            self._add_reply(file, known.get(file.path), reply, batch)
            if batch.is_full():
                yield batch
                log.info("documents: %d of %d read", number, len(changed), extra={"action": "documents_read"})
                batch = _Batch()
        yield batch

    def _parse_ahead(self, changed: Sequence[FileRecord], known: Mapping[str, FileRecord]) -> Iterator[tuple[FileRecord, ParseReply]]:
        """Reads a few files ahead; one that changes meanwhile is left for the next refresh."""
        with ThreadPoolExecutor(1, thread_name_prefix="documents") as pool:
            ahead: deque[tuple[FileRecord, Future[ParseReply | None]]] = deque()
            waiting = iter(changed)
            while True:
                more = islice(waiting, _AHEAD - len(ahead))
                ahead.extend((file, pool.submit(self._parse_file, file, known.get(file.path))) for file in more)
                if not ahead:
                    return
                file, future = ahead.popleft()
                reply = future.result()
                if reply is not None:
                    yield file, reply

    def _parse_file(self, file: FileRecord, known: FileRecord | None) -> ParseReply | None:
        """None if it changed meanwhile or the library ends."""
        if self._stopping.is_set():
            return None
        path = os.path.join(os.fsencode(self.root), find_bytes(file.path))
        reply = self._parser.parse(path, known.digest if known is not None and known.problem is None else "")
        return None if self._stopping.is_set() or self._has_changed(path, file) else reply

    @staticmethod
    def _add_reply(file: FileRecord, known: FileRecord | None, reply: ParseReply, batch: _Batch) -> None:
        if reply.problem is None and not reply.passages:
            batch.updated.append(replace(file, digest=reply.digest, contents=known.contents if known is not None else file.contents))
            return
        record = replace(file, digest=reply.digest, problem=reply.problem, contents=reply.contents)
        if record == known:
            return  # a problem that was tried again: the index has not changed
        passages = [] if reply.problem is not None else reply.passages
        batch.stored.append(StoredDocument(record, passages))
        batch.passages += len(passages)
        if reply.problem is not None and (known is None or known.problem != reply.problem):
            log.warning("documents: %s", describe_problem(record, "en"), extra={"action": "document_unreadable"})

    @staticmethod
    def _has_changed(path: bytes, file: FileRecord) -> bool:
        try:
            file_stat = os.stat(path, follow_symlinks=False)
        except OSError:
            return False
        return (file_stat.st_size, file_stat.st_mtime_ns) != (file.size, file.mtime_ns)

    def list_problems(self) -> list[FileRecord]:
        return sorted((file for file in self.index.load_files().values() if file.problem is not None), key=lambda file: file.name)

    def stop(self) -> None:
        self._stopping.set()
        self._parser.cancel()

    def close_reader(self) -> None:
        """No refresh may go on."""
        self._parser.close()

    def close(self) -> None:
        """No refresh may go on."""
        self.close_reader()
        self.index.close()


def _is_changed(file: FileRecord, known: FileRecord | None) -> bool:
    if known is None or (file.size, file.mtime_ns) != (known.size, known.mtime_ns):
        return True
    return known.problem is not None and known.problem.code in _RETRIED


def _find_problem(known: Mapping[str, FileRecord], file: FileRecord) -> Problem | None:
    before = known.get(file.path)
    return before.problem if before is not None else None
