"""The readings of words among which the owner of a company chooses, what is said of each, and the plans of the company."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import yaml

from orchestrator.analytics.question import is_plan_amount
from orchestrator.domain.errors import SettingsError
from orchestrator.language.text import Locale

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "analytics"
_KEYS: Final = ("choices", "plan")
_ANY_MONTH: Final = ""
_MONTH: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Definitions:
    """`choices`: which reading counts, by the name of the word. The sentences come from the shipped file."""

    choices: Mapping[str, str]
    sentences: Mapping[str, Mapping[str, str]]
    """By "word.reading" or "subject.measure", then by language."""
    plans: Mapping[str, float] = field(default_factory=dict)
    """How much is to be won in a month such as "2026-11"; "" is any month."""

    def find_sentence(self, code: str, locale: Locale) -> str:
        """ "" if nothing is said of it."""
        return self.sentences.get(code, {}).get(locale, "")

    def find_plan(self, month: str) -> float | None:
        """Of a month such as "2026-11"; None if there is none."""
        return self.plans.get(month, self.plans.get(_ANY_MONTH))

    def find_choice_sentence(self, word: str, locale: Locale) -> str:
        return self.find_sentence(f"{word}.{self.choices[word]}", locale)


def load_definitions(path: Path | None = None) -> Definitions:
    """`path` is NUMBERS_FILE, in which the company chooses among the readings and says its plans. Raises SettingsError."""
    shipped = load_shipped()
    if path is None:
        return shipped
    try:
        content = read_data_file(path)
        _refuse_unknown("", content, _KEYS)
        return Definitions(_read_choices(content.get("choices", {})), shipped.sentences, _read_plans(content.get("plan", {})))
    except SettingsError as error:
        raise SettingsError(f"NUMBERS_FILE {path.name}: {error.reason.removeprefix(f'{path}: ')} (docs/numbers.md)") from None


def _read_choices(chosen: object) -> dict[str, str]:
    shipped = load_shipped()
    readings = _list_readings(shipped)
    if not isinstance(chosen, Mapping):
        raise SettingsError(f"choices: must be a table, such as {{average: with_zeros}}; words: {', '.join(readings)}")
    _refuse_unknown("choices", chosen, tuple(readings))
    for word, reading in chosen.items():
        if reading not in readings[word]:
            raise SettingsError(f"choices: {word}: write one of {', '.join(readings[word])}, not {reading!r}")
    return {**shipped.choices, **chosen}


def _read_plans(plans: object) -> dict[str, float]:
    if is_plan_amount(plans):
        return {_ANY_MONTH: float(cast("float", plans))}
    if isinstance(plans, Mapping) and all(_MONTH.fullmatch(str(month)) and is_plan_amount(amount) for month, amount in plans.items()):
        return {str(month): float(amount) for month, amount in plans.items()}
    raise SettingsError("plan: write the amount of a month, such as 8000000, or one for each month, such as {2026-11: 8000000}")


def _refuse_unknown(place: str, table: Mapping[Any, object], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise SettingsError(f"{place + ': ' if place else ''}there is no {key!r}; write {', '.join(known)}")


def _list_readings(definitions: Definitions) -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(code.partition(".")[2] for code in definitions.sentences if code.startswith(f"{word}.")) for word in definitions.choices
    }


@cache
def load_shipped() -> Definitions:
    content = read_data_file(FOLDER / "definitions.yaml")
    choices: dict[str, str] = {}
    sentences: dict[str, Mapping[str, str]] = {}
    for word, choice in content["choices"].items():
        choices[word] = choice["usual"]
        sentences |= {f"{word}.{reading}": texts for reading, texts in choice["readings"].items()}
    for subject, measures in content["measures"].items():
        sentences |= {f"{subject}.{measure}": texts for measure, texts in measures.items()}
    return Definitions(choices, sentences)


def read_data_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise SettingsError(f"{path}: no valid YAML{place}: look at indents, colons, quotes and brackets") from None
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"{path}: cannot be read ({type(error).__name__}); check the path and the encoding (UTF-8)") from None
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: must be a table")
    return content
