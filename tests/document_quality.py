"""How well passages are found: the questions of tests/corpus over its documents, and the figures hit@2 and MRR."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from orchestrator.domain.models import EmbedAnswer, EmbedRequest, ModelAnswer, ModelRequest, Models
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.index.port import DocumentIndex, Hit
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.service import Retriever
from orchestrator.services.rag.stems import find_question_terms, find_terms
from orchestrator.services.rag.vectors import PassageEmbedder
from sandbox.model.embedding import vector

CORPUS = Path(__file__).parent / "corpus"
DOCUMENTS = CORPUS / "documents"
DEPTH = 10


@dataclass(frozen=True)
class Question:
    """A question, and the file and heading of the passage that answers it."""

    text: str
    name: str
    heading: str


@dataclass(frozen=True)
class Figures:
    """Over how many questions which part found its passage among the first two, and the mean of 1/rank."""

    count: int
    hit2: float
    mrr: float

    def __str__(self) -> str:
        return f"hit@2 {self.hit2:.1%}, MRR {self.mrr:.3f} over {self.count}"


def load_questions() -> list[Question]:
    """All questions, in the order of the file."""
    return _read_questions(yaml.safe_load((CORPUS / "documents_questions.yaml").read_text(encoding="utf-8")))


def load_blind_questions() -> list[Question]:
    """The questions of two people who had seen only the titles of the documents, of those that have an answer in them, each once."""
    found: dict[str, Question] = {}
    for name in ("documents_blind_questions.yaml", "documents_blind_questions_2.yaml"):
        for one in _read_questions(yaml.safe_load((CORPUS / name).read_text(encoding="utf-8"))["answered"]):
            found.setdefault(one.text.casefold(), one)
    return list(found.values())


def _read_questions(answered: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Question]:
    return [Question(text, name, heading) for name, headings in answered.items() for heading, texts in headings.items() for text in texts]


def load_off_topic() -> list[str]:
    """Questions about which the documents say nothing."""
    return (CORPUS / "documents_off_topic.txt").read_text(encoding="utf-8").splitlines()


def is_answer(question: Question, hit: Hit) -> bool:
    """Whether the passage is the expected one; several parts of a long section count all."""
    heading = hit.title.rpartition(" › ")[2]
    return hit.name == question.name and (heading == question.heading or heading.startswith(f"{question.heading} ("))


def index_corpus(state: Path, database: DocumentIndex | None = None) -> DocumentIndex:
    """An index of all documents of the corpus."""
    index = database or open_index(DOCUMENTS, state, None)
    library = Library(DOCUMENTS, index)
    library.refresh()
    library.close_reader()
    return index


def find_without_stems(index: DocumentIndex, questions: Sequence[Question]) -> set[Question]:
    """The questions that share no stem with any passage that answers them; titles of documents and headings are part of a passage."""
    terms: dict[tuple[str, str], set[str]] = {}
    everything = index.load_hits(range(1, 5_000), None).values()
    for question in questions:
        for hit in everything:
            if is_answer(question, hit):
                terms.setdefault((question.name, question.heading), set()).update(find_terms(f"{hit.title}\n{hit.text}"))
    return {one for one in questions if not terms[one.name, one.heading] & set(find_question_terms(one.text))}


def rank_by_words(index: DocumentIndex, questions: Sequence[Question]) -> dict[Question, int]:
    """The rank of each question's passage by words alone, 0 if it is not among the first ten."""
    return {one: _find_rank(one, index.search(one.text, None, DEPTH)) for one in questions}


async def rank_by_both(
    index: DocumentIndex, questions: Sequence[Question], models: Models, model: str
) -> tuple[dict[Question, int], dict[Question, int]]:
    """The ranks by vectors alone, and by words and vectors joined."""
    embedder = PassageEmbedder(index, models, model)
    await embedder.update()
    retriever = Retriever(index, embedder)
    alone, both = {}, {}
    for question in questions:
        nearest = await embedder.find_nearest(question.text, None, DEPTH)
        hits = await asyncio.to_thread(index.load_hits, [one for one, _ in nearest], None)
        alone[question] = _find_rank(question, [hits[one] for one, _ in nearest])
        by_words = await asyncio.to_thread(retriever.search_words, question.text, None, DEPTH)
        both[question] = _find_rank(question, (await retriever.add_nearest(by_words, question.text, None, DEPTH)).hits)
    return alone, both


def _find_rank(question: Question, hits: Sequence[Hit]) -> int:
    return next((rank for rank, hit in enumerate(hits, 1) if is_answer(question, hit)), 0)


def sum_up(ranks: Mapping[Question, int], questions: Sequence[Question]) -> Figures:
    """The figures over these questions."""
    found = [ranks[one] for one in questions]
    count = len(found) or 1
    return Figures(len(found), sum(0 < rank <= 2 for rank in found) / count, sum(1 / rank for rank in found if rank) / count)


class HashedVectors:
    """The vectors of the sandbox's model, which hash words and letters: they try the machinery, and say nothing of a real model's quality."""

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        """The vectors of the texts."""
        return EmbedAnswer(vectors=[vector(text) for text in request.texts], model=request.model or "")

    async def chat(self, request: ModelRequest, on_delta: object = None, *, on_restart: object = None) -> ModelAnswer:
        """Nobody asks."""
        raise NotImplementedError

    def find_model_name(self, request: ModelRequest) -> str:
        """Nobody asks."""
        raise NotImplementedError
