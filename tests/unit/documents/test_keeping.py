"""An author's text changes only where its data change."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.keeping import keep_text
from orchestrator.documents.reading import read_document

FILES = sorted((Path(__file__).parents[3] / "engines").glob("*/examples/**/*.yaml"))
TEXT = """\
# Кто это ведёт: отдел продаж
id: offer   # имя для команд
name: "Предложение"
steps:
  # сначала спросить
  - id: ask
    type: input   # ждёт ответа
    params: {text: 'Сколько?', variable: amount}   # рублей

  # потом поблагодарить
  - id: thank
    type: message
    params:
      text: |
        Спасибо!
        Записал: {amount}
      # конец шага
"""


def read(text: str, written: Any = "yaml") -> Any:
    document = read_document(text, written).document
    assert document is not None, read_document(text, written).findings
    return document.data


def change(text: str, *path: str | int, to: Any) -> str:
    data = copy.deepcopy(read(text))
    place = data
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    kept = keep_text(text, data)
    assert kept is not None
    return kept


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("id",), "offer2", "id: offer   # имя", "id: offer2   # имя"),
        (("name",), 'Моё "новое"', '"Предложение"', '"Моё \\"новое\\""'),
        (("steps", 0, "params", "text"), "Почём это?", "'Сколько?'", "'Почём это?'"),
        (("steps", 0, "params", "max"), 5, "variable: amount}", "variable: amount, max: 5}"),
        (("steps", 0, "type"), "message", "type: input   # ждёт", "type: message   # ждёт"),
        (("steps", 0, "params"), None, "{text: 'Сколько?', variable: amount}   # рублей", "null   # рублей"),
        (("steps", 1, "params", "text"), "Пока", "text: |\n        Спасибо!\n        Записал: {amount}\n", "text: Пока\n"),
        (("title",), "Т", "steps:\n", "steps:\n"),
    ],
)
def test_one_changed_value_changes_its_own_place_alone(path: tuple[str | int, ...], value: Any, before: str, after: str) -> None:
    kept = change(TEXT, *path, to=value)
    expected = TEXT.replace(before, after) if before != after else TEXT.replace("# конец шага\n", "# конец шага\ntitle: Т\n")
    assert kept == expected


def test_a_step_put_between_two_adds_its_own_lines_alone() -> None:
    data = read(TEXT)
    data["steps"].insert(1, {"id": "check", "type": "condition"})
    assert keep_text(TEXT, data) == TEXT.replace("рублей\n\n", "рублей\n  - id: check\n    type: condition\n\n")


def test_a_removed_step_takes_its_comments_with_it_and_leaves_those_of_the_others() -> None:
    data = read(TEXT)
    del data["steps"][0]
    kept = keep_text(TEXT, data)
    assert kept is not None
    assert "рублей" not in kept
    assert "# потом поблагодарить" in kept
    assert "# Кто это ведёт" in kept


def test_a_moved_step_takes_its_comments_along() -> None:
    data = read(TEXT)
    data["steps"].reverse()
    kept = keep_text(TEXT, data)
    assert kept is not None
    assert kept.index("# потом поблагодарить") < kept.index("id: thank") < kept.index("id: ask") < kept.index("# ждёт ответа")


@pytest.mark.parametrize("dressed", [TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT, TEXT.removesuffix("\n"), "---\n" + TEXT + "...\n"])
def test_line_ends_and_marks_of_a_document_stay(dressed: str) -> None:
    assert change(dressed, "id", to="offer2") == dressed.replace("id: offer ", "id: offer2 ")


def test_json_keeps_its_lines_and_its_quotes() -> None:
    text = '{\n  "name": "Да",\n  "steps": [\n    {"id": "a"},\n    {"id": "b"}\n  ]\n}\n'
    data = read(text, "json") | {"name": "Нет"}
    data["steps"].append({"id": "c"})
    assert keep_text(text, data, "json") == text.replace("Да", "Нет").replace('"b"}', '"b"},\n    {"id": "c"}')


@pytest.mark.parametrize("text", ["", "# nothing\n", "a: 1\na: 2\n", "a: &x 1\nb: *x\n", "a: b: c\n", "{", "- a\n\t- b\n"])
def test_a_text_with_mistakes_is_left_to_the_caller(text: str) -> None:
    assert keep_text(text, {"a": 5}) is None


def test_true_and_one_are_not_the_same_value() -> None:
    assert keep_text("a: true\n", {"a": 1}) == "a: 1\n"
    assert keep_text("a: 1\n", {"a": 1.0}) == "a: 1.0\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_random_change_of_an_example_keeps_its_comments_and_means_what_was_wanted(path: Path) -> None:
    text, choice = path.read_text(encoding="utf-8"), random.Random(path.stem)  # noqa: S311 - a seed
    data = read(text)
    assert keep_text(text, data) == text
    comments = {line.strip() for line in text.splitlines() if line.strip().startswith("#")}
    lost = 0
    for _ in range(15):
        wanted = change_at_random(choice, data)
        kept = keep_text(text, wanted)
        if not wanted:
            continue
        assert kept is not None, wanted
        assert read(kept) == wanted
        lost += sum(comment not in kept for comment in comments)
    assert lost <= len(comments)


def change_at_random(choice: random.Random, data: Any) -> Any:
    changed = copy.deepcopy(data)
    for _ in range(choice.choice([1, 1, 2, 3])):
        places = [place for place in _list_collections(changed) if place]
        place = choice.choice(places)
        key = choice.choice(list(place) if isinstance(place, dict) else range(len(place)))
        deed = choice.randrange(4)
        if deed == 0:
            place[key] = choice.choice(
                ["новое", 5, True, None, "a: b #c", "true", "  с краю", 1.5, "раз\nдва: да\n\nтри", {"id": "q", "x": [1]}]
            )
        elif deed == 1 and isinstance(place, dict):
            place["new_key"] = choice.choice(["v", {"a": [1, 2]}, ["x"], []])
        elif deed == 1:
            place.insert(choice.randrange(len(place) + 1), {"id": "new", "params": {"text": "т"}})
        elif deed == 2 and len(place) > 1:
            del place[key]
        elif isinstance(place, list):
            place.insert(choice.randrange(len(place)), place.pop(key))
    return changed


def _list_collections(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    below = value.values() if isinstance(value, dict) else value
    return [value, *(found for one in below for found in _list_collections(one))]
