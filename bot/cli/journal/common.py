"""The opened journal, names of people, and errors as a sentence and an exit code."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import typer

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bot.access.access import load_access
from bot.cli.inputs import format_time
from bot.cli.ops import open_tolerant_reader
from bot.i18n.translate import Translator
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.features.people.registry import STREAM as REGISTRY
from orchestrator.gate.call.policy import SHIPPED, load_policy
from orchestrator.reports.reading.journal_reader import AmbiguousName, InvalidMoment, Narrator, NotFound, read_stream
from state.clock import SystemClock, format_iso
from state.events.codec import UnknownEvent
from state.journal.store import Store, StoreError

NOTHING_FOUND = 1
WRONG_USE = 2


@dataclass(frozen=True, kw_only=True)
class JournalReader:
    store: Store
    voice: Narrator
    translator: Translator
    settings: Settings
    now: datetime

    def load_catalogue(self) -> Catalogue:
        """With the methods that the policy adds."""
        return _load_catalogue(self.settings.policy_file)


class _ExactTranslator(Translator):
    """Dates in UTC: a report is read in any time zone and on any day."""

    def format_time(self, moment: str | datetime, now: datetime | None = None) -> str:
        """Such as "2026-11-21 12:00:05Z"."""
        del now
        return format_time(moment if isinstance(moment, str) else format_iso(moment))


@contextlib.contextmanager
def open_journal() -> Iterator[JournalReader]:
    """Errors while it is read become one sentence on stderr and an exit code."""
    settings = load_settings()
    translator = _ExactTranslator("en", "UTC")
    try:
        with open_tolerant_reader(settings) as (store, finish):
            yield JournalReader(
                store=store,
                voice=Narrator(_build_sentences(translator), _build_name_lookup(settings, store)),
                translator=translator,
                settings=settings,
                now=SystemClock().now(),
            )
            finish()
    except NotFound as error:
        raise fail_with(str(error), NOTHING_FOUND) from None
    except (AmbiguousName, InvalidMoment, StoreError, UnknownEvent) as error:
        raise fail_with(str(error), WRONG_USE) from None
    except BrokenPipeError:  # the reader of the pipe has closed it, as `head` does
        sys.stderr.close()
        raise typer.Exit(0) from None


def fail_with(why: str, code: int) -> typer.Exit:
    """The caller raises it."""
    sys.stderr.write(f"{why}\n")
    return typer.Exit(code)


def write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@cache
def _load_catalogue(policy_file: Path | None) -> Catalogue:
    policy = load_policy(policy_file)
    return load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in policy.catalogue])


def _build_sentences(translator: Translator) -> Callable[[str, Mapping[str, Any]], str]:
    def say(code: str, args: Mapping[str, Any]) -> str:
        return translator.translate(code, **args)

    return say


def _build_name_lookup(settings: Settings, store: Store) -> Callable[[str], str]:
    """ "" for an unknown one. From the access file, then from people who joined by a link."""

    @cache
    def joined() -> Mapping[str, str]:
        return {event.data["person"]: str(event.data["name"]) for event in read_stream(store, REGISTRY) if event.type == "PersonJoined"}

    try:
        access = load_access(settings.access_file)
    except SettingsError:
        return lambda key: joined().get(key, "")

    def name_of(key: str) -> str:
        try:
            known = access.refresh_actor(Actor(key=key, name=""))
        except ValueError:  # a group, whose key is no person's
            return ""
        return known.name if known else joined().get(key, "")

    return name_of
