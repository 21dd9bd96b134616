"""Vectors join words by rank, are made only for what is new, and their provider may fail."""

import asyncio
from pathlib import Path

import pytest

from orchestrator.services.rag import vectors
from orchestrator.services.rag.service import fuse_ranks
from tests.unit.services.rag.rag_kit import FakeModels, build_service, run_rag, write_files

THEMES = [["машина", "автомобиль"], ["отпуск", "отдых"]]
FILES = {"cars.md": "# Транспорт\n\nАвтомобиль берут по заявке.", "leave.md": "# Отпуск\n\nЗаявление за две недели."}


async def test_a_passage_without_a_common_word_is_found_by_its_meaning(tmp_path: Path) -> None:
    """The question says машина, the passage автомобиль."""
    write_files(tmp_path / "docs", FILES)
    models = FakeModels(["По заявке [1]."], themes=THEMES)
    async with run_rag(build_service(tmp_path, models, embedding="emb")) as rag:
        await rag.embedded.service.refresh()
        found = await rag.ask("где взять машину", top_k=1)
    assert found["chunk_texts"] == ["Автомобиль берут по заявке."]


@pytest.mark.req("S001-X8")
async def test_vectors_are_made_in_batches_and_only_for_new_texts(tmp_path: Path) -> None:
    """Eight texts a request; after a change only the changed passages, after a restart none."""
    write_files(tmp_path / "docs", {f"{n}.md": f"# Тема {n}\n\nТекст {n}." for n in range(20)})
    models = FakeModels(themes=THEMES)
    service = build_service(tmp_path, models, embedding="emb")
    async with run_rag(service):
        await service.refresh()
        assert [len(texts) for texts in models.embedded] == [8, 8, 4]
        write_files(tmp_path / "docs", {"3.md": "# Тема 3\n\nНовый текст."})
        await service.refresh()
        assert list(models.embedded[-1]) == ["Тема 3\nНовый текст."]
        made = len(models.embedded)
    again = build_service(tmp_path, models, embedding="emb")
    async with run_rag(again):
        await again.refresh()
    assert len(models.embedded) == made


async def test_a_provider_that_fails_leaves_words_working_and_rests(tmp_path: Path) -> None:
    """It is not asked with each question and each refresh."""
    write_files(tmp_path / "docs", FILES)
    models = FakeModels(["За две недели [1]."], themes=THEMES, fails_to_embed=True)
    service = build_service(tmp_path, models, embedding="emb")
    async with run_rag(service) as rag:
        await service.refresh()
        asked = len(models.embedded)
        await service.refresh()
        found = await rag.ask("заявление на отпуск", top_k=1)
    assert found["chunk_texts"] == ["Заявление за две недели."]
    assert len(models.embedded) == asked == 1


async def test_a_provider_that_hangs_does_not_hold_up_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time words are enough."""
    write_files(tmp_path / "docs", FILES)
    models = FakeModels(["Да [1]."], themes=THEMES)
    service = build_service(tmp_path, models, embedding="emb")
    monkeypatch.setattr(vectors, "_QUESTION_SECONDS", 0.01)
    async with run_rag(service) as rag:
        await service.refresh()

        async def hang(_: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(models, "embed", hang)
        assert (await rag.ask("заявление на отпуск", top_k=1))["chunk_texts"] == ["Заявление за две недели."]


@pytest.mark.parametrize("wrong", [[[1.0]], [[float("nan"), 1.0]] * 2, [[], []], [["a"], ["b"]]])
async def test_vectors_that_cannot_be_used_are_not_stored(
    tmp_path: Path, wrong: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too few, no numbers, empty: nothing is stored and words go on."""
    write_files(tmp_path / "docs", FILES)
    models = FakeModels([], themes=THEMES)
    service = build_service(tmp_path, models, embedding="emb")
    monkeypatch.setattr(models, "_embed", lambda _: wrong[0])
    if len(wrong) == 1:

        async def embed(request: object) -> object:
            return type("Answer", (), {"vectors": wrong})()

        monkeypatch.setattr(models, "embed", embed)
    async with run_rag(service):
        await service.refresh()
        assert len(service.library.index.load_vectors("emb").ids) == 0


async def test_vectors_show_no_closed_document(tmp_path: Path) -> None:
    """The nearest passage of a closed folder is not found by anybody without the role."""
    files = {"access.yaml": "Гараж: [lead]\n", "Гараж/cars.md": "# Гараж\n\nАвтомобиль директора серый.", "leave.md": FILES["leave.md"]}
    write_files(tmp_path / "docs", files)
    models = FakeModels(["Да [1]."] * 2, themes=THEMES)
    service = build_service(tmp_path, models, embedding="emb")
    async with run_rag(service) as rag:
        await service.refresh()
        assert "Гараж/cars.md" not in (await rag.ask("где машина", top_k=2))["document_names"]
        assert "Гараж/cars.md" in (await rag.ask("где машина", top_k=2, roles=["lead"], token=True))["document_names"]


def test_what_both_rankings_have_comes_first() -> None:
    """Reciprocal rank fusion."""
    assert fuse_ranks([[1, 2, 3], [4, 2, 5]])[0] == 2
    assert fuse_ranks([[1, 2], []]) == [1, 2]
    assert fuse_ranks([[], []]) == []
