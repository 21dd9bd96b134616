"""What every index of documents promises, on SQLite and PostgreSQL."""

import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from orchestrator.services.rag.document import Passage, Problem
from orchestrator.services.rag.index.port import DocumentIndex, FileRecord, IndexChanges, IndexUnavailable, StoredDocument
from orchestrator.services.rag.index.sqlite import SqliteIndex
from tests.postgres_kit import libpq


class Opener:
    """Opens indexes on one place."""

    def __init__(self, kind: str, place: Path, url: str) -> None:
        self.kind, self.place, self.url = kind, place, url
        self.opened: list[DocumentIndex] = []

    def open(self) -> DocumentIndex:
        if self.kind == "sqlite":
            made: DocumentIndex = SqliteIndex(self.place / "documents.db")
        else:
            from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - as the product does

            made = PostgresIndex(self.url, "documents_test")
        self.opened.append(made)
        return made


@pytest.fixture(params=["sqlite", "postgresql"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    url = ""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres")
        url = server.empty()
    made = Opener(request.param, tmp_path, libpq(url) if url else "")
    yield made
    for one in made.opened:
        one.close()
    if url:
        server.drop(url)


@pytest.fixture
def index(opener: Opener) -> DocumentIndex:
    return opener.open()


def file(path: str, access: str = "", **more: object) -> FileRecord:
    return FileRecord(path=path, name=path.rsplit("/", 1)[-1], size=1, mtime_ns=2, digest="d", access=access, **more)  # type: ignore[arg-type]


def document(path: str, *texts: str, title: str = "Документ", access: str = "") -> StoredDocument:
    return StoredDocument(file(path, access), [Passage(title, text) for text in texts])


def store(index: DocumentIndex, *documents: StoredDocument) -> None:
    index.apply(IndexChanges(stored=documents))


def found(index: DocumentIndex, question: str, access: set[str] | None = None, limit: int = 5) -> list[str]:
    return [hit.text for hit in index.search(question, access, limit)]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Менеджеры звонят клиентам.", "позвонить клиенту, менеджер"),
        ("Всё оформляют в ёмкостях.", "емкость"),
        ("Емкость хранят тут.", "ёмкость"),
        ("The managers called customers.", "manager calling a customer"),
        ("Артикул: КП-12; Цена: 1 200 руб.", "кп-12"),
        ("Артикул: КП-12; Цена: 1 200 руб.", "кп12"),
        ("Артикул: КП-12; Цена: 1 200 руб.", "KП-12"),
        ("Артикул: КП-12; Цена: 1 200 руб.", "что стоит 1200"),
        ("Ставка 7,5 процента.", "7.5"),
        ("Договор по форме ГОСТ Р 7.0.97-2016.", "ГОСТ 7.0.97-2016"),
    ],
)
def test_words_are_found_in_all_their_forms(index: DocumentIndex, text: str, question: str) -> None:
    """Stems of both languages, ё as е, numbers with and without groups, codes with and without signs and in both alphabets."""
    store(index, document("a", text), *(document(f"n{n}", f"Иное предложение номер {n} про погоду.") for n in range(9)))
    assert found(index, question)[:1] == [text]


def test_a_rare_word_counts_more_and_a_title_most(index: DocumentIndex) -> None:
    """The passage with the telling word is first, before those with the word that stands everywhere."""
    common = [document(f"c{n}", f"Скидка клиентам, клиенты и скидка {n}.") for n in range(30)]
    store(index, *common, document("rare", "Скидка ветеранам."), document("title", "Она бывает разной.", title="Скидка пенсионерам"))
    assert found(index, "скидка ветеранам")[0] == "Скидка ветеранам."
    assert found(index, "скидка пенсионерам")[0] == "Она бывает разной."


def test_forms_of_a_word_and_office_words_for_it_are_found_after_the_word_itself(index: DocumentIndex) -> None:
    """Documents call things otherwise than people do; a passage that says what was asked is first all the same."""
    texts = ("Про опоздание предупреждают.", "Опоздал: предупреди.", "Ноутбук выдаёт склад.", "Ноут берут со склада.")
    store(index, *(document(f"t{n}", text) for n, text in enumerate(texts)), *(document(f"n{n}", f"Погода, день {n}.") for n in range(9)))
    assert found(index, "я опоздал") == [texts[1], texts[0]]
    assert found(index, "где ноут") == [texts[3], texts[2]]
    assert (found(index, "я опоздал", limit=1), found(index, "где ноут", limit=1)) == ([texts[1]], [texts[3]])


def test_nothing_is_found_for_words_that_no_passage_has(index: DocumentIndex) -> None:
    """Also for signs alone, operators of the query language and no words at all."""
    store(index, document("a", "Отпуск дают летом."))
    for question in ("зебра", '"', "OR AND NOT", "a* NEAR(b)", "'; DROP TABLE passages; --", "", "?!", "\\' & | !", ":*"):
        assert found(index, question) == [], question
    assert found(index, 'отпуск\' OR "летом"') == ["Отпуск дают летом."]


def test_coverage_says_how_much_of_the_question_is_there(index: DocumentIndex) -> None:
    """All of it is 1; a word that no document has takes away much."""
    store(index, document("a", "Отпуск дают летом."), *(document(f"n{n}", f"Текст {n}.") for n in range(9)))
    whole, part = index.search("отпуск летом", None, 1)[0].coverage, index.search("отпуск на луне", None, 1)[0].coverage
    assert whole == pytest.approx(1.0)
    assert 0.1 < part < 0.6


def test_only_documents_of_the_allowed_classes_are_seen(index: DocumentIndex) -> None:
    """By words and by id, however few are allowed."""
    store(index, *(document(f"l{n}", f"Премия {n}.", access="lead") for n in range(9)), document("p", "Премия для всех."))
    assert found(index, "премия", {""}) == ["Премия для всех."]
    assert found(index, "премия", set()) == []
    assert len(found(index, "премия", {"", "lead"}, 20)) == 10
    assert len(found(index, "премия", None, 20)) == 10
    ids = [hit.passage_id for hit in index.search("премия", None, 20)]
    assert [hit.text for hit in index.load_hits(ids, {""}).values()] == ["Премия для всех."]


def test_a_change_of_class_needs_no_reading(index: DocumentIndex) -> None:
    """The passages stay and follow the record."""
    store(index, document("a", "Премия."))
    index.apply(IndexChanges(updated=[file("a", "admin")]))
    assert found(index, "премия", {""}) == []
    assert found(index, "премия", {"admin"}) == ["Премия."]


def test_a_document_replaces_its_old_passages(index: DocumentIndex) -> None:
    """Changed and removed documents leave nothing behind, and an id is never used again."""
    store(index, document("a", "Старый порядок."), document("b", "Другой порядок."))
    before = index.search("старый порядок", None, 1)[0].passage_id
    store(index, document("a", "Новый порядок."))
    assert found(index, "старый") == []
    assert before not in index.load_hits([before], None)
    assert all(hit.passage_id > before for hit in index.search("новый", None, 1))
    index.apply(IndexChanges(removed=["a", "b"]))
    assert (found(index, "порядок"), index.count_passages(), dict(index.load_files())) == ([], 0, {})


def test_what_is_stored_outlives_the_process(opener: Opener) -> None:
    """Records with their problems, passages, completeness and the revision."""
    first = opener.open()
    problem = Problem("wrong_name", {"expected": "pdf", "found": "html"})
    assert not first.is_complete()
    store(first, document("папка/a", "Отпуск дают летом."), StoredDocument(file("b", problem=problem), ()))
    first.mark_complete()
    revision = first.find_revision()
    first.close()
    second = opener.open()
    assert second.load_files() == {"папка/a": file("папка/a"), "b": file("b", problem=problem)}
    assert (second.is_complete(), second.find_revision(), found(second, "отпуск")) == (True, revision, ["Отпуск дают летом."])


def test_a_search_sees_all_of_a_change_or_nothing(index: DocumentIndex) -> None:
    """While two documents are replaced together again and again, no search finds one old and one new."""
    store(index, document("a", "Порядок 0."), document("b", "Порядок 0."))
    seen: list[set[str]] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            seen.append(set(found(index, "порядок")))

    thread = threading.Thread(target=look)
    thread.start()
    for number in count(1):
        store(index, document("a", f"Порядок {number}."), document("b", f"Порядок {number}."))
        if number >= 39 and len(seen) > 3:  # the first search of a process reads word lists, for longer than many changes take
            break
    is_over.set()
    thread.join()
    assert [texts for texts in seen if len(texts) != 1] == []


def test_one_process_updates_and_another_takes_over(opener: Opener) -> None:
    """The right to update is that of the first who asks, until it closes."""
    first, second = opener.open(), opener.open()
    assert first.claim_updates()
    assert first.claim_updates()
    assert not second.claim_updates()
    first.close()
    assert second.claim_updates()


def test_vectors_are_kept_by_the_text_they_were_made_of(index: DocumentIndex) -> None:
    """Only new texts lack a vector; those of texts and models that are gone are forgotten; equal texts share one."""
    store(index, document("a", "Один.", "Два."), document("b", "Один."))
    missing = index.list_texts_without_vectors("m", 10)
    assert sorted(missing.values()) == ["Документ\nДва.", "Документ\nОдин."]
    index.store_vectors("m", {key: np.array([3.0, 4.0], dtype=np.float32) for key in missing})
    assert index.list_texts_without_vectors("m", 10) == {}
    loaded = index.load_vectors("m")
    assert loaded.matrix.shape == (3, 2)
    assert np.allclose(loaded.matrix, [0.6, 0.8])
    store(index, document("a", "Один.", "Три."))
    (key,) = index.list_texts_without_vectors("m", 10)
    index.store_vectors("m", {key: np.array([1.0, 0.0], dtype=np.float32)})
    assert index.load_vectors("m").matrix.shape == (3, 2)
    assert len(index.list_texts_without_vectors("other", 10)) == 2
    index.store_vectors("other", {})
    assert index.load_vectors("m").matrix.shape[0] == 0


def test_a_closed_index_says_that_it_is_unavailable(opener: Opener) -> None:
    """And no driver's error."""
    if opener.kind == "sqlite":
        damaged = opener.place / "damaged.db"
        damaged.write_bytes(b"this is no database" * 100)
        index = SqliteIndex(damaged)
        opener.opened.append(index)
        assert index.count_passages() == 0
        with pytest.raises(IndexUnavailable):
            SqliteIndex(opener.place / "damaged.db" / "below.db")
        return
    from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - as the product does

    with pytest.raises(IndexUnavailable):
        PostgresIndex("postgresql://nobody@127.0.0.1:1/none", "documents_test")


def test_another_version_of_the_index_is_built_anew(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older program stored is read again from the documents."""
    first = opener.open()
    store(first, document("a", "Отпуск."))
    first.close()
    monkeypatch.setattr(f"orchestrator.services.rag.index.{'sqlite' if opener.kind == 'sqlite' else 'postgres'}.FORMAT", 99)
    second = opener.open()
    assert (second.count_passages(), dict(second.load_files()), second.is_complete()) == (0, {}, False)
    store(second, document("a", "Отпуск."))
    assert found(second, "отпуск") == ["Отпуск."]
