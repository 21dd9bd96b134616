"""Watches the folder, keeps index and vectors, answers questions."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Literal, Self

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.models import Models
from orchestrator.services.rag.access import AccessProblem, select_classes
from orchestrator.services.rag.answering import AnsweredBy, AnswerWriter, FindModels, describe_source, find_locale
from orchestrator.services.rag.folder import FolderUnavailable
from orchestrator.services.rag.index.port import DocumentIndex, FileRecord, Hit
from orchestrator.services.rag.library import Library, Refreshed
from orchestrator.services.rag.stems import find_written_codes
from orchestrator.services.rag.vectors import PassageEmbedder

_CANDIDATES: Final = 40
_RANK_OFFSET: Final = 60
"""Of reciprocal rank fusion: how little the first places differ."""
LEAST_COVERAGE: Final = 0.33
"""Below this part of the question's weight words alone make no answer."""
LEAST_SIMILARITY: Final = 0.6
"""Below this cosine vectors alone make no answer."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """`is_fitting`: one may be shown as the answer."""

    hits: Sequence[Hit]
    is_fitting: bool


class Retriever:
    """`embedder` is None without vectors."""

    def __init__(self, index: DocumentIndex, embedder: PassageEmbedder | None = None) -> None:
        self._index, self._embedder = index, embedder

    def search_words(self, question: str, access: AbstractSet[str] | None, limit: int) -> Sequence[Hit]:
        """As many as joining needs; blocks."""
        return self._index.search(question, access, limit if self._embedder is None else max(_CANDIDATES, limit))

    async def add_nearest(self, by_words: Sequence[Hit], question: str, access: AbstractSet[str] | None, limit: int) -> Retrieval:
        """By words and by meaning. Raises IndexUnavailable."""
        if self._embedder is None:
            return Retrieval(by_words, _is_fitting(by_words))
        nearest = await self._embedder.find_nearest(question, access, max(_CANDIDATES, limit))
        hits = await self._join(by_words, dict(nearest), access, limit)
        return Retrieval(hits, _is_fitting(hits))

    async def _join(self, by_words: Sequence[Hit], nearest: Mapping[int, float], access: AbstractSet[str] | None, limit: int) -> list[Hit]:
        words = {hit.passage_id: hit for hit in by_words}
        chosen = fuse_ranks([list(words), list(nearest)])[:limit]
        others = [one for one in chosen if one not in words]
        loaded = await asyncio.to_thread(self._index.load_hits, others, access) if others else {}
        hits = [words.get(one) or loaded.get(one) for one in chosen]
        return [replace(hit, similarity=nearest.get(hit.passage_id, 0.0)) for hit in hits if hit is not None]


def fuse_ranks(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Among equals the earlier ranking counts."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, member in enumerate(ranking, 1):
            scores[member] = scores.get(member, 0.0) + 1 / (_RANK_OFFSET + rank)
    return sorted(scores, key=lambda member: -scores[member])


def _is_fitting(hits: Sequence[Hit]) -> bool:
    return any(hit.coverage >= LEAST_COVERAGE or hit.similarity >= LEAST_SIMILARITY for hit in hits)


DEFAULT_TOP_K: Final = 2
MOST_TOP_K: Final = 20
POLL_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class NotReady(SdelkaError):
    """The documents have not been read yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    question: str
    top_k: int
    answer: str
    answered_by: AnsweredBy
    model: str = ""
    plain_answer: str = ""
    """Without titles and passages."""
    titles: Sequence[str] = ()
    texts: Sequence[str] = ()
    names: Sequence[str] = ()
    """One for each passage."""
    sources: Sequence[str] = ()
    """File, place and day of each passage, for people."""
    shown: Sequence[str] = ()
    """Of each passage what answers the question: rows of a table."""
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    status: Literal["ok", "not_ready"]
    passages: int = 0
    documents: int = 0
    problems: Sequence[FileRecord] = ()
    access_problems: Sequence[AccessProblem] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    revision: int
    passages: int
    documents: int
    classes: frozenset[str]
    problems: Sequence[FileRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """For how many passages and which classes."""

    top_k: int
    access: frozenset[str]
    hits: Sequence[Hit]
    unknown: Sequence[str] = ()
    """Codes of the question, as written, that stand nowhere."""


@dataclass(kw_only=True)
class RagService:
    """`async with` watches the folder."""

    library: Library
    find_models: FindModels | None = None
    """None: the passages are the answer."""
    embedding: tuple[Models, str] | None = None
    """None: words alone are searched."""
    poll_seconds: float = POLL_SECONDS
    answer_seconds: float = 7.0
    default_top_k: int = DEFAULT_TOP_K
    _is_ready: bool = field(default=False, init=False)
    _task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _reading: "asyncio.Task[Refreshed] | None" = field(default=None, init=False)
    _refreshes: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _next: "asyncio.Task[None] | None" = field(default=None, init=False)
    """It sees every change until now."""
    _contents: _Contents | None = field(default=None, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _read_once: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        index = self.library.index
        self._embedder = PassageEmbedder(index, *self.embedding) if self.embedding is not None else None
        self._retriever = Retriever(index, self._embedder)
        self._writer = AnswerWriter(self.find_models, self.answer_seconds)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def start(self) -> None:
        """What is indexed can be asked for at once; the rest is read in the background."""
        index = self.library.index
        if await asyncio.to_thread(index.claim_updates):
            self._is_ready = await self._apply_listing()
        else:
            self._is_ready = await asyncio.to_thread(index.is_complete)
        self._task = asyncio.create_task(self._watch())

    async def _apply_listing(self) -> bool:
        """Whether questions can be answered; an absent folder shows nothing."""
        try:
            await asyncio.to_thread(self.library.apply_listing)
        except FolderUnavailable as error:
            log.warning("documents: %s", error.reason, extra={"action": "documents_unavailable"})
            return False
        return await asyncio.to_thread(self.library.index.is_complete)

    async def close(self) -> None:
        """Also ends the worker process and the index."""
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
        """After a refresh that goes on. Giving up the wait does not end it."""
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
        await self._read_once.wait()

    async def count_passages(self) -> int | None:
        """None if the documents have not been read yet."""
        return (await asyncio.to_thread(self._load_contents)).passages if self._is_ready else None

    def _load_contents(self) -> _Contents:
        """Read again only when the index has changed."""
        index, contents = self.library.index, self._contents
        revision = index.find_revision()
        if contents is None or contents.revision != revision:
            self._contents = contents = _read_contents(index, revision)
        return contents

    async def search(self, question: str, top_k: int | None = None, roles: Iterable[str] = (), asked_by: str = "") -> Answer:
        """From what these roles may read; `asked_by` goes to `find_models`. Raises NotReady and IndexUnavailable."""
        if not self._is_ready:
            raise NotReady
        words = await asyncio.to_thread(self._search_words, question, top_k if top_k is not None else self.default_top_k, roles)
        passage_count = words.top_k
        retrieval = await self._retriever.add_nearest(words.hits, question, words.access, passage_count)
        written_answer = await self._writer.write(
            question, retrieval.hits, asked_by, is_fitting=retrieval.is_fitting, unknown=words.unknown
        )
        hits = retrieval.hits if written_answer.answered_by != "nothing" else ()
        locale = find_locale(question)
        return Answer(
            question=question,
            top_k=passage_count,
            answer=written_answer.text,
            answered_by=written_answer.answered_by,
            plain_answer=written_answer.plain or written_answer.text,
            model=written_answer.model,
            titles=[hit.title for hit in hits],
            texts=[hit.text for hit in hits],
            names=[hit.name for hit in hits],
            sources=[describe_source(hit, locale) for hit in hits],
            shown=[hit.shown or hit.text for hit in hits],
            paths=[hit.path for hit in hits],
        )

    def _search_words(self, question: str, top_k: int, roles: Iterable[str]) -> _Words:
        """One visit to a thread for the whole question."""
        contents = self._load_contents()
        passage_count = min(max(top_k, 1), MOST_TOP_K, max(contents.passages, 1))
        access = select_classes(contents.classes, roles)
        codes = find_written_codes(question)
        missing = self.library.index.list_missing(list(codes), access) if codes else ()
        hits = self._retriever.search_words(question, access, passage_count)
        return _Words(top_k=passage_count, access=access, hits=hits, unknown=[codes[term] for term in missing])

    async def describe(self) -> Overview:
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
