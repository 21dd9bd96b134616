"""What a card about data for another host says: all that is sent, one field a line, in the words of the policy where it has some."""

from typing import Any

import pytest

from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds.http import list_titles
from orchestrator.gate.call.kinds.http_methods import METHODS
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.preview.call_labels import _LabelNames
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.preview.kind_lines import build_kind_view_lines, find_kind_title

URL = "https://wms.example.com/orders"
FIELDS = {"client": "Клиент", "items": "Товары", "items.sku": "Артикул", "to.city": "Город"}
TITLED = {"wms.example.com": {"title": "Склад", "fields": FIELDS}, "example.com": None}


def draw(hosts: Any, **params: Any) -> tuple[str, dict[str, list[str]]]:
    """The title and the lines of the card of a request to the warehouse."""
    spec = METHODS["http.post"].spec
    call = Call(kind="http", method=spec.name, params={"url": URL, **params}, spec=spec, classes=spec.classes, portal="")
    facts = Facts(titles=list_titles(call, Policy.model_validate({"http_hosts": hosts})))
    reader = Reader(names=_LabelNames(), locale="ru", zone="Europe/Moscow")
    return find_kind_title(call, facts, reader), {line.name: line.after.split("\n") for line in build_kind_view_lines(call, facts, reader)}


def test_the_policy_names_the_host_and_the_fields() -> None:
    """Those inside of others by their paths; what has no title stands under its own name, and the address is shown all the same."""
    body = {"client": "Ромашка", "items": [{"sku": "A-5", "n": 2}, {"sku": "B-1", "n": 1}], "to": {"city": "Тверь", "urgent": True}}
    title, lines = draw(TITLED, json=body)
    assert title == "Склад"
    assert "".join(lines["Адрес"]).replace("\u2060", "") == URL
    assert lines["Данные"] == [
        "Клиент: Ромашка", "Товары 1 · Артикул: A-5", "Товары 1 · n: 2", "Товары 2 · Артикул: B-1", "Товары 2 · n: 1", "to · Город: Тверь",
        "to · urgent: да",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "hosts", [["wms.example.com"], {"wms.example.com": None}, {"wms.example.com": {}, "http://wms.example.com": {"title": "Чужой"}}]
)
def test_a_list_of_hosts_has_no_titles_and_those_of_another_scheme_are_not_taken(hosts: Any) -> None:
    """As it was, the host itself stands in the heading."""
    title, lines = draw(hosts, json={"a": None, "b": [], "c": 1.5}, query={"q": "Ромашка & Ко", "flag": False})
    assert title.replace("\u2060", "") == "wms.example.com"
    assert (lines["Данные"], lines["Параметры"]) == (["a: пусто", "b: пусто", "c: 1.5"], ["q: Ромашка & Ко", "flag: нет"])


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ([1, "два"], ["1, два"]),
        ([{"a": 1}, 2], ["1 · a: 1", "2: 2"]),
        ("слово", ["слово"]),
        (True, ["true"]),
        ({"a": "x\nКлиент: чужой"}, ["a: x ⏎ Клиент: чужой"]),
        ({"a\nКлиент": "чужой"}, ["a ⏎ Клиент: чужой"]),
        ({"a": {"b": {"c": [[1], [2, 3]]}}}, ["a · b · c 1: 1", "a · b · c 2: 2, 3"]),
    ],
)
def test_every_shape_of_data_is_shown_and_no_text_passes_for_two_lines(body: Any, shown: list[str]) -> None:
    """Names and values are texts of strangers."""
    assert draw({}, json=body)[1]["Данные"] == shown
