"""One field on the page; typing goes on to the document after a pause."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import replace
from typing import Final

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from bot.console.definitions.form.fields import NO, YES, Field, FieldRefused
from bot.console.definitions.form.rows_view import RowsView
from bot.console.definitions.form.suggestions import suggest
from bot.console.visit import Visit
from bot.console.widgets import cut_text
from bot.plugins.choices import Choice
from orchestrator.domain.finding import Finding, Path

_PAUSE: Final = 300
"""Milliseconds without typing."""
_MANY: Final = 8
_LONGEST_MESSAGE: Final = 600
_LONGEST_LABEL: Final = 200
Enter = Callable[["FieldView", str], Awaitable[None]]
LookAt = Callable[["FieldView"], None]
Refused = MutableMapping[Path, tuple[str, FieldRefused]]
"""By places of fields: it outlasts that a field is folded or drawn anew."""


class FieldView:
    def __init__(self, visit: Visit, field: Field, enter: Enter, refused: Refused, look_at: LookAt) -> None:
        """`enter` gets each text, `refused` has those not taken, and `look_at` is called when somebody comes to it."""
        self._visit, self._enter, self._refused = visit, enter, refused
        self.field = field
        typed, refusal = refused.get(field.path, (field.value, None))
        self._typed = typed
        """What the page shows, as far as the server knows."""
        self._refusal = self._explain(refusal) if refusal is not None else ""
        self._note = ""
        self._findings: Sequence[Finding] = ()
        self._is_wide = field.kind in {"text", "words", "json", "any", "pairs", "items", "code"} or bool(field.hint)
        with ui.element("div").classes("form-field form-wide" if self._is_wide else "form-field") as box:
            box.on("focusin", lambda: look_at(self), args=[])
            self._input = self._draw_input()
            self._message = ui.label().classes("form-message").props("aria-live=polite dir=auto")
        self._show_messages()

    def matches(self, field: Field) -> bool:
        """With perhaps another value, so that it need not be drawn anew."""
        mine = self.field
        return (mine.path, mine.kind, mine.label, bool(mine.usual)) == (field.path, field.kind, field.label, bool(field.usual))

    def update(self, field: Field) -> None:
        """What is being typed stays."""
        before, self.field = self.field, field
        if self._input_options(before) != self._input_options(field) and isinstance(self._input, ui.select):
            self._typed = field.value
            self._input.set_options(self._input_options(field), value=field.value)
        elif before.value != field.value:
            self._show_value(field.value)
        if before.hint != field.hint and isinstance(self._input, ValidationElement):
            self._input.props["hint"] = self._build_hint()

    def reset(self) -> None:
        """Shows the document's value in place of what was typed."""
        self._show_value(self.field.value, is_forced=True)

    def take(self, value: str, note: str = "") -> None:
        """The document has taken `value`; `note` says what else changed."""
        self.field = replace(self.field, value=value)
        self._note = note or self._note
        self._forget_refusal()
        self._show_messages()

    def _forget_refusal(self) -> None:
        self._refusal = ""
        self._refused.pop(self.field.path, None)

    def refuse(self, refusal: FieldRefused) -> None:
        """It stays in the field until the person has mended it."""
        self._refused[self.field.path] = (self._typed, refusal)
        self._refusal = self._explain(refusal)
        self._show_messages()

    def _explain(self, refusal: FieldRefused) -> str:
        sentence = self._visit.say_notice(refusal.notice)
        is_far = refusal.line > 1 or refusal.column > 1
        return self._visit.say("console-form-at", line=refusal.line, column=refusal.column, said=sentence) if is_far else sentence

    def show_findings(self, findings: Sequence[Finding]) -> None:
        if list(findings) != list(self._findings):
            self._findings = findings
            self._show_messages()

    def _show_value(self, value: str, *, is_forced: bool = False) -> None:
        self._forget_refusal()
        if value != self._typed or is_forced:
            self._typed = value
            if isinstance(self._input, ui.checkbox):
                self._input.set_value(self._is_on(value))
            else:
                self._input.set_value(value)
        self._show_messages()

    def _show_messages(self) -> None:
        errors = [self._refusal] if self._refusal else []
        others: list[str] = []
        for finding in self._findings:
            (errors if finding.severity == "error" else others).append(self._visit.tr.translate_notice(finding.notice))
        messages = errors or others or ([self._note] if self._note else [])
        self._message.set_text(cut_text("\n".join(messages), limit=_LONGEST_MESSAGE))
        self._message.set_visibility(bool(messages))
        self._message.classes(remove="form-bad form-warn", add="form-bad" if errors else "form-warn" if others else "")
        if isinstance(self._input, ValidationElement):
            self._input.props["error"] = bool(errors) or None

    def _build_hint(self) -> str:
        usual = self.field.usual if self.field.kind not in {"boolean", "choice"} else ""
        usual_hint = self._visit.say("console-form-usual", value=usual) if usual else ""
        return cut_text("  ".join(one for one in (self.field.hint, usual_hint) if one), limit=_LONGEST_MESSAGE)

    def _input_options(self, field: Field) -> dict[str, str]:
        choices: Sequence[Choice] = field.choices
        if field.kind == "boolean":
            codes = {"": "console-form-open", YES: "console-form-yes", NO: "console-form-no"}
            choices = [Choice(value, self._visit.say(code)) for value, code in codes.items()]
        words = {choice.value: cut_text(choice.label, limit=_LONGEST_LABEL) for choice in choices}
        if field.usual and "" in words and field.usual in words:
            words[""] = self._visit.say("console-form-usual-choice", value=words[field.usual])
        return words

    def _is_on(self, value: str) -> bool:
        return (value or self.field.usual) == YES

    def _draw_input(self) -> ui.checkbox | ui.select | ui.input | ui.codemirror | RowsView:
        field = self.field
        label = self._visit.say("console-form-required", label=field.label) if field.is_required else field.label
        if self.field.kind == "boolean" and bool(self.field.usual):
            return ui.checkbox(label, value=self._is_on(field.value), on_change=lambda event: self._hear(YES if event.value else NO))
        if field.kind in {"pairs", "items"}:
            return RowsView(self._visit, replace(field, value=self._typed), label, self._hear, self.refuse)
        if field.kind == "code":
            return self._draw_code(label)
        element = self._draw_select(label) if field.kind in {"choice", "boolean"} else self._draw_text(label)
        element.props("outlined dense").without_auto_validation().classes("full")
        element.props["hint"] = self._build_hint()
        return element

    def _draw_select(self, label: str) -> ui.select:
        options, value = self._input_options(self.field), self._typed
        element = ui.select(options, label=label, value=value if value in options else None, with_input=len(options) > _MANY)
        element.on_value_change(lambda event: self._hear(str(event.value or "")))
        return element.props("options-dense")

    def _draw_code(self, label: str) -> ui.codemirror:
        ui.label(label).classes("form-label")
        code = ui.codemirror(self._typed, language="Python", theme="githubLight", indent="    ", line_wrapping=True)
        code.on_value_change(lambda event: self._hear(str(event.value or "")))
        return code.classes("form-script")

    def _draw_text(self, label: str) -> ui.input:
        field = self.field
        element = ui.input(label, value=self._typed, on_change=lambda event: self._hear(str(event.value or "")))
        element.props(f"debounce={_PAUSE}")
        if field.kind == "line":
            suggest(element, field.choices)
        if field.kind in {"text", "words", "json", "any"}:
            element.props("type=textarea autogrow").classes("form-code" if field.kind == "json" else "form-long")
        elif field.kind in {"number", "integer"} and not field.is_open:
            element.props("inputmode=decimal")
        return element

    async def _hear(self, typed: str) -> None:
        if typed != self._typed:
            self._typed = typed
            await self._enter(self, typed)
