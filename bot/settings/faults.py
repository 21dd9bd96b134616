"""Says in plain words which settings are missing, and which names were probably meant for settings of ours. Never quotes a value."""

import difflib
from collections.abc import Iterator
from typing import Final

from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError

_LIKE: Final = 0.82
"""The least likeness, from 0 to 1, of a name that is taken for a misspelt setting: other programs have names of their own."""


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
