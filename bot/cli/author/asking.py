"""The launch parameters of a trial in the terminal: options, and answers for the rest."""

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
from orchestrator.language.run_words import read_other_words
from state.canonical import to_storable_text
from state.stored import JsonObject


def split_parameters(options: Sequence[str]) -> dict[str, str]:
    """Such as client=Ромашка. Raises SettingsError."""
    texts: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise SettingsError(escape_text(f"--param {option!r}: a value such as client=Romashka is needed"))
        if name in texts:
            raise SettingsError(escape_text(f"--param {name} is given twice"))
        texts[name] = to_storable_text(value)
    return texts


def collect_parameters(declared: Sequence[LaunchParameter], texts: Mapping[str, str], stdin: TextIO | None, tr: Translator) -> JsonObject:
    """What is typed completes `texts`. Raises SettingsError for unknown or unfit values, and if the input ends early."""
    names = [launch_parameter.name for launch_parameter in declared]
    for name in texts:
        if name not in names:
            meant = suggest_name(name, names)
            raise SettingsError(escape_text(f"--param {name}: there is no such parameter{f', perhaps {meant}' if meant else ''}"))
    values: dict[str, object] = {}
    for parameter in declared:
        read = _read_given(parameter, texts[parameter.name], tr) if parameter.name in texts else _ask(parameter, stdin, tr)
        if read is not None:
            values[parameter.name] = read
    return values


def _read_given(launch_parameter: LaunchParameter, text: str, tr: Translator) -> object:
    parsed = _read(launch_parameter, _list_choices(launch_parameter, tr), text, tr)
    if parsed is None:
        known = ", ".join(option.label for option in _list_choices(launch_parameter, tr))
        complaint = f"--param {launch_parameter.name}: {tr.translate_notice(explain_mistake(launch_parameter, text, tr.locale))}"
        raise SettingsError(escape_text(f"{complaint} ({known})" if known else complaint))
    return parsed


def _list_choices(launch_parameter: LaunchParameter, tr: Translator) -> list[Option]:
    options = build_options(launch_parameter, tr.locale) if launch_parameter.choices or launch_parameter.type == "boolean" else ()
    return [option for option in options if option.value is not None]


def _read(launch_parameter: LaunchParameter, choices: Sequence[Option], text: str, tr: Translator) -> object:
    """None if nothing was typed."""
    stripped = text.strip()
    chosen = next((option.value for option in choices if stripped == option.label), None)
    return chosen if chosen is not None else read_answer(launch_parameter, stripped, tr.locale)


def _ask(parameter: LaunchParameter, stdin: TextIO | None, tr: Translator) -> object:
    """None for what is left out. Raises SettingsError if the input ends or the person leaves."""
    choices = _list_choices(parameter, tr)
    may_lack = parameter.default is not None or not parameter.required
    _write_question(parameter, choices, tr, may_lack=may_lack)
    while True:
        line = stdin.readline() if stdin is not None else ""
        typed = to_storable_text(line).strip()
        if not typed and may_lack:
            return None
        if not line:
            raise SettingsError(escape_text(f"the input ended before the parameter {parameter.name} was given: --param {parameter.name}=…"))
        if read_other_words(typed, (option.label for option in choices)) == "leave":
            raise SettingsError(escape_text(f"{parameter.name}: left at this question, nothing was run"))
        is_number = bool(choices) and typed.isascii() and typed.isdecimal() and 0 < int(typed[:4]) <= len(choices)
        choice = choices[int(typed) - 1].value if is_number else _read(parameter, choices, typed, tr)
        if choice is not None:
            return choice
        sys.stderr.write(escape_text(f"{tr.translate_notice(explain_mistake(parameter, typed, tr.locale))}\n> "))
        sys.stderr.flush()


def _write_question(parameter: LaunchParameter, choices: Sequence[Option], tr: Translator, *, may_lack: bool) -> None:
    lines = [parameter.description or parameter.name, *(f"  {number}. {option.label}" for number, option in enumerate(choices, start=1))]
    if may_lack:
        has_none = parameter.default is None
        lines.append(tr.translate("author-may-lack") if has_none else tr.translate("author-default", value=str(parameter.default)))
    sys.stderr.write(escape_text("\n".join(lines) + "\n> "))
    sys.stderr.flush()
