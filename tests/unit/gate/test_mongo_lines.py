"""What a card about documents of a database says: every value that is sent, in plain words of both languages."""

from typing import Any

import pytest

from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds import mongo
from orchestrator.gate.call.kinds.base import KindRequest
from orchestrator.gate.call.kinds.mongo_methods import METHODS
from orchestrator.gate.preview.call_labels import _LabelNames
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.preview.mongo_lines import build_mongo_lines
from orchestrator.language.text import Locale

IMAGE = {"deals/7": {"_id": 7, "status": "new", "sum": 10, "tags": ["a"], "client": "Ромашка"}}
TITLES = {"status": "Статус", "client": "Клиент"}


def show(name: str, params: dict[str, Any], images: Any = None, locale: Locale = "ru") -> list[str]:
    """The lines of the card, as texts."""
    method = METHODS[f"mongo.{name}"]
    given = mongo.normalize_params(KindRequest(method=method, effect_id="effect", person=""), {"collection": "deals", **params})
    call = Call(kind="mongo", method=method.spec.name, params=given, spec=method.spec, classes=method.spec.classes, portal="")
    facts = Facts(images=IMAGE if images is None else images, titles=TITLES if locale == "ru" else {})
    lines = build_mongo_lines(call, facts, Reader(names=_LabelNames(), locale=locale, zone="Europe/Moscow"))
    return [f"{line.name}: {line.before} → {line.after}" if line.before else f"{line.name}: {line.after}" for line in lines]


@pytest.mark.parametrize(
    ("query", "ru", "en"),
    [
        ({"status": "new"}, "Статус = new", "status = new"),
        ({"status": {"$ne": ""}, "sum": {"$gte": 5, "$lt": 9}}, "Статус — не пусто; sum ≥ 5; sum < 9", "status is not empty; sum ≥ 5; sum < 9"),
        ({"status": {"$in": ["a", "b"]}}, "Статус — одно из: a, b", "status is one of: a, b"),
        ({"a": {"$nin": [1]}, "b": {"$exists": False}}, "a — ни одно из: 1; нет поля b", "a is none of: 1; lacks the field b"),
        ({"$or": [{"a": 1}, {"b": 2, "c": {"x": 1}}]}, '(a = 1) или (b = 2; c = {"x":1})', '(a = 1) or (b = 2; c = {"x":1})'),
        ({"$nor": [{"a": {"$size": 2}}]}, "ни одно из: a: элементов 2", "none of: a has 2 elements"),
        ({"a": {"$not": {"$gt": 5}}}, "не (a > 5)", "not (a > 5)"),
        ({"a": {"$elemMatch": {"k": "x", "n": {"$gt": 1}}}}, "a: есть элемент (k = x; n > 1)", "a: has an element (k = x; n > 1)"),
        ({"a": {"$elemMatch": {"$gt": 1}}}, "a: есть элемент (> 1)", "a: has an element (> 1)"),
        ({"a": {"$elemMatch": {"$or": [{"x": 1}, {"y": {"$lt": 2}}]}}}, "a: есть элемент ((x = 1) или (y < 2))",
         "a: has an element ((x = 1) or (y < 2))"),
        ({"a": {"$not": {"$elemMatch": {"$and": [{"x": 1}]}}}}, "не (a: есть элемент (x = 1))", "not (a: has an element (x = 1))"),
        ({"at": {"$lt": {"$date": "2026-11-24T10:00:00Z"}}}, "at < вт, 24 ноября 2026, 13:00", "at < Tue, 24 November 2026, 13:00"),
        ({"at": {"$date": "2026-11-24T10:00:05.120Z"}, "vip": True}, "at = вт, 24 ноября 2026, 13:00:05.12; vip = да",
         "at = Tue, 24 November 2026, 13:00:05.12; vip = yes"),
        ({"_id": {"$in": ["x", {"$oid": "65f0c0ffee0123456789abcd"}]}}, "номер записи — одно из: x, 65f0c0ffee0123456789abcd",
         "entry id is one of: x, 65f0c0ffee0123456789abcd"),
        ({"a": "x\u202ey"}, "a = x⟨U+202E⟩y", "a = x⟨U+202E⟩y"),
    ],
)  # fmt: skip
def test_a_condition_is_said_in_words(query: dict[str, Any], ru: str, en: str) -> None:
    many = {"deals": {"count": 3, "ids": [1, 2, 3]}}
    assert show("delete_many", {"query": query}, many) == [f"Условие: {ru}", "Подходит записей: 3"]
    assert show("delete_many", {"query": query}, many, "en") == [f"Condition: {en}", "Matching entries: 3"]


def test_a_change_shows_old_and_new_of_each_field() -> None:
    update = {
        "$set": {"status": "done", "deep.place": {"x": 1}},
        "$unset": {"client": ""},
        "$inc": {"sum": -3, "visits": 1},
        "$push": {"tags": "b"},
        "$addToSet": {"list": {"k": 1}},
        "$pull": {"tags2": "a"},
    }
    assert show("update_one", {"query": {"_id": 7}, "update": update}) == [
        "Запись: 7",
        "Статус: new → done",
        'deep.place: пусто → {"x":1}',
        "Клиент: Ромашка → (удалить поле)",
        "sum: 10 → 7 (−3)",
        "visits: прибавить 1",
        "tags: a → добавить в список: b",
        'list: добавить в список, если его там нет: {"k":1}',
        "tags2: убрать из списка: a",
    ]


def test_a_field_that_has_its_new_value_already_says_so() -> None:
    update = {"$set": {"status": "new", "sum": "10"}}
    assert show("update_one", {"query": {"_id": 7}, "update": update})[1:] == ["Статус: new (уже так)", "sum: 10 → 10"]


def test_new_documents_are_shown_whole_without_their_id() -> None:
    assert show("insert_one", {"document": {"client": "Ромашка", "n": None}}, {}) == ["Клиент: Ромашка", "n: пусто"]
    assert show("insert_many", {"documents": [{"a": 1, "b": "x"}, {"a": 2}]}, {}, "en") == [
        "Entries: 2",
        "Entry 1: a: 1; b: x",
        "Entry 2: a: 2",
    ]


def test_a_deletion_shows_what_is_lost() -> None:
    shown = show("delete_one", {"query": {"_id": 7}})
    assert shown == ["Статус: new", "sum: 10", "tags: a", "Клиент: Ромашка"]
    long = {"deals/7": {"_id": 7, "$other": "abc"}}
    assert show("delete_one", {"query": {"_id": 7}}, long) == ["Запись: слишком длинная, целиком не показана"]


def test_nothing_that_matches_is_said_too() -> None:
    shown = show("update_one", {"query": {"a": 1}, "update": {"$set": {"b": 2}}}, {})
    assert shown == ["Условие: a = 1", "Подходит записей: 0", "b: 2"]


def test_the_same_request_has_the_same_essence_and_its_own_id() -> None:
    """So that it is recognized when it is proposed again, and never stored twice."""
    method = METHODS["mongo.insert_one"]
    requests = [KindRequest(method=method, effect_id=one, person="") for one in ("x", "y")]
    made = [mongo.normalize_params(one, {"collection": "deals", "document": {"a": 1}}) for one in requests]
    assert [one["document"]["_id"] for one in made] == ["x", "y"]
    assert len({mongo.MONGO.build_essence(method.spec.name, one) for one in made}) == 1
    assert mongo.normalize_params(requests[0], made[0]) == made[0]
