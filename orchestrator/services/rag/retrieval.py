"""By words and by vectors, joined by their ranks."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.services.rag.index.port import DocumentIndex, Hit
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

    async def retrieve(self, question: str, access: AbstractSet[str] | None, limit: int) -> Retrieval:
        """Raises IndexUnavailable."""
        by_words = await asyncio.to_thread(self.search_words, question, access, limit)
        return await self.add_nearest(by_words, question, access, limit)

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
