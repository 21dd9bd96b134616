"""What the reading commands share: the journal opened with names and sentences, errors as one sentence with their exit code. Ring 3."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import typer

from bitrix.catalogue import Catalogue, load_catalogue
from bot.access import load_access
from bot.cli.ops import past_damage
from bot.i18n.translate import Translator
from bot.settings import Settings, load_settings
from orchestrator.errors import SettingsError
from orchestrator.gate.policy import SHIPPED, load_policy
from orchestrator.messages import Actor
from orchestrator.people.registry import STREAM as REGISTRY
from orchestrator.reports.moments import NoMoment
from orchestrator.reports.people import Voice
from orchestrator.reports.reading import NotFound, Several, paged
from state.clock import SystemClock, iso
from state.event_data import UnknownEvent
from state.store import Store, StoreError

NOTHING = 1
WRONG = 2


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The journal, and how to speak of it."""

    store: Store
    voice: Voice
    translator: Translator
    settings: Settings
    now: datetime

    def catalogue(self) -> Catalogue:
        """The methods that the bot knows, with the policy's own."""
        return _catalogue(self.settings.policy_file)


class _Exact(Translator):
    """Says moments whole and in UTC: whoever reads a report may be in any zone, on any day."""

    def clock(self, moment: str | datetime, now: datetime | None = None) -> str:
        """ "2026-11-21 12:00:05Z"."""
        del now
        return when(moment if isinstance(moment, str) else iso(moment))


@contextlib.contextmanager
def opened() -> Iterator[Reader]:
    """The journal of this installation; what cannot be answered becomes one sentence and an exit code."""
    settings = load_settings()
    translator = _Exact("en", "UTC")
    try:
        with past_damage(settings) as (store, told):
            yield Reader(
                store=store,
                voice=Voice(_sentences(translator), _names(settings, store)),
                translator=translator,
                settings=settings,
                now=SystemClock().now(),
            )
            told()
    except NotFound as error:
        raise refused(str(error), NOTHING) from None
    except (Several, NoMoment, StoreError, UnknownEvent) as error:
        raise refused(str(error), WRONG) from None
    except BrokenPipeError:  # whoever read it has seen enough
        sys.stderr.close()
        raise typer.Exit(0) from None


def refused(why: str, code: int) -> typer.Exit:
    """One sentence on stderr, and the exit to raise."""
    sys.stderr.write(f"{why}\n")
    return typer.Exit(code)


def when(ts: str) -> str:
    """ "2026-11-21 12:00:05Z" of a stored moment."""
    return f"{ts[:19].replace('T', ' ')}Z" if ts else ""


@cache
def _catalogue(policy_file: Path | None) -> Catalogue:
    policy = load_policy(policy_file)
    return load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in policy.catalogue])


def _sentences(translator: Translator) -> Callable[[str, Mapping[str, Any]], str]:
    def say(code: str, args: Mapping[str, Any]) -> str:
        return translator.say(code, **args)

    return say


def _names(settings: Settings, store: Store) -> Callable[[str], str]:
    """The names of the access file and, for others, of those who joined by a link; a file that cannot be read takes away only its own."""

    @cache
    def joined() -> Mapping[str, str]:
        return {event.data["person"]: str(event.data["name"]) for event in paged(store, REGISTRY) if event.type == "PersonJoined"}

    try:
        access = load_access(settings.access_file)
    except SettingsError:
        return lambda key: joined().get(key, "")

    def name_of(key: str) -> str:
        try:
            known = access.present(Actor(key=key, name=""))
        except ValueError:  # a group, whose key is no person's
            return ""
        return known.name if known else joined().get(key, "")

    return name_of
