"""What a caller may set otherwise for one request (rows S004-60, A6, M4): a lower mode, and no directory but our own. Ring 3."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bot.http_api.errors import ApiError
from bot.http_api.tokens import pick_lower_mode
from orchestrator.messages import MODES, Actor, Mode


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What this installation allows."""

    allowed: bool
    mode: Mode
    folders: Mapping[str, Path]
    """STATE_DIR and LOG_DIR under the names that they have in a body."""

    def apply(self, actor: Actor, wanted: Mapping[str, str]) -> Actor:
        """The actor with the mode that was asked for; raises ApiError 400 for what is not allowed."""
        if not wanted:
            return actor
        if not self.allowed:
            raise ApiError(400, "overrides_off", f"{', '.join(wanted)} cannot be set by a request: HTTP_ALLOW_OVERRIDES is off here.")
        for name in self.folders.keys() & wanted.keys():
            self._check(name, wanted[name])
        return self._reduce_mode(actor, wanted["mode"]) if "mode" in wanted else actor

    def _reduce_mode(self, actor: Actor, wanted: str) -> Actor:
        known: dict[str, Mode] = {mode: mode for mode in get_args(Mode)}
        mode = known.get(wanted)
        if mode is None:
            raise ApiError(400, "invalid_mode", f"mode must be one of {', '.join(MODES)}.")
        highest = pick_lower_mode(self.mode, actor.max_mode)
        if pick_lower_mode(mode, highest) != mode:
            raise ApiError(400, "mode_too_high", f"mode may only be lowered: the highest here is {highest}.")
        return actor.model_copy(update={"max_mode": mode})

    def _check(self, name: str, wanted: str) -> None:
        """The base itself only: one process has one journal, and a second one would know nothing of what waits, ran or was frozen."""
        base = self.folders[name].resolve()
        try:
            found = (base / wanted).resolve() if not Path(wanted).is_absolute() else Path(wanted).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ApiError(400, "invalid_directory", f"{name} is no directory.") from None
        if found != base and base not in found.parents:
            raise ApiError(400, "directory_outside", f"{name} must lie inside the configured {name.upper()}.")
        if found != base:
            sentence = f"{name} must be the configured {name.upper()} itself: one program keeps one journal and one set of logs."
            raise ApiError(400, "directory_not_supported", sentence)
