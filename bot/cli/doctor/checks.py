"""Which checks there are, and how long each may take. Ring 3."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from bot.cli.doctor import database, disk, files, http_door, machine, model, portal, telegram, written
from bot.cli.doctor.findings import Check, Finding, threaded
from bot.settings import Settings
from bot.settings_look import Look
from state.clock import SystemClock
from state.verify.health import value_of

HERE: Final = 10.0
ASKED: Final = 6
"""Questions to one party, each of which may take as long as is allowed."""
SERVED: Final = 30.0
SPENDING: Final = 180.0


def all_checks(look: Look, *, spend: bool, within: float) -> Sequence[Check]:
    """One check for each area."""
    settings, now = look.settings, SystemClock().now()
    people, currency = files.known_people(settings), files.policy_currency(settings)
    load, asked = _stored(settings), ASKED * within

    def portal_look() -> AsyncIterator[Finding]:
        return portal.portal_look(settings, load, people, currency=currency, within=within)

    def model_look() -> AsyncIterator[Finding]:
        return model.model_look(settings, spend=spend, within=within)

    return (
        Check(area=written.AREA, within=HERE, look=lambda: threaded(lambda: written.settings_look(look))),
        Check(area=files.AREA, within=HERE, look=lambda: threaded(lambda: files.files_look(settings, now.date()))),
        Check(area=portal.AREA, within=asked, look=portal_look),
        Check(area=model.AREA, within=SPENDING if spend else asked, look=model_look),
        Check(area=telegram.AREA, within=asked, look=lambda: telegram.telegram_look(settings, within=within)),
        Check(area=database.AREA, within=SERVED, look=lambda: threaded(lambda: database.database_look(settings))),
        Check(area=disk.AREA, within=HERE, look=lambda: threaded(lambda: disk.disk_look(settings))),
        Check(area=http_door.AREA, within=HERE, look=lambda: http_door.http_look(settings)),
        Check(area=machine.AREA, within=HERE, look=lambda: threaded(lambda: machine.machine_look(now))),
    )


def stuck(found: Iterable[Finding]) -> bool:
    """Whether something ran out of time, so that its thread may hang."""
    return any(line.check == "in time" for line in found)


def _stored(settings: Settings) -> portal.Stored:
    """Reads one named value of the database; None before the first start."""
    return lambda name: value_of(settings.database.get_secret_value(), name)
