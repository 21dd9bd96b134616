"""The words of data/analytics/words.yaml. A missing one is an error of the data folder."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.analytics.definitions import FOLDER, read_data_file
from orchestrator.domain.errors import SettingsError
from orchestrator.language.text import Locale

_CONTENT: Final[Mapping[str, Any]] = read_data_file(FOLDER / "words.yaml")


def find_words(section: str, locale: Locale) -> Mapping[str, Any]:
    try:
        return dict(_CONTENT[section][locale])
    except KeyError:
        raise SettingsError(f"data/analytics/words.yaml: no {section}.{locale}; copy the data folder of this version") from None


def say(section: str, code: str, locale: Locale, **args: object) -> str:
    """Raises SettingsError for a code that has no words."""
    words = find_words(section, locale)
    if code not in words:
        raise SettingsError(f"data/analytics/words.yaml: no {section}.{locale}.{code}; copy the data folder of this version")
    return str(words[code]).format(**args) if args else str(words[code])
