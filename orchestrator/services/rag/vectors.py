"""Vectors by the role `embedding`, made in small batches."""

import asyncio
import logging
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, Models, Purpose
from orchestrator.services.rag.index.port import DocumentIndex, IndexUnavailable, PassageVectors, Vectors

BATCH: Final = 8
"""Texts of one request."""
_STORED_TOGETHER: Final = 64
_QUESTION_SECONDS: Final = 2.0
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 600.0
_PROGRESS_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class PassageEmbedder:
    """A provider that fails rests; words are enough then."""

    def __init__(self, index: DocumentIndex, models: Models, model: str) -> None:
        self._index, self._models, self._model = index, models, model
        self._loaded: tuple[int, PassageVectors] | None = None
        self._pause = 0.0
        self._resume_at = 0.0

    async def update(self) -> int:
        """Returns how many were made; a failure is only logged."""
        count = 0
        told_at = time.monotonic()
        while time.monotonic() >= self._resume_at:
            missing = await asyncio.to_thread(self._index.list_texts_without_vectors, self._model, _STORED_TOGETHER)
            vectors = await self._embed_all(list(missing.items()))
            if vectors:
                await asyncio.to_thread(self._index.store_vectors, self._model, vectors)
                count += len(vectors)
            if len(vectors) < len(missing) or not missing:
                break
            if time.monotonic() - told_at > _PROGRESS_SECONDS:
                told_at = time.monotonic()
                log.info("documents: vectors of %d passages made", count, extra={"action": "documents_vectors"})
        return count

    async def _embed_all(self, texts: Sequence[tuple[str, str]]) -> dict[str, Vectors]:
        """By hash, until the provider fails."""
        vectors_by_hash: dict[str, Vectors] = {}
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            vectors = await self._embed([text for _, text in batch])
            if vectors is None:
                break
            vectors_by_hash.update(zip((key for key, _ in batch), vectors, strict=True))
        return vectors_by_hash

    async def _embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> list[Vectors] | None:
        """None if the provider fails or answers something else."""
        try:
            answer = await self._models.embed(EmbedRequest(texts=texts, purpose=purpose, model=self._model))
            vectors = [np.asarray(vector, dtype=np.float32) for vector in answer.vectors]
        except (ModelClientError, ValueError) as error:
            self._rest(str(error))
            return None
        if len(vectors) != len(texts) or any(vector.ndim != 1 or not vector.size or not np.isfinite(vector).all() for vector in vectors):
            self._rest("the answer has no usable vectors")
            return None
        self._pause = 0.0
        return vectors

    def _rest(self, reason: str) -> None:
        self._pause = min(max(_FIRST_PAUSE, self._pause * 2), _LONGEST_PAUSE)
        self._resume_at = time.monotonic() + self._pause
        message = "documents: no vectors (%s); words are searched alone, next attempt in %.0f s"
        log.warning(message, reason, self._pause, extra={"action": "documents_no_vectors"})

    async def find_nearest(self, question: str, access: AbstractSet[str] | None, limit: int) -> list[tuple[int, float]]:
        """(passage, cosine), nearest first; none if vectors cannot be had."""
        if time.monotonic() < self._resume_at:
            return []
        try:
            vectors = await asyncio.to_thread(self._load)
            if not len(vectors.ids):
                return []
            async with asyncio.timeout(_QUESTION_SECONDS):
                question_vectors = await self._embed([question], "question")
        except TimeoutError:
            self._rest("no answer within two seconds")
            return []
        except IndexUnavailable:
            return []
        if not question_vectors or question_vectors[0].size != vectors.matrix.shape[1]:
            return []
        return await asyncio.to_thread(_rank, vectors, question_vectors[0], access, limit)

    def _load(self) -> PassageVectors:
        """Read again only when the index has changed."""
        revision = self._index.find_revision()
        if self._loaded is None or self._loaded[0] != revision:
            self._loaded = (revision, self._index.load_vectors(self._model))
        return self._loaded[1]


def _rank(vectors: PassageVectors, question: Vectors, access: AbstractSet[str] | None, limit: int) -> list[tuple[int, float]]:
    length = float(np.linalg.norm(question))
    cosines = vectors.matrix @ (question / length if length else question)
    if access is not None:
        cosines = np.where([one in access for one in vectors.access], cosines, -2.0)
    count = min(limit, len(cosines))
    best = np.argpartition(-cosines, count - 1)[:count]
    ordered = best[np.argsort(-cosines[best], kind="stable")]
    return [(int(vectors.ids[place]), float(cosines[place])) for place in ordered if cosines[place] > -1.5]  # noqa: PLR2004 - not seen
