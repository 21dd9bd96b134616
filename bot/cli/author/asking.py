"""What a flow or workflow is started with in the terminal: values of options, and answers to a question for each that they lack."""

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from bot.cli.ops import escape_text
from bot.i18n.translate import Translator
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.suggestions import suggest_name
from orchestrator.engines.runs import Option
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import build_options, explain_mistake, read_answer
from state.canonical import to_storable_text
from state.stored import JsonObject


def split_parameters(given: Sequence[str]) -> dict[str, str]:
    """Return the texts of options such as client=Ромашка by name. Raises SettingsError."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise SettingsError(escape_text(f"--param {one!r}: a value such as client=Romashka is needed"))
        if name in found:
            raise SettingsError(escape_text(f"--param {name} is given twice"))
        found[name] = to_storable_text(value)
    return found


def collect_parameters(declared: Sequence[LaunchParameter], given: Mapping[str, str], stdin: TextIO | None, tr: Translator) -> JsonObject:
    """Return the launch parameters: those given, and what is typed for the others. What may be left out may be.

    Raises SettingsError for one that is unknown or does not fit, and if the input ends before a required one.
    """
    names = [one.name for one in declared]
    for name in given:
        if name not in names:
            meant = suggest_name(name, names)
            raise SettingsError(escape_text(f"--param {name}: there is no such parameter{f', perhaps {meant}' if meant else ''}"))
    values: dict[str, object] = {}
    for one in declared:
        read = _read_given(one, given[one.name], tr) if one.name in given else _ask(one, stdin, tr)
        if read is not None:
            values[one.name] = read
    return values


def _read_given(one: LaunchParameter, text: str, tr: Translator) -> object:
    found = _read(one, _list_choices(one, tr), text)
    if found is None:
        known = ", ".join(option.label for option in _list_choices(one, tr))
        told = f"--param {one.name}: {tr.translate_notice(explain_mistake(one, text))}"
        raise SettingsError(escape_text(f"{told} ({known})" if known else told))
    return found


def _list_choices(one: LaunchParameter, tr: Translator) -> list[Option]:
    """Return the values of which one is chosen, none if it is typed."""
    options = build_options(one, tr.locale) if one.choices or one.type == "boolean" else ()
    return [option for option in options if option.value is not None]


def _read(one: LaunchParameter, choices: Sequence[Option], text: str) -> object:
    """Return what was typed as a value, None if it is none."""
    written = text.strip()
    chosen = next((option.value for option in choices if written == option.label), None)
    return chosen if chosen is not None else read_answer(one, written)


def _ask(one: LaunchParameter, stdin: TextIO | None, tr: Translator) -> object:
    """Return what a person types, None for what is left out. Raises SettingsError if the input ends."""
    choices = _list_choices(one, tr)
    may_lack = one.default is not None or not one.required
    _write_question(one, choices, tr, may_lack=may_lack)
    while True:
        line = stdin.readline() if stdin is not None else ""
        typed = to_storable_text(line).strip()
        if not typed and may_lack:
            return None
        if not line:
            raise SettingsError(escape_text(f"the input ended before the parameter {one.name} was given: --param {one.name}=…"))
        is_number = bool(choices) and typed.isascii() and typed.isdecimal() and 0 < int(typed[:4]) <= len(choices)
        found = choices[int(typed) - 1].value if is_number else _read(one, choices, typed)
        if found is not None:
            return found
        sys.stderr.write(escape_text(f"{tr.translate_notice(explain_mistake(one, typed))}\n> "))
        sys.stderr.flush()


def _write_question(one: LaunchParameter, choices: Sequence[Option], tr: Translator, *, may_lack: bool) -> None:
    lines = [one.description or one.name, *(f"  {number}. {option.label}" for number, option in enumerate(choices, start=1))]
    if may_lack:
        has_none = one.default is None
        lines.append(tr.translate("author-may-lack") if has_none else tr.translate("author-default", value=str(one.default)))
    sys.stderr.write(escape_text("\n".join(lines) + "\n> "))
    sys.stderr.flush()
