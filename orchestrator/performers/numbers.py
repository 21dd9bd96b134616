"""Answers reports: sees that the mirror is there and fresh, has it counted, and reads the records behind a number."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bitrix.errors import BitrixError
from orchestrator.analytics.counting import CountingFailed
from orchestrator.analytics.labels import Names
from orchestrator.analytics.names import DIMENSION_SYNONYMS, MEASURE_SYNONYMS, STATE_SYNONYMS, SUBJECT_SYNONYMS, show_name
from orchestrator.analytics.reading import Misunderstood
from orchestrator.analytics.service import Analytics, Asker
from orchestrator.analytics.stretches import Clock as ReportClock
from orchestrator.analytics.words import say
from orchestrator.directory.answers import OutcomeView
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Table
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.language.text import Locale
from orchestrator.mirror.keeper import MirrorKeeper
from state.clock import Clock
from state.mirror.file import MirrorError
from state.mirror.reading import MirrorState
from state.stored import JsonObject

log = logging.getLogger(__name__)
WAIT: Final = 25.0
"""Seconds for which a person waits for a mirror that is being loaded; a small portal is loaded by then."""
_LOOK: Final = 0.2
_COMING: Final = frozenset({"waiting", "loading"})
_CLOSED: Final = frozenset({"no_scope", "no_right", "absent"})
MOST_LISTED: Final = 500
_MOST_FOUND: Final = 1_000_000
_HISTORY_KEYS: Final = frozenset({"funnel", "at", "back"})
_PARTS: Final[Mapping[str, str]] = {"leads": "leads", "calls": "calls", "activities": "activities", "tasks": "tasks", "item:31": "invoices"}
_PARTS_OF_WORDS: Final[Mapping[str, str]] = {
    "lost_from": "history",
    "from_stage": "history",
    "weighted": "history",
    "no_activity": "activities",
    "hours_to_first_call": "calls",
    "median_hours_to_first_call": "calls",
}
_SYNONYMS: Final[Mapping[str, str]] = {**DIMENSION_SYNONYMS, **MEASURE_SYNONYMS, **STATE_SYNONYMS}


@dataclass(frozen=True, slots=True)
class _Records:
    method: str
    entity: str
    owner: str
    fields: Sequence[str]

    def build_list(self, ids: Sequence[int], owners: JsonObject | None = None) -> JsonObject:
        return {"filter": {"@ID": list(ids), **(owners or {})}, "select": list(self.fields), "order": {"ID": "DESC"}}


_DEALS: Final = _Records(
    "crm.deal.list", "deal", "ASSIGNED_BY_ID", ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID")
)
_LISTS: Final[Mapping[str, _Records]] = {
    "deals": _DEALS,
    "moves": _DEALS,
    "leads": _Records(
        "crm.lead.list", "lead", "ASSIGNED_BY_ID", ("ID", "TITLE", "NAME", "LAST_NAME", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID")
    ),
    "tasks": _Records("tasks.task.list", "task", "RESPONSIBLE_ID", ("ID", "TITLE", "STATUS", "DEADLINE", "RESPONSIBLE_ID")),
}
"""What is counted → the list of its records; the others have no records that a person opens."""


Present = Callable[..., Awaitable[OutcomeView]]
"""Builds the table of a list that was read."""


class PortalNames(Names, Protocol):
    async def number_departments(self, question: JsonObject) -> JsonObject:
        """The question with numbers in place of the names of departments."""


class Numbers:
    """Its keeper begins with the first question: an installation in which nobody asks for numbers reads nothing for them."""

    def __init__(
        self,
        keeper: MirrorKeeper,
        analytics: Analytics,
        names: PortalNames,
        *,
        reads: PortalReader,
        clock: Clock,
        present: Present,
        close: Callable[[], None],
    ) -> None:
        """`close` ends what counts; it may block."""
        self.keeper = keeper
        self.analytics = analytics
        self.names = names
        self._reads = reads
        self._clock = clock
        self._present = present
        self._close = close
        self._keeping: asyncio.Task[None] | None = None

    @property
    def has_begun(self) -> bool:
        return self.keeper.file.path.exists()

    def start(self) -> None:
        """Keep the mirror from now on."""
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.get_running_loop().create_task(self.keeper.run(), name="mirror")

    async def aclose(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeping
        self.keeper.close()
        await asyncio.to_thread(self._close)

    async def answer(self, question: JsonObject, *, sees: frozenset[int] | None, zone: str, locale: Locale) -> ReportAnswer | ReportTrouble:
        parts = list_parts(question)
        mirror = await self.prepare(parts, locale)
        if isinstance(mirror, ReportTrouble):
            return mirror
        asker = Asker(clock=self.build_clock(mirror, zone), sees=sees, locale=locale, names=self.names)
        return await self.analytics.answer(self.keeper.file.path, dict(await self.names.number_departments(question)), asker)

    async def list_records(self, question: JsonObject, *, actor: Actor) -> Table | ReportTrouble:
        """Those that the person may see now, the newest first. Raises BitrixError."""
        found = await self._find_records(question, actor)
        if isinstance(found, ReportTrouble):
            return found
        records, ids = found
        sees = find_visible_users(actor)
        # Whose a record is may have changed since the mirror was read.
        owners = {} if sees is None else {f"@{records.owner}": sorted(sees)}
        params = records.build_list(ids[:MOST_LISTED], owners)
        rows = await self._reads.load_rows(records.method, params, limit=MOST_LISTED) if ids else []
        outcome = Outcome(
            effect_id="",
            status="succeeded",
            method=records.method,
            call=params,
            call_class="R",
            entity=records.entity,
            result=rows,
            total=len(rows),
        )
        view = await self._present(outcome=outcome, actor=actor)
        table = view.table or Table()
        # The sum of the first would be read for that of all.
        return table.model_copy(update={"total": len(ids), "sum_text": ""}) if len(ids) > MOST_LISTED else table

    async def build_list(self, *, question: JsonObject, actor: Actor) -> tuple[str, JsonObject] | ReportTrouble:
        """The call that lists exactly the records of the number, the newest first."""
        found = await self._find_records(await self.names.number_departments(question), actor)
        if isinstance(found, ReportTrouble):
            return found
        records, ids = found
        if len(ids) > MOST_LISTED:
            text = say("troubles", "many_records", actor.locale, count=len(ids), most=MOST_LISTED)
            return ReportTrouble(
                code="many_records", text=text, detail=f"these are {len(ids)} records, and a list holds {MOST_LISTED}; narrow it"
            )
        return records.method, records.build_list(ids or (0,))

    async def _find_records(self, question: JsonObject, actor: Actor) -> tuple[_Records, tuple[int, ...]] | ReportTrouble:
        locale = actor.locale
        records = _LISTS.get(str(question.get("of")))
        if records is None:
            detail = f"of {show_name(question.get('of'))} there is no list, only of {', '.join(_LISTS)}"
            return ReportTrouble(code="no_records", text=say("troubles", "no_records", locale), detail=detail)
        mirror = await self.prepare(list_parts(question), locale)
        if isinstance(mirror, ReportTrouble):
            return mirror
        sees = find_visible_users(actor)
        asker = Asker(clock=self.build_clock(mirror, actor.time_zone), sees=sees, locale=locale, names=self.names)
        try:
            return records, await self.analytics.list_records(self.keeper.file.path, dict(question), None, asker, limit=_MOST_FOUND)
        except (Misunderstood, CountingFailed) as failure:
            code = "question" if isinstance(failure, Misunderstood) else "no_numbers"
            return ReportTrouble(code=code, text=say("troubles", code, locale), detail=str(failure))

    async def prepare(self, parts: Sequence[str], locale: Locale) -> MirrorState | ReportTrouble:
        """Waits for the parts of the mirror that the question needs."""
        try:
            mirror = await self._wait_ready(parts)
        except BitrixError as error:
            log.warning("the mirror cannot be refreshed: %s", error, extra={"action": "mirror.unread"})
            return ReportTrouble(code="unread", text=say("troubles", "unread", locale), detail=f"the portal cannot be read: {error.code}")
        except MirrorError as error:
            log.exception("the mirror cannot be used", extra={"action": "mirror.unusable"})
            return ReportTrouble(code="no_numbers", text=say("troubles", "no_numbers", locale), detail=str(error))
        if mirror is None:
            return ReportTrouble(code="unread", text=say("troubles", "unread", locale), detail="the portal has not answered yet")
        parts = _choose_calls(parts, mirror)
        lacking = next((part for part in parts if mirror.parts[part].status in _CLOSED), "")
        if lacking:
            return ReportTrouble(
                code=f"no_{lacking}",
                text=say("troubles", "closed", locale, part=say("parts", lacking, locale)),
                detail=f"the portal does not give {lacking} to this program: {mirror.parts[lacking].status}; say so, do not try again",
            )
        if not mirror.is_ready(*parts):
            percent = mirror.measure_loaded(*parts)
            detail = f"the numbers are being loaded for the first time, {percent} % are there; tell the person to ask again in some minutes"
            return ReportTrouble(code="loading", text=say("troubles", "loading", locale, percent=percent), detail=detail)
        return mirror

    async def _wait_ready(self, parts: Sequence[str]) -> MirrorState | None:
        """The state after at most `WAIT` seconds; None if nothing was read yet. May raise BitrixError and MirrorError."""
        self.start()
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT
        while True:
            mirror = await asyncio.to_thread(self.keeper.read_state)
            if (
                mirror is not None
                and mirror.as_of is not None
                and not any(mirror.parts[part].status in _COMING for part in _choose_calls(parts, mirror))
            ):
                await self.keeper.refresh_if_older()
                return await asyncio.to_thread(self.keeper.read_state)
            if loop.time() >= end:
                return mirror
            await asyncio.sleep(_LOOK)

    def build_clock(self, mirror: MirrorState, zone: str) -> ReportClock:
        """The portal's own: a report and its data are of one moment."""
        return ReportClock(now=mirror.as_of or self._clock.now(), zone=zone)


def _choose_calls(parts: Sequence[str], mirror: MirrorState) -> tuple[str, ...]:
    """Where telephony tells nothing, calls are those of activities."""
    has_calls = mirror.parts["calls"].status not in _CLOSED
    return tuple(part if part != "calls" or has_calls else "activities" for part in parts)


def list_parts(question: JsonObject) -> tuple[str, ...]:
    """The parts of the mirror without which the question, in whichever words, has no answer: over less it would have half numbers."""
    counted = _simplify(question.get("of") or "deals", SUBJECT_SYNONYMS)
    has_history = counted == "moves" or any(question.get(key) is not None for key in _HISTORY_KEYS)
    words = [word for key in ("where", "filter", "group_by", "measures") for word in _list_words(question.get(key))]
    second = question.get("per")
    parts = [
        _PARTS.get(counted, "deals"),
        *(["history"] if has_history else []),
        *(part for word in words if (part := _PARTS_OF_WORDS.get(_simplify(word, _SYNONYMS)))),
        *(list_parts(second) if isinstance(second, Mapping) else ()),
    ]
    return tuple(dict.fromkeys(parts))


def _list_words(setting: object) -> list[object]:
    """Of a filter its keys."""
    return list(setting) if isinstance(setting, list | tuple | Mapping) else [setting]


def _simplify(word: object, synonyms: Mapping[str, str]) -> str:
    plain = str(word).strip().lower().removeprefix("share:").lstrip("!=<>@")
    return synonyms.get(plain, plain)
