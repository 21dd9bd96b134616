"""What a person should see first."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bot.console.approvals.shown_cards import ShownCard, build_shown_card, load_waiting
from bot.console.health.view import HealthGlance, build_limits
from bot.console.visit import Visit
from bot.console.words import find_run_titles
from bot.http_api.runs.run_models import RunError, RunLine, RunQuery, Status
from bot.monitoring.health_checks import PartyHealth
from orchestrator.features.budgets.model_budget import LimitUse
from orchestrator.reports.cards import FoundCard
from orchestrator.reports.unknown_calls import UnknownCall, load_unknown_calls
from state.clock import format_iso
from state.journal.freeze_switch import FreezeState

MOST: Final = 8
"""Lines of one part; the rest are counted."""
_OPEN: Final[tuple[Status, ...]] = ("running", "waiting", "paused")
_MOST_COUNTED: Final = 100
FAILED_DAYS: Final = 7
_LATE: Final = timedelta(minutes=5)
_STEP: Final = 10
_WHOLE: Final = 100


@dataclass(frozen=True, kw_only=True)
class ShownRun:
    """With why it failed if it did."""

    run: RunLine
    title: str
    failure: RunError | None


@dataclass(frozen=True, kw_only=True)
class CardPart:
    """`count` is of all, also of those not shown."""

    shown: tuple[ShownCard, ...]
    count: int


@dataclass(frozen=True, kw_only=True)
class RunPart:
    """The first ones, and how many there are in each status."""

    shown: tuple[ShownRun, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    has_more: bool = False

    @property
    def count(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True)
class Troubles:
    """Administrators alone see them."""

    unwell: tuple[PartyHealth, ...] = ()
    failed: int = 0
    is_late: bool = False
    """A message has waited for minutes."""


@dataclass(frozen=True, kw_only=True)
class PortalUse:
    """Administrators alone see it."""

    percent: int
    """Of the nearest limit, in steps of ten: the page is not drawn anew for each request."""
    refused: tuple[str, ...] = ()
    """Methods of which the portal takes no calls for now."""


@dataclass(frozen=True, kw_only=True)
class TodayView:
    mine: CardPart
    others: CardPart
    has_more: bool
    unknown: tuple[UnknownCall, ...]
    open_runs: RunPart
    failed_runs: RunPart
    limits: LimitUse
    portal: PortalUse | None
    """None for who may not see it, and where no portal is asked."""
    freeze: FreezeState | None
    troubles: Troubles

    @property
    def is_calm(self) -> bool:
        """Nothing needs attention."""
        busy = self.mine.count or self.others.count or self.unknown or self.open_runs.count or self.failed_runs.count
        is_hindered = self.freeze is not None or (self.portal is not None and bool(self.portal.refused))
        return not busy and not is_hindered and self.troubles == Troubles()


async def load_today(visit: Visit, glance: HealthGlance | None) -> TodayView:
    """Raises VisitOver and StoreError."""
    services, viewer = visit.services, visit.viewer
    cards = await load_waiting(visit)
    is_admin = viewer.actor.role == "admin"
    policy, now = viewer.deps.policy, services.clock.now()
    return TodayView(
        mine=_build_part(visit, cards.mine),
        others=_build_part(visit, cards.others),
        has_more=cards.has_more,
        unknown=tuple(await load_unknown_calls(services.store, viewer, MOST)),
        open_runs=await _load_runs(visit, _OPEN),
        failed_runs=await _load_runs(visit, ("failed",), since=format_iso(now - timedelta(days=FAILED_DAYS))),
        limits=await services.usage.measure(viewer.actor, policy, now, everybody=is_admin),
        portal=_measure_portal(visit) if is_admin else None,
        freeze=await services.desk.switch.find_freeze(),
        troubles=await _load_troubles(visit, glance) if is_admin else Troubles(),
    )


def _build_part(visit: Visit, cards: tuple[FoundCard, ...]) -> CardPart:
    viewer = visit.viewer
    return CardPart(shown=tuple(build_shown_card(card, viewer, visit.tr) for card in cards[:MOST]), count=len(cards))


async def _load_runs(visit: Visit, statuses: tuple[Status, ...], *, since: str = "") -> RunPart:
    """With `since` only those whose status changed later."""
    services = visit.services
    pages = [await services.runs.list_runs(visit.caller, RunQuery(status=(status,), limit=_MOST_COUNTED)) for status in statuses]
    lines = sorted((line for page in pages for line in page.runs if line.updated_at >= since), key=lambda line: line.updated_at)[::-1]
    first_lines = lines[:MOST]
    titles = await find_run_titles(visit, ((line.engine, line.definition) for line in first_lines))
    return RunPart(
        shown=tuple(
            [
                ShownRun(run=one, title=titles[one.engine, one.definition], failure=(await services.runs.find_ending(one)).failure)
                for one in first_lines
            ]
        ),
        counts=Counter(line.status for line in lines),
        has_more=any(page.next for page in pages),
    )


def _measure_portal(visit: Visit) -> PortalUse | None:
    limits = build_limits(visit.services.monitor) if visit.services.monitor is not None else None
    if limits is None:
        return None
    shares = [method.seconds / limits.budget for method in limits.methods if method.seconds is not None and limits.budget]
    if limits.burst and limits.level is not None:
        shares.append(limits.level / limits.burst)
    percent = min(math.ceil(max(shares, default=0.0) * _WHOLE / _STEP) * _STEP, _WHOLE)
    return PortalUse(percent=percent, refused=tuple(sorted(one.method for one in limits.methods if one.seconds is None)))


async def _load_troubles(visit: Visit, glance: HealthGlance | None) -> Troubles:
    monitor = visit.services.monitor
    backlog = await monitor.read_backlog() if monitor is not None else None
    late = format_iso(visit.services.clock.now() - _LATE)
    waiting = [one for (_, status), one in backlog.outbox.items() if status == "new"] if backlog is not None else []
    return Troubles(
        unwell=tuple(party_health for party_health in await glance.look() if not party_health.ok) if glance is not None else (),
        failed=sum(one.count for (_, status), one in backlog.outbox.items() if status == "failed") if backlog is not None else 0,
        is_late=any(one.oldest and one.oldest < late for one in waiting),
    )
