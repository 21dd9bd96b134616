"""Which definitions a person may start, and a form of their parameters."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from nicegui import ui
from pydantic import JsonValue, ValidationError

from bot.console.runs.run_face import NO_FACE, RUN_FACE
from bot.console.runs.words import say_engine, say_refusal
from bot.console.visit import Visit
from bot.console.widgets import cut_text
from bot.http_api.runs.run_models import RunBody
from bot.http_api.server.errors import ApiError
from bot.plugins.loading import find_part
from orchestrator.engines.runs import Definition
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import PARAMETERS, TEXT
from orchestrator.engines.shared.parameters import ParameterMistake, read_parameters
from orchestrator.runs.registry import RegisteredEngine, may_choose
from orchestrator.runs.titles import find_title
from state.canonical import dumps, loads
from state.clock import generate_id

log = logging.getLogger(__name__)
_LONGEST_SUMMARY: Final = 300
_LONGEST_TITLE: Final = 80
_LONGEST_QUESTION: Final = 300
_LONGEST_LABEL: Final = 50
_RECORD: Final = "record"

Read = Callable[[], JsonValue]


class NotReadable(ValueError):
    """A field's text is no value of its type."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    engine: str
    key: str
    title: str
    summary: str
    parameters: tuple[LaunchParameter, ...] = ()
    asks_text: bool = False
    """Started with a text, as by a command."""
    takes_parameters: bool = False
    """Otherwise it asks for them itself."""
    record: str = ""
    """The kind of a workflow's record, whose number is one more parameter."""


async def list_choices(visit: Visit) -> list[Choice]:
    """Sorted by engine and title."""
    engines, choices = visit.services.startable, list[Choice]()
    for engine, registered in engines.runs.items():
        for definition in await engines.definitions.list_all(engine):
            try:
                choices.extend(_build_choice(visit, engine, registered, definition))
            except Exception:  # an engine that cannot read its own definition hides no other
                log.exception("a definition cannot be offered", extra={"action": "choice_failed", "definition": definition.key})
    return sorted(choices, key=lambda each: (each.engine, each.title.casefold()))


def _build_choice(visit: Visit, engine: str, registered: RegisteredEngine, definition: Definition) -> Iterator[Choice]:
    """Empty if the person may not start it."""
    if not may_choose(visit.actor, registered, definition.document):
        return
    title = find_title(definition.document, registered) or definition.key
    summary = " ".join(registered.describe(definition.document)[1].split())[:_LONGEST_SUMMARY]
    face = find_part(RUN_FACE, engine) or NO_FACE
    launch = face.read_launch(definition.document)
    takes = face.takes_parameters and registered.is_for_programs(definition.document)
    choice = Choice(engine=engine, key=definition.key, title=title, summary=summary, parameters=launch.parameters)
    yield replace(choice, record=launch.record, takes_parameters=takes, asks_text=not face.takes_parameters)


@dataclass
class _Form:
    """`reads` give values; a field that cannot be read raises NotReadable."""

    choice: Choice
    reads: dict[str, Read] = field(default_factory=dict)
    fields: dict[str, ui.element] = field(default_factory=dict)


class StartDialog:
    def __init__(self, visit: Visit, choices: list[Choice], *, chosen: str = "") -> None:
        """Closed; `chosen` is "engine/key"."""
        self._visit, self._choices = visit, {f"{choice.engine}/{choice.key}": choice for choice in choices}
        self._key = generate_id()
        self._form: _Form | None = None
        with ui.dialog() as self.dialog, ui.card().classes("ask ask-wide"):
            ui.label(visit.say("console-runs-start-title")).classes("strong").props("role=heading aria-level=2")
            titles = {name: f"{say_engine(visit, one.engine)} · {one.title[:_LONGEST_TITLE]}" for name, one in self._choices.items()}
            select = ui.select(titles, label=visit.say("console-runs-start-what"), on_change=lambda event: self._choose(event.value))
            select.props("outlined dense options-dense").classes("full")
            self._place = ui.element("div").classes("job-form")
            with ui.element("div").classes("acts"):
                ui.button(visit.say("console-no"), on_click=self.dialog.close, color=None).props("flat no-caps")
                ui.button(visit.say("console-runs-start"), icon="play_arrow", on_click=self._start, color=None).props(
                    "unelevated no-caps"
                ).classes("act-main")
        if chosen in self._choices:
            select.set_value(chosen)

    def _choose(self, name: str | None) -> None:
        choice = self._choices.get(name or "")
        self._place.clear()
        self._form, self._key = (_Form(choice), generate_id()) if choice is not None else (None, self._key)
        if self._form is None or choice is None:
            return
        with self._place:
            if choice.summary:
                ui.label(choice.summary).classes("muted small").props("dir=auto")
            self._draw_fields(self._form)

    def _draw_fields(self, form: _Form) -> None:
        visit, choice = self._visit, form.choice
        if choice.asks_text:
            text = ui.textarea(label=visit.say("console-runs-start-text")).props("outlined dense autogrow maxlength=20000")
            form.reads[TEXT], form.fields[TEXT] = (lambda: str(text.value or "")), text
            return
        if not choice.takes_parameters:
            ui.label(visit.say("console-runs-start-asks")).classes("muted small")
            return
        if choice.record:
            number = ui.input(label=visit.say("console-runs-start-record", kind=choice.record)).props("outlined dense inputmode=numeric")
            form.reads[choice.record], form.fields[choice.record] = (lambda: str(number.value or "").strip() or None), number
        for parameter in choice.parameters:
            self._draw_field(form, parameter)

    def _draw_field(self, form: _Form, parameter: LaunchParameter) -> None:
        visit = self._visit
        is_optional = not parameter.required or parameter.default is not None
        label = cut_text(parameter.description or parameter.name, limit=_LONGEST_QUESTION)
        label += f" ({visit.say('console-runs-optional')})" if is_optional else ""
        if is_long := len(label) > _LONGEST_LABEL:  # a field would cut it
            ui.label(label).classes("small").props("dir=auto aria-hidden=true")
        drawn, read = self._draw_input(parameter, "" if is_long else label)
        drawn.props["aria-label"] = label
        if parameter.default is not None and parameter.type != "boolean" and not (parameter.choices and parameter.required):
            drawn.props["hint"] = visit.say("console-runs-default", value=cut_text(_write_default(parameter), limit=_LONGEST_TITLE))
        elif parameter.type in {"array", "object"} and not parameter.choices:
            drawn.props["hint"] = visit.say("console-runs-lines" if parameter.type == "array" else "console-runs-json")
        form.reads[parameter.name], form.fields[parameter.name] = read, drawn.classes("full")

    def _draw_input(self, parameter: LaunchParameter, label: str) -> tuple[ui.element, Read]:
        """The field, and what reads its value."""
        if parameter.choices:
            options = {str(place): cut_text(str(choice), limit=_LONGEST_QUESTION) for place, choice in enumerate(parameter.choices)}
            first = next((str(place) for place, choice in enumerate(parameter.choices) if choice == parameter.default), None)
            chosen = ui.select(options, label=label, value=first, clearable=not parameter.required).props("outlined dense options-dense")
            return chosen, lambda: parameter.choices[int(chosen.value)] if chosen.value is not None else None
        if parameter.type == "boolean":
            switch = ui.checkbox(label, value=bool(parameter.default))
            return switch, lambda: bool(switch.value)
        if parameter.type == "number":
            number = ui.number(label=label, value=parameter.default if isinstance(parameter.default, int | float) else None).props(
                "outlined dense"
            )
            return number, lambda: _read_number(number.value)
        text = ui.textarea(label=label, value=_write_default(parameter)).props("outlined dense autogrow maxlength=20000")
        if parameter.type == "string":
            return text, lambda: str(text.value) if text.value else None
        text.classes("mono")
        return text, lambda: _read_list(text.value) if parameter.type == "array" else _read_json(text.value)

    async def _start(self) -> None:
        visit, form = self._visit, self._form
        if form is None:
            self._tell(visit.say("console-runs-start-choose"))
            return
        values = self._read(form)
        if values is None:
            return
        choice = form.choice
        args: dict[str, JsonValue] = {PARAMETERS: values} if choice.takes_parameters else {name: one for name, one in values.items() if one}
        try:
            body = RunBody(engine=choice.engine, definition=choice.key, args=args)
            accepted = await visit.services.run_inputs.start_run(visit.caller, body, self._key, by_person=True)
        except ApiError as error:
            self._tell(say_refusal(visit, error))
            return
        except ValidationError:
            self._tell(visit.say("console-runs-no-definition"))
            return
        self.dialog.close()
        visit.page.open(f"/runs/{accepted.id}")

    def _read(self, form: _Form) -> dict[str, JsonValue] | None:
        """None after saying at the fields what is wrong."""
        values: dict[str, JsonValue] = {}
        wrong: list[ParameterMistake] = []
        for name, read in form.reads.items():
            try:
                value = read()
            except NotReadable as error:
                wrong.append(ParameterMistake(name, "type", str(error)))
                continue
            if value is not None:
                values[name] = value
        if form.choice.takes_parameters:
            own = {name: one for name, one in values.items() if name != form.choice.record}
            wrong += read_parameters(form.choice.parameters, own)[1]
            if form.choice.record and form.choice.record not in values:
                wrong.append(ParameterMistake(form.choice.record, "missing", _RECORD))
        for name, drawn in form.fields.items():
            mistake = next((parameter_mistake for parameter_mistake in wrong if parameter_mistake.name == name), None)
            drawn.props["error"] = mistake is not None
            drawn.props["error-message"] = self._visit.say("console-runs-field", problem=mistake.problem) if mistake is not None else ""
        return values if not wrong else None

    def _tell(self, words: str) -> None:
        ui.notify(words, type="negative")


def _write_default(parameter: LaunchParameter) -> str:
    """ "" for none."""
    if parameter.default is None or isinstance(parameter.default, str):
        return parameter.default or ""
    lines = parameter.default if isinstance(parameter.default, list) and all(isinstance(item, str) for item in parameter.default) else []
    return "\n".join(lines) if lines and _read_list("\n".join(lines)) == lines else dumps(parameter.default)


def _read_number(value: object) -> JsonValue:
    if value is None or value == "":
        return None
    if not isinstance(value, int | float):
        raise NotReadable("number")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_list(text: object) -> JsonValue:
    """A list that is written as JSON as that."""
    if isinstance(text, str) and not text.strip().startswith("["):
        return [line.strip() for line in text.splitlines() if line.strip()] or None
    return _read_json(text)


def _read_json(text: object) -> JsonValue:
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        read: JsonValue = loads(text)
    except ValueError:
        raise NotReadable("JSON") from None
    return read
