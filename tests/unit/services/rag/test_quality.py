"""How well questions of people find their passage in the documents of an invented company; `make bench ONLY=rag` prints the figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.services.rag.index.port import DocumentIndex
from orchestrator.services.rag.service import LEAST_COVERAGE
from tests.document_quality import (
    HashedVectors,
    find_without_stems,
    index_corpus,
    load_blind_questions,
    load_off_topic,
    load_questions,
    rank_by_both,
    rank_by_words,
    sum_up,
)

QUESTIONS = load_questions()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentIndex]:
    made = index_corpus(tmp_path_factory.mktemp("corpus"))
    yield made
    made.close()


def test_every_question_has_its_passage(index: DocumentIndex) -> None:
    """The corpus is whole: at least 200 questions about documents that all were read."""
    assert len(QUESTIONS) >= 200
    assert [file.problem for file in index.load_files().values() if file.problem] == []
    titles = {(hit.name, hit.title.rpartition(" › ")[2]) for hit in index.load_hits(range(1, 2000), None).values()}
    assert [one for one in QUESTIONS if (one.name, one.heading) not in titles] == []


def test_words_find_the_passage_that_shares_one_with_the_question(index: DocumentIndex) -> None:
    """The bar: 85 % among the first two."""
    apart = find_without_stems(index, QUESTIONS)
    assert len(apart) >= 20
    figures = sum_up(rank_by_words(index, QUESTIONS), [one for one in QUESTIONS if one not in apart])
    assert figures.hit2 >= 0.85, str(figures)


def test_questions_asked_by_titles_alone_find_their_passage_too(index: DocumentIndex) -> None:
    """Who asked had not read the documents, and uses other words than they do; the bar is the same."""
    blind = load_blind_questions()
    titles = {(hit.name, hit.title.rpartition(" › ")[2]) for hit in index.load_hits(range(1, 2000), None).values()}
    assert [one for one in blind if (one.name, one.heading) not in titles] == []
    apart = find_without_stems(index, blind)
    figures = sum_up(rank_by_words(index, blind), [one for one in blind if one not in apart])
    assert figures.hit2 >= 0.85, str(figures)


def test_without_a_model_most_answers_are_shown_and_foreign_questions_refused(index: DocumentIndex) -> None:
    """The threshold lets at least nine in ten questions of the corpus pass, and at most two in ten about other things."""

    def passes(text: str) -> bool:
        return any(hit.coverage >= LEAST_COVERAGE for hit in index.search(text, None, 2))

    apart = find_without_stems(index, QUESTIONS)
    shared = [one for one in QUESTIONS if one not in apart]
    assert sum(passes(one.text) for one in shared) >= 0.9 * len(shared)
    foreign = load_off_topic()
    assert sum(passes(text) for text in foreign) <= 0.2 * len(foreign)


async def test_vectors_and_words_together_are_no_worse_than_the_worse_of_them(index: DocumentIndex) -> None:
    """A smoke test with the vectors of the sandbox: joining ranks works over the whole corpus."""
    apart = find_without_stems(index, QUESTIONS)
    shared = [one for one in QUESTIONS if one not in apart]
    words = sum_up(rank_by_words(index, QUESTIONS), shared)
    alone, both = await rank_by_both(index, QUESTIONS, HashedVectors(), "sandbox")
    assert sum_up(both, shared).hit2 >= min(words.hit2, sum_up(alone, shared).hit2)


@pytest.mark.slow
async def test_postgresql_finds_them_too(tmp_path: Path, postgres: object) -> None:
    """Its own full-text search, weighed by the rarity of words, keeps the same bar."""
    from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - as the product does
    from tests.postgres_kit import Server, libpq  # noqa: PLC0415 - half a second that other tests do not need

    assert isinstance(postgres, Server)
    url = postgres.empty()
    index = index_corpus(tmp_path, PostgresIndex(libpq(url), "documents_quality"))
    try:
        apart = find_without_stems(index, QUESTIONS)
        figures = sum_up(rank_by_words(index, QUESTIONS), [one for one in QUESTIONS if one not in apart])
        assert figures.hit2 >= 0.85, str(figures)
    finally:
        index.close()
        postgres.drop(url)
