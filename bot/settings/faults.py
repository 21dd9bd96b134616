"""Says in plain words what is wrong with a setting, which are missing, and which names were probably meant for them. Quotes no value."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError

_LIKE: Final = 0.82
"""The least likeness, from 0 to 1, of a name that is taken for a misspelt setting: other programs have names of their own."""
_SENTENCES: Final[Mapping[str, str]] = {
    "literal_error": "one of {expected} is needed",
    "enum": "one of {expected} is needed",
    "int_parsing": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_parsing": "a number is needed",
    "bool_parsing": "true or false is needed",
    "string_too_short": "{min_length} characters or more are needed",
    "string_too_long": "{max_length} characters or fewer are needed",
    "too_short": "{min_length} characters or more are needed",
    "too_long": "{max_length} characters or fewer are needed",
    "greater_than": "a number above {gt} is needed",
    "greater_than_equal": "{ge} or more is needed",
    "less_than": "a number below {lt} is needed",
    "less_than_equal": "{le} or less is needed",
    "finite_number": "a finite number is needed",
    "time_delta_parsing": "a duration such as 24h, 90m or 2d is needed",
    "path_type": "a path is needed",
    "url_parsing": "an address such as https://host/path is needed",
}


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Return what is needed in place of a value, for an error of pydantic; a validator of ours has said it itself."""
    context = fault.get("ctx") or {}
    if (cause := context.get("error")) is not None:
        return str(cause)
    return _SENTENCES.get(str(fault["type"]), "a value of another form is needed, see .env.example").format_map(context)


def find_misspelt(*variables: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of an unknown name in the environment or `.env` and the setting, or the one of `variables`, that was probably meant."""
    known = sorted({*Settings.model_fields, *map(str.lower, variables)})
    written = {*DotEnvSettingsSource(Settings).env_vars, *EnvSettingsSource(Settings).env_vars}
    for name in sorted(written - set(known)):
        close = difflib.get_close_matches(name, known, n=1, cutoff=_LIKE)
        if close and close[0] not in written:
            yield name.upper(), close[0].upper()


def describe_misspelt(*variables: str) -> str:
    """Return in brackets which settings, or `variables`, were probably meant by unknown names that are set; "" if none were."""
    questions = "; ".join(f"{name} is set: was {meant} meant?" for name, meant in find_misspelt(*variables))
    return f" ({questions})" if questions else ""


def check_required(settings: Settings, *names: str) -> None:
    """Raise SettingsError that names every setting of `names` that is not set, and what was probably written in its place."""
    missing = [name.upper() for name in names if getattr(settings, name) is None]
    if missing:
        plural = "settings are" if len(missing) > 1 else "setting is"
        where = "set it in the environment or in .env, see .env.example"
        raise SettingsError(f"the {plural} missing: {', '.join(missing)}{describe_misspelt()}; {where}")
