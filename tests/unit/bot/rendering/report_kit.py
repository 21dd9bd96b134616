"""Reports for tests: one of each kind of picture, and twelve whose numbers or names are a trial for a layout."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.domain.report import (
    Cell,
    ReportAnswer,
    ReportCause,
    ReportDimension,
    ReportMeasure,
    ReportPeriod,
    ReportPlan,
    ReportRow,
    Shown,
    Unit,
)

KINDS: Final[tuple[Shown, ...]] = ("bars", "funnel", "line", "matrix", "number")
NOW = ReportPeriod(first="2026-10-01", last="2026-11-28", text="октябрь – ноябрь", is_unfinished=True)
BEFORE = ReportPeriod(first="2026-07-01", last="2026-08-28", text="те же дни прошлого квартала")
PEOPLE = ("Борис Смирнов", "Жанна Белова", "Вера Лебедева", "Кирилл Дроздов", "Ирина Громова", "Захар Волков", "Лариса Ежова", "Глеб Орлов")
STAGES = ("Новая", "Подготовка документов", "Счёт на предоплату", "В работе", "Финальный счёт", "Сделка успешна")
WEEKS = ("07.09", "14.09", "21.09", "28.09", "05.10", "12.10", "19.10", "26.10", "02.11", "09.11", "16.11", "23.11")
SOURCES = ("Звонок", "Сайт", "Тендер", "Рекомендация")
_MILLION: Final = 1_000_000


def make_cell(value: float | None, before: float | None = None, *, unit: Unit = "money") -> Cell:
    """Texts as the answer builder would write them."""
    change = (value - before) / before * 100 if value is not None and before else None
    text = _say_change(change) if change is not None else "новое" if value and before == 0 else ""
    return Cell(value=value, text=_say(value, unit), before=before, before_text=_say(before, unit), change=change, change_text=text)


def _say(value: float | None, unit: Unit) -> str:
    if value is None:
        return "–"
    sign, size = ("−" if value < 0 else ""), abs(value)
    if unit == "percent":
        return f"{sign}{size:.0f} %"
    if unit == "count" or not 1000 <= size < 1e18:
        return f"{sign}{size:,.0f}".replace(",", "\u00a0")
    scale, word = next((scale, word) for scale, word in ((1e12, "трлн"), (1e9, "млрд"), (1e6, "млн"), (1e3, "тыс.")) if size >= scale)
    return sign + f"{size / scale:.1f}".replace(".", ",").removesuffix(",0") + f" {word}"


def _say_change(change: float) -> str:
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{abs(change):,.0f} %".replace(",", "\u00a0")


def make_rows(names: Sequence[str], values: Sequence[float | None], befores: Sequence[float | None] = ()) -> tuple[ReportRow, ...]:
    pairs = [*befores] or [None] * len(values)
    rows = zip(names, values, pairs, strict=True)
    return tuple(ReportRow(keys=(name,), labels=(name,), cells=(make_cell(value, before),)) for name, value, before in rows)


def make_answer(shown_as: Shown, rows: tuple[ReportRow, ...], **more: object) -> ReportAnswer:
    fields: dict[str, object] = {
        "title": "Выручка по менеджерам",
        "subtitle": "Выиграно с 1 октября, 8 из 12, ₽",
        "shown_as": shown_as,
        "measures": (ReportMeasure(code="sum", label="Выручка", unit="money", currency="RUB"),),
        "dimensions": (ReportDimension(code="person", label="Менеджер"),),
        "rows": rows,
        "total": (make_cell(sum(row.cells[0].value or 0 for row in rows), sum(row.cells[0].before or 0 for row in rows) or None),),
        "groups": len(rows),
        "records": 1403,
        "period": NOW,
        "definition": "Считал так: выигранные сделки, закрытые в периоде; сумма в рублях по курсу портала.",
        "filter_text": "воронка «Продажи»",
        "notes": ("14 сделок без суммы", "уволенные показаны вместе с остальными"),
        "as_of": "данные на 18:45",
    }
    return ReportAnswer.model_validate(fields | more)


def make_plan(*, each: float | None = None) -> ReportPlan:
    return ReportPlan(
        plan=make_cell(340e6), left=make_cell(134.6e6), done_percent=Cell(value=60.4, text="60 %"), elapsed_percent=Cell(value=64.0, text="64 %"),
        needed_a_day=make_cell(4.1e6), each=make_cell(each) if each else None,
    )  # fmt: skip


def make_bars() -> ReportAnswer:
    values = [35.3e6, 32.8e6, 30.2e6, 24.5e6, 24.1e6, 23.1e6, 18.3e6, 17.1e6]
    befores = [39.7e6, 36.0e6, 22.7e6, 14.8e6, 22.5e6, 21.4e6, 15.9e6, 13.9e6]
    return make_answer("bars", make_rows(PEOPLE, values, befores), groups=12, compared=BEFORE)


def make_funnel() -> ReportAnswer:
    numbers = (11851, 9895, 8299, 6846, 5539, 2557)
    shares = (None, *(100 * after / number for number, after in pairwise(numbers)))
    rows = tuple(
        ReportRow(keys=(name,), labels=(name,), cells=(make_cell(number, unit="count"), make_cell(share, unit="percent")))
        for name, number, share in zip(STAGES, numbers, shares, strict=True)
    )
    measures = (
        ReportMeasure(code="count", label="Сделки", unit="count"),
        ReportMeasure(code="of_before", label="от предыдущей", unit="percent"),
    )
    return make_answer("funnel", rows, title="Воронка «Продажи»", subtitle="Созданы с 1 июня, дошли до стадии", measures=measures, total=())


def make_line() -> ReportAnswer:
    values = [27.6e6, 29.8e6, 26.1e6, 25.5e6, 29.2e6, 23.4e6, 31.5e6, 26e6, 33.2e6, 34.5e6, 28e6, 9e6]
    rows = make_rows(WEEKS, values)
    rows = (*rows[:-1], rows[-1].model_copy(update={"is_unfinished": True}))
    dimensions = (ReportDimension(code="week", label="Неделя", is_time=True),)
    return make_answer(
        "line", rows, title="Выручка по неделям", subtitle="Выиграно, последняя неделя не закончена, ₽", dimensions=dimensions, plan=make_plan(each=40e6)
    )  # fmt: skip


def make_matrix(people: Sequence[str] = PEOPLE, sources: Sequence[str] = SOURCES, *, scale: float = 1e5) -> ReportAnswer:
    rows = tuple(
        ReportRow(keys=(person, source), labels=(person, source), cells=(make_cell((place * 7 + column * 13) % 40 * scale),))
        for place, person in enumerate(people)
        for column, source in enumerate(sources)
    )
    dimensions = (ReportDimension(code="person", label="Менеджер"), ReportDimension(code="source", label="Источник"))
    return make_answer("matrix", rows, title="Выручка: менеджеры и источники", dimensions=dimensions, groups=len(rows))


def make_number() -> ReportAnswer:
    causes = (ReportCause(label="Число сделок", change=make_cell(12.4e6)), ReportCause(label="Средний чек", change=make_cell(-3.1e6)))
    total = (make_cell(205.4e6, 190.2e6),)
    return make_answer("number", (), title="Выиграно в этом квартале", total=total, compared=BEFORE, plan=make_plan(), causes=causes)


MAKERS: Final[dict[Shown, Callable[[], ReportAnswer]]] = {
    "bars": make_bars, "funnel": make_funnel, "line": make_line, "matrix": make_matrix, "number": make_number,
}  # fmt: skip


def list_edges(shown_as: Shown) -> Iterator[tuple[str, ReportAnswer]]:
    """Twelve hard cases for one kind of picture."""
    long = "Отдел продаж промышленного оборудования и комплектующих для северных регионов " * 4
    marked = "\u202eкидоП\u202c\u0000 \u200f<b>&\u2066 " + "שלום 🔥 Ő"
    forty = [f"Менеджер {number}" for number in range(40)]
    for name, names, values, befores, more in (
        ("none", (), (), (), {}),
        ("one", ("Борис Смирнов",), (35.3e6,), (30e6,), {}),
        ("forty", forty, [float(40 - number) * 1e6 for number in range(40)], [float(number) * 1e6 for number in range(40)], {"plan": make_plan(each=30e6)}),
        ("long names", [long[:300], *PEOPLE[1:]], [3e6 - number * 1e5 for number in range(8)], [2e6] * 8, {"title": long[:300], "subtitle": long[:300], "as_of": long}),
        ("marks", [marked, *PEOPLE[1:4]], [3e6, 2e6, 1e6, 5e5], [2e6] * 4, {"title": marked, "subtitle": marked}),
        ("negative", PEOPLE, [-3e6, 2e6, 1e6, -5e5, 0.0, 4e6, -1e6, 7e5], [2e6, -2e6, 1e6, -4e5, -1e5, 1e6, 1e6, 3e6], {}),
        ("trillions", PEOPLE, [1e12 + number for number in range(8)], [7e11] * 8, {}),
        ("empty names", ["", " ", *PEOPLE[2:]], [3e6] * 8, [2e6] * 8, {"title": "", "subtitle": "", "period": None, "as_of": "", "notes": (), "definition": ""}),
        ("zeros", PEOPLE, [0.0] * 8, [0.0] * 8, {}),
        ("one huge", PEOPLE, [9.9e11, *[12.0] * 7], [3.0, *[11.0] * 7], {}),
        ("missing", PEOPLE, [None, 2e6, None, None, 1e6, 3e6, None, 2e6], [None, None, 2e6, None, 1e6, 2e6, None, None], {}),
        ("two lines", PEOPLE, [3e6 + number for number in range(8)], [2e6] * 8, {
            "title": "Выручка по менеджерам отдела продаж Санкт-Петербурга за квартал",
            "subtitle": "Выигранные сделки, закрытые с 1 октября по 28 ноября 2026 года, воронка «Продажи»",
            "compared": BEFORE.model_copy(update={"text": "те же пятьдесят девять дней прошлого квартала этого года"}), "plan": make_plan(each=2.5e6),
        }),
    ):  # fmt: skip
        compared: dict[str, object] = {"compared": BEFORE} if befores else {}
        yield name, _shape(shown_as, make_answer(shown_as, make_rows(names, values, befores), **compared | more))


def _shape(shown_as: Shown, answer: ReportAnswer) -> ReportAnswer:
    if shown_as == "matrix":
        rows = tuple(
            row.model_copy(update={"keys": (*row.keys, source), "labels": (*row.labels, source)})
            for row in answer.rows
            for source in (*SOURCES, "О" * 300)
        )
        return answer.model_copy(update={"rows": rows})
    if shown_as == "funnel":
        measures = (*answer.measures, ReportMeasure(code="step", label="Доля", unit="percent"))
        rows = tuple(row.model_copy(update={"cells": (*row.cells, make_cell(81, unit="percent"))}) for row in answer.rows)
        return answer.model_copy(update={"rows": rows, "measures": measures})
    if shown_as == "line" and answer.rows:
        return answer.model_copy(update={"rows": (*answer.rows[:-1], answer.rows[-1].model_copy(update={"is_unfinished": True}))})
    return answer
