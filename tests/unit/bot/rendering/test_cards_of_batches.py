"""Cards of many commands: what each does, what became of it, and what is said once for all."""

from typing import Any

import pytest

from bot.rendering.batches import build_batch_sheet
from orchestrator.domain.card_view import CARD_COMMANDS, CardView
from tests.unit.bot.rendering.card_kit import AT, RU, URL, a_batch, a_card, a_line, an_item, shown


def test_a_long_batch_comes_with_everything_in_a_file() -> None:
    sheet = build_batch_sheet(CardView.from_body(a_batch(20)), RU)
    assert sheet is not None
    assert len(sheet.rows) == len(sheet.links) == 20
    assert sheet.rows[0] == ("Сделка-1", 1, "Изменить сделку", "Ответственный", "Анна", "Борис")
    assert build_batch_sheet(CardView.from_body(a_batch(CARD_COMMANDS)), RU) is None
    assert build_batch_sheet(CardView.from_body(a_batch(20, status="executed")), RU) is None


def test_a_batch_says_its_sums_and_why_a_command_failed() -> None:
    commands = [{"key": "k1", "method": "m", "status": "success"}, {"key": "k2", "method": "m", "status": "error", "error": "Нет прав"}]
    body = a_batch(2, status="executed", executed_at=AT, commands=commands)
    body["preview"]["sum"] = "12 ₽ + 5 $"
    assert "Изменить 2 сделки: ответственный\nНа сумму 12 ₽ + 5 $" in shown(body)
    assert "⚠️ «Сделка-2»: Нет прав" in shown(body)


@pytest.mark.parametrize("count", [1, 2, CARD_COMMANDS, CARD_COMMANDS + 1, 50])
@pytest.mark.req("S004-26", "S004-30")
def test_a_batch_shows_every_record_and_what_it_becomes(count: int) -> None:
    text = shown(a_batch(count))
    assert text.startswith("Изменить сделку: ответственный" if count == 1 else f"Изменить {count} сдел")
    for number in range(1, count + 1):
        assert text.count(f"{URL}{number})") == 1
    assert "Борис" in text
    assert len(text) < 4096 or count > CARD_COMMANDS


def test_many_commands_are_grouped_only_when_they_do_the_same() -> None:
    items = (
        [an_item(n) for n in range(1, 40)]
        + [an_item(n, verb="delete", lines=[]) for n in range(40, 50)]
        + [an_item(50, lines=[a_line(after="7 ₽")])]
    )
    text = shown(a_card(method="batch", preview={"items": items, "count": 50}))
    assert "Изменить сделку × 39 — Ответственный: Анна → Борис" in text
    assert "Удалить сделку × 10" in text
    assert "Изменить сделку × 1 — Сумма: 1 000 000 ₽ → 7 ₽" in text


@pytest.mark.parametrize(
    ("befores", "said"),
    [
        (["Анна"] * 16, "× 16 — Ответственный: Анна → Борис: "),
        ([""] * 16, "× 16 — Ответственный: Борис: "),
        (["Анна"] * 10 + ["—"] * 6, "× 16 — Ответственный: Анна (10), — (6) → Борис: "),
        (["Анна"] * 9 + ["Вера"] * 4 + ["Глеб"] * 3, "Ответственный: Анна (9), Вера (4), Глеб (3) → Борис: "),
        (["Дина", *["Анна"] * 9, *["Вера"] * 4, *["Глеб"] * 3], "Анна (9), Вера (4), Глеб (3), ещё 1 другое значение (1) → Борис: "),
        ([*"абвгд" * 2, *["Анна"] * 9], "Анна (9), а (2), б (2), ещё 3 других значения (6) → Борис: "),
    ],
)
def test_a_group_says_what_stood_there_before(befores: list[str], said: str) -> None:
    """The commonest values with their counts, and how many others there are; counts always add up."""
    items = [an_item(n, lines=[a_line(name="Ответственный", before=before, after="Борис")]) for n, before in enumerate(befores, start=1)]
    assert said in shown(a_card(method="batch", preview={"items": items, "count": len(items)}))


def test_a_group_says_every_line_with_its_own_before() -> None:
    """Two fields change in each command: each is shown, and a command that changes one more stands apart."""
    both = [a_line(name="Сумма", before="1 ₽", after="2 ₽"), a_line(name="Стадия", before="Новая", after="Успех")]
    items = [*(an_item(n, lines=both) for n in range(1, 17)), an_item(17, lines=[*both, a_line(name="Почта", before="a", after="b")])]
    text = shown(a_card(method="batch", preview={"items": items, "count": 17}))
    assert "× 16 — Сумма: 1 ₽ → 2 ₽; Стадия: Новая → Успех: " in text
    assert "× 1 — Сумма: 1 ₽ → 2 ₽; Стадия: Новая → Успех; Почта: a → b: " in text


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.req("S004-71")
def test_a_finished_batch_marks_each_command_and_counts_the_failed(count: int) -> None:
    states = ["success", "error", "not_run", *["success"] * (count - 3)]
    commands = [{"key": f"k{n}", "method": "crm.deal.update", "status": state} for n, state in enumerate(states, start=1)]
    text = shown(a_batch(count, status="executed", approved_by_name="Анна", executed_at=AT, commands=commands))
    assert f"Выполнено не всё: 2 из {count}" in text
    assert (text.count("✅ "), text.count("⚠️ "), text.count("⏸ ")) == (count - 2, 2, 1)
    good = [{**command, "status": "success"} for command in commands]
    assert "не всё" not in shown(a_batch(count, status="executed", executed_at=AT, commands=good))


@pytest.mark.parametrize(
    ("status", "states", "said"),
    [
        ("executed", ["success", "unknown"], "❓ Исход части пакета неизвестен (1 из 2): выполнено 1. Проверьте записи с ❓"),
        ("executed", ["success", "unknown", "error"], "❓ Исход части пакета неизвестен (1 из 3): выполнено 1, не выполнено 1. Проверьте"),
        ("unknown", ["success", "unknown", "unknown"], "❓ Исход части пакета неизвестен (2 из 3): выполнено 1. Проверьте"),
        ("unknown", ["success", "not_run"], "⚠️ Проверил: выполнено 1 из 2, не выполнено 1"),
    ],
)
def test_a_batch_of_which_a_part_is_unknown_does_not_stand_as_done(status: str, states: list[str], said: str) -> None:
    """It read «не прошли» of commands of which nobody knows whether they ran; each command still has its mark."""
    commands = [{"key": f"k{n}", "method": "crm.deal.update", "status": state} for n, state in enumerate(states, start=1)]
    text = shown(a_batch(len(states), status=status, approved_by_name="Анна", executed_at=AT, commands=commands))
    assert f"\n{said}" in text
    assert "не прошли" not in text
    marks = [text.count(f". {mark} ") for mark in ("✅", "❓", "⏸", "⚠️")]
    assert marks == [states.count(state) for state in ("success", "unknown", "not_run", "error")]


def test_a_reason_of_many_commands_is_said_once() -> None:
    def because(key: str, field: str) -> dict[str, Any]:
        return {
            "code": "gate-batch-asks",
            "args": {"key": key, "reason": "gate-critical", "field": field, "method": "crm.deal.update", "text": "x"},
        }

    reasons = [because("a", "OPPORTUNITY"), because("b", "OPPORTUNITY"), because("c", "STAGE_ID"), {"code": "gate-model-asks"}]
    text = shown(a_batch(2, reasons=reasons))
    assert text.count("Меняются: сумма, стадия") == 1
    assert "Меняются: сумма, стадия. Бот не уверен" in text


@pytest.mark.parametrize(
    ("items", "heading"),
    [
        ([("crm.timeline.comment.add", "add", "comment")] * 2, "Добавить 2 комментария"),
        ([("crm.deal.delete", "delete", "deal")] * 5, "Удалить 5 сделок"),
        ([("tasks.task.add", "add", "task")] * 21, "Поставить 21 задачу"),
        ([("crm.deal.contact.delete", "action", "deal")] * 3, "Отвязать контакт от сделки × 3"),
        ([("crm.deal.list", "list", "deal"), ("crm.deal.update", "update", "deal")], "Изменить сделку: ответственный"),
        ([("crm.timeline.comment.add", "add", "comment"), ("crm.deal.update", "update", "deal")], "Добавить комментарий в карточку, изменить сделку"),
        ([("crm.lead.add", "add", "lead"), ("crm.deal.add", "add", "deal"), ("tasks.task.add", "add", "task"), ("user.add", "add", "user")], "4 изменения"),
    ],
)  # fmt: skip
def test_the_heading_of_a_batch_says_what_it_does_and_never_another_act(items: list[tuple[str, str, str]], heading: str) -> None:
    shown_items = [an_item(n, method=method, verb=verb, entity=kind) for n, (method, verb, kind) in enumerate(items)]
    text = shown(a_card(method="batch", preview={"verb": "batch", "lines": [], "items": shown_items, "count": len(items)}))
    assert text.splitlines()[0] == heading


def test_a_record_that_a_batch_changes_twice_is_counted_once() -> None:
    """Two commands about one deal are no change of two deals."""
    same = [an_item(n, method="crm.deal.update", verb="update", entity="deal", record="deal:481") for n in range(2)]
    other = an_item(2, method="crm.deal.update", verb="update", entity="deal", record="deal:412")
    headings = [
        shown(a_card(method="batch", preview={"verb": "batch", "lines": [], "items": items, "count": len(items)})).splitlines()[0]
        for items in (same, [*same, other])
    ]
    assert headings == ["Изменить сделку: ответственный", "Изменить 2 сделки: ответственный"]


def test_what_a_person_should_see_first_stands_first_and_a_read_names_its_key() -> None:
    items = [
        an_item(1, key="find", method="crm.deal.list", verb="list", title="", lines=[a_line(name="Название", before="", after="Ромашка")]),
        an_item(2, method="crm.timeline.comment.add", verb="add", entity="comment", lines=[a_line(name="Текст", before="", after="x")]),
        an_item(3, is_critical=True),
    ]
    text = shown(a_card(method="batch", preview={"verb": "batch", "lines": [], "items": items, "count": 3}))
    lines = [line.partition(" (https")[0] for line in text.splitlines()]
    assert lines[0] == "Изменить сделку, добавить комментарий в карточку"
    assert lines[2].startswith("1. Изменить сделку «Сделка-3»")
    assert lines[3].startswith("2. Найти сделки (команда find) — Название: Ромашка")


def test_records_that_the_request_does_not_name_make_one_reason() -> None:
    """Titles are read for a few of them only; those with a number are counted in the same sentence."""
    reasons = [
        {"code": "gate-taint-target", "args": {"entity": "deal", "id": number, **({"title": "Ромашка"} if number == 1 else {})}}
        for number in (1, 2, 3)
    ]
    text = shown(a_card(reasons=reasons))
    assert text.count("Бот сам выбрал") == 1
    assert "Бот сам выбрал запись «Ромашка» №1 и ещё 2" in text
