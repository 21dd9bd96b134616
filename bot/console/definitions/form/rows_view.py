"""An object with free keys, or a list, as rows. What is typed goes on as JSON of the whole."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from nicegui import ui

from bot.console.definitions.form.fields import Field, FieldRefused, parse_text, show_value, write_json
from bot.console.definitions.form.suggestions import suggest
from bot.console.visit import Visit
from bot.plugins.choices import Choice
from orchestrator.documents.changing import ABSENT
from orchestrator.domain.outputs import Notice

_PAUSE: Final = 300
"""Milliseconds without typing."""
Hear = Callable[[str], Awaitable[None]]
Refuse = Callable[[FieldRefused], None]


class RowsView:
    def __init__(self, visit: Visit, field: Field, label: str, hear: Hear, refuse: Refuse) -> None:
        """`hear` gets each text, `refuse` what is wrong with a row."""
        self._visit, self._field, self._hear, self._refuse = visit, field, hear, refuse
        self._is_keyed = field.kind == "pairs"
        self._rows: list[list[str]] = []
        if label:
            ui.label(label).classes("form-label")
        if field.hint:
            ui.label(field.hint).classes("muted small")
        self._place = ui.element("div").classes("form-rows")
        ui.button(visit.say("console-form-row-add"), icon="add", on_click=self._add).props("flat dense no-caps color=primary")
        self.set_value(field.value)

    def set_value(self, value: str) -> None:
        data = json.loads(value) if value else ()
        pairs = data.items() if isinstance(data, dict) else [("", one) for one in data]
        self._rows = [[key, show_value(self._field.inner, one)] for key, one in pairs]
        self._draw()

    def _draw(self) -> None:
        self._place.clear()
        with self._place:
            for number in range(len(self._rows)):
                self._draw_row(number)

    def _draw_row(self, number: int) -> None:
        key, value = self._rows[number]
        with ui.element("div").classes("form-row"):
            if self._is_keyed:
                cell = self._draw_cell(number, 0, self._field.columns[0], key)
                suggest(cell, self._field.choices)
            with ui.element("div").classes("form-value") as place:
                self._draw_value(number, value)
            if self._is_keyed and self._field.inside:
                cell.on("blur", lambda: self._change_value(number, place), args=[])
            button = ui.button(icon="close", on_click=lambda: self._remove(number)).props("flat dense round size=sm")
            button.props["aria-label"] = f"{self._visit.say('console-form-row-remove')}: {number + 1}"

    def _draw_value(self, number: int, value: str) -> None:
        inside = self._find_inside(number)
        if inside is not None:
            field = replace(self._field, path=(*self._field.path, self._rows[number][0]), value=value, hint="", choices=inside, inside={})

            async def take(typed: str) -> None:
                self._rows[number][1] = typed or "{}"
                await self._tell()

            RowsView(self._visit, field, "", take, self._refuse)
        else:
            label = self._field.columns[1] if self._is_keyed else str(number + 1)
            self._draw_cell(number, 1, label, value).props("type=textarea autogrow")

    def _find_inside(self, number: int) -> tuple[Choice, ...] | None:
        """The choices for the keys of rows in that row; None if it holds a value of another kind."""
        key, value = self._rows[number]
        is_free = not value.strip() or isinstance(_read_json(value), dict)
        return self._field.inside.get(key.strip()) if self._is_keyed and is_free else None

    def _change_value(self, number: int, place: ui.element) -> None:
        """Its key has become one that holds rows, or is none any more."""
        has_rows = any("form-rows" in one.classes for one in place.descendants())
        if number < len(self._rows) and has_rows != (self._find_inside(number) is not None):
            place.clear()
            with place:
                self._draw_value(number, self._rows[number][1])

    def _draw_cell(self, number: int, column: int, label: str, value: str) -> ui.input:
        async def type_in(typed: str) -> None:
            if number < len(self._rows) and self._rows[number][column] != typed:
                self._rows[number][column] = typed
                await self._tell()

        cell = ui.input(label, value=value, on_change=lambda event: type_in(str(event.value or "")))
        return cell.props(f"outlined dense debounce={_PAUSE}").classes("full")

    def _add(self) -> None:
        self._rows.append(["", ""])
        with self._place:
            self._draw_row(len(self._rows) - 1)

    async def _remove(self, number: int) -> None:
        del self._rows[number]
        self._draw()
        await self._tell()

    async def _tell(self) -> None:
        """A row that is not begun yet is no part of it."""
        try:
            text = self._write()
        except FieldRefused as refusal:
            self._refuse(refusal)
        else:
            await self._hear(text)

    def _write(self) -> str:
        """ "" for no row. Raises FieldRefused."""
        begun = [row for row in self._rows if any(cell.strip() for cell in row)]
        if not begun:
            return ""
        if not self._is_keyed:
            return write_json([self._read(value) for _, value in begun])
        pairs: dict[str, object] = {}
        for key, value in begun:
            name = key.strip()
            if not name:
                raise FieldRefused(Notice(code="console-form-row-nameless"))
            if name in pairs:
                raise FieldRefused(Notice(code="console-form-row-twice", args={"name": name}))
            pairs[name] = self._read(value)
        return write_json(pairs)

    def _read(self, typed: str) -> object:
        value = parse_text(self._field.inner, typed)
        return "" if value is ABSENT else value


def _read_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
