"""The document service: watches the folder, keeps the index and the vectors, and answers questions. `app.py` puts it behind HTTP."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Literal, Self

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.models import Models
from orchestrator.services.rag.access import AccessProblem, select_classes
from orchestrator.services.rag.answering import AnsweredBy, AnswerWriter, FindModels
from orchestrator.services.rag.folder import FolderUnavailable
from orchestrator.services.rag.index.port import DocumentIndex, FileRecord, Hit
from orchestrator.services.rag.library import Library, Refreshed
from orchestrator.services.rag.retrieval import Retriever
from orchestrator.services.rag.vectors import PassageEmbedder

DEFAULT_TOP_K: Final = 2
MOST_TOP_K: Final = 20
POLL_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class NotReady(SdelkaError):
    """The documents have not been read yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question with the passages it was made from."""

    question: str
    top_k: int
    answer: str
    answered_by: AnsweredBy
    model: str = ""
    plain_answer: str = ""
    """The answer without the titles and passages that stand below."""
    titles: Sequence[str] = ()
    texts: Sequence[str] = ()
    names: Sequence[str] = ()
    """The names of the documents' files, one for each passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The state of the service for those who run it."""

    status: Literal["ok", "not_ready"]
    passages: int = 0
    documents: int = 0
    problems: Sequence[FileRecord] = ()
    access_problems: Sequence[AccessProblem] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """What the index held at one revision."""

    revision: int
    passages: int
    documents: int
    classes: frozenset[str]
    """The access classes of all documents."""
    problems: Sequence[FileRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What was found by words, for how many passages and which classes of documents."""

    top_k: int
    access: frozenset[str]
    hits: Sequence[Hit]


@dataclass(kw_only=True)
class RagService:
    """Answers questions from a folder of documents. `async with` starts watching it, and ends that."""

    library: Library
    find_models: FindModels | None = None
    """Who writes answers; None: the passages are the answer."""
    embedding: tuple[Models, str] | None = None
    """Who makes vectors, and the name of the model; None: words alone are searched."""
    poll_seconds: float = POLL_SECONDS
    answer_seconds: float = 7.0
    default_top_k: int = DEFAULT_TOP_K
    _is_ready: bool = field(default=False, init=False)
    _task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _reading: "asyncio.Task[Refreshed] | None" = field(default=None, init=False)
    _refreshes: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _next: "asyncio.Task[None] | None" = field(default=None, init=False)
    """The refresh that has not begun: it sees every change of the folder until now."""
    _contents: _Contents | None = field(default=None, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _read_once: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        """Put the parts together."""
        index = self.library.index
        self._embedder = PassageEmbedder(index, *self.embedding) if self.embedding is not None else None
        self._retriever = Retriever(index, self._embedder)
        self._writer = AnswerWriter(self.find_models, self.answer_seconds)

    async def __aenter__(self) -> Self:
        """Start watching the folder. Raises IndexUnavailable."""
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End watching."""
        await self.close()

    async def start(self) -> None:
        """Compare the folder with the index, and read what changed in the background; what is indexed already can be asked for at once."""
        index = self.library.index
        if await asyncio.to_thread(index.claim_updates):
            self._is_ready = await self._apply_listing()
        else:
            self._is_ready = await asyncio.to_thread(index.is_complete)
        self._task = asyncio.create_task(self._watch())

    async def _apply_listing(self) -> bool:
        """Store what the folder tells by itself, and return whether questions can be answered; a folder that is away shows nothing."""
        try:
            await asyncio.to_thread(self.library.apply_listing)
        except FolderUnavailable as error:
            log.warning("documents: %s", error.reason, extra={"action": "documents_unavailable"})
            return False
        return await asyncio.to_thread(self.library.index.is_complete)

    async def close(self) -> None:
        """End watching, the worker process and the index."""
        self.library.stop()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        refreshes = list(self._refreshes)
        for task in refreshes:
            task.cancel()
        await asyncio.gather(*refreshes, return_exceptions=True)
        if self._reading is not None:
            await asyncio.wait([self._reading])
        await asyncio.to_thread(self.library.close)

    async def _watch(self) -> None:
        while True:
            try:
                await self.refresh()
            except SdelkaError as error:
                log.warning("documents: %s", error.reason, extra={"action": "documents_unavailable"})
            except Exception:
                log.exception("documents: the index could not be brought up to date", extra={"action": "documents_failed"})
            await asyncio.sleep(self.poll_seconds)

    async def refresh(self) -> None:
        """Bring the index and the vectors up to date, after a refresh that goes on. Whoever gives up waiting does not end it."""
        if self._next is None:
            self._next = asyncio.create_task(self._refresh_in_turn())
            self._refreshes.add(self._next)
            self._next.add_done_callback(self._refreshes.discard)
        await asyncio.shield(self._next)

    async def _refresh_in_turn(self) -> None:
        async with self._turn:  # held until the thread is done: the library is refreshed by one at a time
            self._next = None
            await self._refresh()

    async def _refresh(self) -> None:
        self._reading = asyncio.create_task(asyncio.to_thread(self.library.refresh))
        await asyncio.shield(self._reading)
        self._is_ready = await asyncio.to_thread(self.library.index.is_complete)
        if self._is_ready:
            self._read_once.set()
            if self._embedder is not None:
                await self._embedder.update()

    async def wait_until_read(self) -> None:
        """Return when all documents have been read once."""
        await self._read_once.wait()

    async def count_passages(self) -> int | None:
        """Return how many passages can be found, None if the documents have not been read yet."""
        return (await asyncio.to_thread(self._load_contents)).passages if self._is_ready else None

    def _load_contents(self) -> _Contents:
        """Return what the index holds; it is read again only when the index has changed."""
        index, contents = self.library.index, self._contents
        revision = index.find_revision()
        if contents is None or contents.revision != revision:
            self._contents = contents = _read_contents(index, revision)
        return contents

    async def search(self, question: str, top_k: int | None = None, roles: Iterable[str] = (), asked_by: str = "") -> Answer:
        """Return the answer to a question from the documents that people with these roles may read.

        `asked_by` is passed to `find_models`. Raises NotReady and IndexUnavailable.
        """
        if not self._is_ready:
            raise NotReady
        words = await asyncio.to_thread(self._search_words, question, top_k if top_k is not None else self.default_top_k, roles)
        wanted = words.top_k
        retrieval = await self._retriever.add_nearest(words.hits, question, words.access, wanted)
        written = await self._writer.write(question, retrieval.hits, asked_by, is_fitting=retrieval.is_fitting)
        hits = retrieval.hits if retrieval.is_fitting or written.answered_by == "model" else ()
        return Answer(
            question=question,
            top_k=wanted,
            answer=written.text,
            answered_by=written.answered_by,
            plain_answer=written.plain or written.text,
            model=written.model,
            titles=[hit.title for hit in hits],
            texts=[hit.text for hit in hits],
            names=[hit.name for hit in hits],
        )

    def _search_words(self, question: str, top_k: int, roles: Iterable[str]) -> _Words:
        """Search by words, with all that the index must be asked for: one visit to a thread for the whole question."""
        contents = self._load_contents()
        wanted = min(max(top_k, 1), MOST_TOP_K, max(contents.passages, 1))
        access = select_classes(contents.classes, roles)
        return _Words(top_k=wanted, access=access, hits=self._retriever.search_words(question, access, wanted))

    async def describe(self) -> Overview:
        """Return the state: how much is indexed, which documents could not be read and why, what is wrong with the access file."""
        contents = await asyncio.to_thread(self._load_contents)
        return Overview(
            status="ok" if self._is_ready else "not_ready",
            passages=contents.passages,
            documents=contents.documents,
            problems=contents.problems,
            access_problems=self.library.access_problems,
        )


def _read_contents(index: DocumentIndex, revision: int) -> _Contents:
    files = index.load_files().values()
    problems = sorted((file for file in files if file.problem is not None), key=lambda file: file.name)
    return _Contents(
        revision=revision,
        passages=index.count_passages(),
        documents=len(files) - len(problems),
        classes=frozenset(file.access for file in files),
        problems=problems,
    )
