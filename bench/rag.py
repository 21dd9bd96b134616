"""The document service: search over 100,000 passages beside the bare full-text query, indexing, and a start with 10,000 unchanged files.

Texts are made of words as frequent as in a language: the n-th word comes 1/n as often as the first.
"""

import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.index.postgres import PostgresIndex
from orchestrator.services.rag.index.sqlite import build_match
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.service import RagService
from orchestrator.services.rag.stems import find_question_terms

sys.path.append(str(Path(__file__).parents[1]))
from tests.document_quality import (
    HashedVectors,
    find_without_stems,
    index_corpus,
    load_blind_questions,
    load_questions,
    rank_by_both,
    rank_by_words,
    sum_up,
)
from tests.postgres_kit import NoPostgres, libpq, serving

PASSAGES = 100_000
SECTIONS = 100
FILES = 10_000
QUESTIONS = 60
TRIES = 5
CALIBRATION = 0.0105
"""Seconds of `_count_words` on the machine for which the bar of indexing is written, when nothing else runs there."""
SEARCH_BAR, INDEX_BAR, START_BAR, HIT_BAR = 1.5, 2_000, 1.0, 85
_BARE = "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY rank LIMIT 2"
_SCHEMA = "documents_bench"
_BARE_POSTGRES = """SELECT id FROM passages WHERE terms @@ %s::tsquery
    ORDER BY ts_rank('{0.4, 0.4, 0.4, 1.0}'::float4[], terms, %s::tsquery, 1) DESC LIMIT 2"""


async def rag_benches() -> list[dict[str, Any]]:
    """Return the rows of speed."""
    with tempfile.TemporaryDirectory() as place:
        rows = [*await _measure_search(Path(place)), *await _measure_postgres(Path(place) / "documents")]
    with tempfile.TemporaryDirectory() as place:
        rows.append(await _measure_start(Path(place)))
    with tempfile.TemporaryDirectory() as place:
        return [*rows, *await _measure_quality(Path(place))]


async def _measure_quality(place: Path) -> list[dict[str, Any]]:
    """Return how often a question of the tests' corpus finds its passage among the first two."""
    index = await asyncio.to_thread(index_corpus, place)
    questions = load_questions()
    apart = find_without_stems(index, questions)
    shared = [one for one in questions if one not in apart]
    words = rank_by_words(index, questions)
    blind = load_blind_questions()
    blind_apart = find_without_stems(index, blind)
    blind_ranks = rank_by_words(index, blind)
    alone, both = await rank_by_both(index, questions, HashedVectors(), "sandbox")
    index.close()
    rows = []
    for name, ranks in (("words, BM25", words), ("sandbox vectors", alone), ("both by rank", both)):
        figures, others = sum_up(ranks, shared), sum_up(ranks, list(apart))
        is_judged = ranks is words
        rows.append(
            _row(
                f"documents by {name}, hit@2",
                round(figures.hit2 * 100, 1),
                "%",
                f">= {HIT_BAR}" if is_judged else "",
                figures.hit2 * 100 >= HIT_BAR if is_judged else None,
                f"{figures}; without a common stem: {others}" + ("" if is_judged else "; a smoke test: these vectors hash letters"),
            )
        )
    figures = sum_up(blind_ranks, [one for one in blind if one not in blind_apart])
    told = f"{figures}; without a common stem: {sum_up(blind_ranks, list(blind_apart))}"
    is_held = figures.hit2 * 100 >= HIT_BAR
    return [*rows, _row("the same, asked by titles alone", round(figures.hit2 * 100, 1), "%", f">= {HIT_BAR}", is_held, told)]


async def _measure_search(place: Path) -> list[dict[str, Any]]:
    words = _make_words()
    folder = place / "documents"
    _write_documents(folder, words)
    index = open_index(folder, place / "state", None)
    library = Library(folder, index)
    try:
        pure = statistics.mean(_measure(_count_words) for _ in range(50))
        started = time.perf_counter()
        await asyncio.to_thread(library.refresh)
        seconds = time.perf_counter() - started
        scale = max(1.0, (pure + statistics.mean(_measure(_count_words) for _ in range(50))) / 2 / CALIBRATION)
        passages = index.count_passages()
        questions = _make_questions(words)
        async with RagService(library=library) as service:
            connection = sqlite3.connect(next((place / "state").glob("*.db")))
            queries = [(one, partial(_ask_bare, connection, build_match(_list_searched_terms(connection, one)))) for one in questions]
            ours, bare = await _compare_queries(service, queries)
            connection.close()
    finally:
        library.close()
    rate = passages / seconds
    return [
        _build_search_row("document search, warm, / bare query", ours, bare, passages),
        _row(
            "documents indexed, passages/s, no vectors",
            round(rate),
            "/s",
            f">= {INDEX_BAR / scale:.0f}",
            rate >= INDEX_BAR / scale,
            f"Markdown and text read, cut and stored in {seconds:.1f} s; the bar is for a machine {scale:.2f} x as fast",
        ),
    ]


async def _measure_postgres(folder: Path) -> list[dict[str, Any]]:
    """Return the row of the same search in PostgreSQL; none, and a line that says why, where no server can be started."""
    try:
        with serving() as server:
            return [await _measure_postgres_search(folder, libpq(server.empty()))]
    except NoPostgres as reason:
        print(f"the search of documents in PostgreSQL is skipped: {reason}", file=sys.stderr)
        return []


async def _measure_postgres_search(folder: Path, url: str) -> dict[str, Any]:
    index = PostgresIndex(url, _SCHEMA)
    library = Library(folder, index)
    try:
        await asyncio.to_thread(library.refresh)
        questions = _make_questions(_make_words())
        async with RagService(library=library) as service:
            with psycopg.connect(url, autocommit=True, options=f"-c search_path={_SCHEMA}") as connection:
                connection.execute("VACUUM ANALYZE passages")  # a server does it by itself, at a moment that is not known
                queries = [(one, partial(_ask_bare_postgres, connection, _build_tsquery(connection, one))) for one in questions]
                ours, bare = await _compare_queries(service, queries)
        return _build_search_row("the same in PostgreSQL, / bare query", ours, bare, index.count_passages())
    finally:
        library.close()


def _ask_bare_postgres(connection: psycopg.Connection[Any], query: str) -> object:
    return connection.execute(_BARE_POSTGRES, (query, query)).fetchall()


def _build_tsquery(connection: psycopg.Connection[Any], question: str) -> str:
    """Return the query of any of the question's terms; none of them is so frequent that the service would leave it out."""
    row = connection.execute("SELECT tsvector_to_array(to_tsvector('russian', %s))", (question,)).fetchone()
    return " | ".join(f"'{term}'" for term in (row or ([],))[0])


def _build_search_row(name: str, ours: list[float], bare: list[float], passages: int) -> dict[str, Any]:
    ratio = statistics.median(ours) / statistics.median(bare)
    told = f"ours {statistics.median(ours) * 1000:.2f} ms, bare query {statistics.median(bare) * 1000:.2f} ms (median); {passages} passages"
    return _row(name, round(ratio, 2), "x", f"<= {SEARCH_BAR}", ratio <= SEARCH_BAR, told)


async def _compare_queries(service: RagService, queries: Iterable[tuple[str, Callable[[], object]]]) -> tuple[list[float], list[float]]:
    """Return the seconds of each question: (the service's answer, the bare query of the same terms); the best of several tries of each."""
    ours, bare = [], []
    for question, ask_bare in queries:
        await service.search(question)
        whole, alone = [], []
        for _ in range(TRIES):
            started = time.perf_counter()
            await service.search(question)
            whole.append(time.perf_counter() - started)
            alone.append(_measure(ask_bare))
        ours.append(min(whole))
        bare.append(min(alone))
    return ours, bare


def _ask_bare(connection: sqlite3.Connection, match: str) -> object:
    return connection.execute(_BARE, (match,)).fetchall()


def _list_searched_terms(connection: sqlite3.Connection, question: str) -> list[str]:
    """Return the terms of a question that stand in at most a third of the passages: those that are looked for."""
    counted = {
        term: connection.execute("SELECT doc FROM term_counts WHERE term = ?", (term,)).fetchone() for term in find_question_terms(question)
    }
    known = {term: row[0] for term, row in counted.items() if row}
    return [term for term, count in known.items() if count <= 0.35 * PASSAGES] or list(known)


def _count_words() -> None:
    """A piece of plain Python, by whose time the bar of indexing is scaled."""
    counts: dict[str, int] = {}
    for number in range(60_000):
        word = str(number % 997)
        counts[word] = counts.get(word, 0) + len(word)


def _measure(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


async def _measure_start(place: Path) -> dict[str, Any]:
    folder = place / "documents"
    for number in range(FILES):
        file = folder / f"{number % 100:02}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"Документ {number}\n\nОдин короткий текст о предмете {number}.\n", encoding="utf-8")
    first = Library(folder, open_index(folder, place / "state", None))
    await asyncio.to_thread(first.refresh)
    first.close()
    started = time.perf_counter()
    async with RagService(library=Library(folder, open_index(folder, place / "state", None))) as service:
        counted = await service.count_passages()
        seconds = time.perf_counter() - started
    assert counted == FILES
    return _row(
        "start with 10,000 unchanged documents", round(seconds, 2), "s", f"<= {START_BAR}", seconds <= START_BAR, "until /health says ok"
    )


def _make_words() -> list[str]:
    """Return 30,000 different words of two to five syllables."""
    chance = random.Random(7)  # noqa: S311 - the same texts each time
    syllables = [first + second for first in "бвгдклмнпрстхч" for second in "аеиоуыя"]
    words: dict[str, None] = {}
    while len(words) < 30_000:
        words["".join(chance.choices(syllables, k=chance.randint(2, 5)))] = None
    return list(words)


def _write_documents(folder: Path, words: list[str]) -> None:
    chance = random.Random(8)  # noqa: S311 - as above
    folder.mkdir(parents=True)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(PASSAGES // SECTIONS):
        lines = [f"# Документ {number}", ""] if number % 2 else [f"ДОКУМЕНТ {number}", ""]
        for section in range(1, SECTIONS + 1):
            chosen = chance.choices(words, weights, k=70)
            text = " ".join(chosen[:35]).capitalize() + ". " + " ".join(chosen[35:]).capitalize() + "."
            heading = " ".join(chosen[5:8]).capitalize()
            lines += [f"## {heading}" if number % 2 else f"{section}. {heading}", "", text, ""]
        (folder / f"{number}.{'md' if number % 2 else 'txt'}").write_text("\n".join(lines), encoding="utf-8")


def _make_questions(words: list[str]) -> list[str]:
    """Return questions of six words, frequent and rare ones."""
    chance = random.Random(9)  # noqa: S311 - as above
    return [" ".join([*chance.choices(words[20:2000], k=4), *chance.choices(words[2000:], k=2)]) for _ in range(QUESTIONS)]


def _row(name: str, value: float, unit: str, bar: str, holds: bool | None, versus: str) -> dict[str, Any]:  # noqa: FBT001
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
