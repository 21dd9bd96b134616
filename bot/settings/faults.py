"""Which settings are missing or misspelt. Never quotes a value."""

import difflib
from collections.abc import Iterator
from typing import Final

from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError

_LIKE: Final = 0.82
"""From 0 to 1; other programs have names of their own."""


def find_misspelt(*variables: str) -> Iterator[tuple[str, str]]:
    """Pairs of an unknown name in the environment or `.env`, and the setting or variable that was probably meant."""
    known = sorted({*Settings.model_fields, *map(str.lower, variables)})
    names = {*DotEnvSettingsSource(Settings).env_vars, *EnvSettingsSource(Settings).env_vars}
    for name in sorted(names - set(known)):
        close = difflib.get_close_matches(name, known, n=1, cutoff=_LIKE)
        if close and close[0] not in names:
            yield name.upper(), close[0].upper()


def describe_misspelt(*variables: str) -> str:
    """In brackets; "" if there are none."""
    questions = "; ".join(f"{name} is set: was {meant} meant?" for name, meant in find_misspelt(*variables))
    return f" ({questions})" if questions else ""


def check_required(settings: Settings, *names: str) -> None:
    """Raises SettingsError that names every missing setting, and what was probably written instead."""
    missing = [name.upper() for name in names if getattr(settings, name) is None]
    if missing:
        plural = "settings are" if len(missing) > 1 else "setting is"
        where = "set it in the environment or in .env, see .env.example"
        raise SettingsError(f"the {plural} missing: {', '.join(missing)}{describe_misspelt()}; {where}")
