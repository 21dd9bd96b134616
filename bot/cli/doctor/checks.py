from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from bot.cli.doctor import database, disk, documents, engines, files, http_door, machine, model, mongo, portal, settings_check, telegram
from bot.cli.doctor.findings import Check, Finding, stream_from_thread
from bot.cli.doctor.settings_check import SettingsProbe
from bot.settings.settings import Settings
from state.clock import SystemClock
from state.verify.health import read_value

LOCAL_TIMEOUT: Final = 10.0
CALLS_PER_PARTY: Final = 6
"""Calls of one check to the portal, model or Telegram, each of which may take the full timeout."""
DATABASE_TIMEOUT: Final = 30.0
SPEND_TIMEOUT: Final = 360.0


def build_checks(look: SettingsProbe, *, spend: bool, within: float) -> Sequence[Check]:
    """In the order of the report. `spend` allows model calls that cost money; `within` is seconds for one answer."""
    settings, now = look.settings, SystemClock().now()
    people, currency = files.load_known_people(settings), files.load_policy_currency(settings)
    load, patience = _build_value_reader(settings), CALLS_PER_PARTY * within

    def portal_look() -> AsyncIterator[Finding]:
        return portal.check_portal(settings, load, people, currency=currency, within=within)

    def model_look() -> AsyncIterator[Finding]:
        return model.check_model(settings, spend=spend, within=within)

    return (
        Check(
            area=settings_check.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: settings_check.check_settings(look))
        ),
        Check(area=files.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: files.check_files(settings, now.date()))),
        Check(area=engines.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(engines.check_engines)),
        Check(area=portal.AREA, within=patience, probe=portal_look),
        Check(area=model.AREA, within=SPEND_TIMEOUT if spend else patience, probe=model_look),
        Check(area=telegram.AREA, within=patience, probe=lambda: telegram.check_telegram(settings, within=within)),
        Check(area=database.AREA, within=DATABASE_TIMEOUT, probe=lambda: stream_from_thread(lambda: database.check_database(settings))),
        Check(area=mongo.AREA, within=LOCAL_TIMEOUT, probe=lambda: mongo.check_mongo(settings, within=within)),
        Check(area=documents.AREA, within=DATABASE_TIMEOUT, probe=lambda: stream_from_thread(lambda: documents.check_folder(settings))),
        Check(area=documents.AREA, within=patience, probe=lambda: documents.check_services(settings)),
        Check(area=disk.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: disk.check_disks(settings))),
        Check(area=http_door.AREA, within=LOCAL_TIMEOUT, probe=lambda: http_door.check_http(settings)),
        Check(area=machine.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: machine.check_machine(now))),
    )


def has_timed_out(findings: Iterable[Finding]) -> bool:
    """The thread of such a check may still hang."""
    return any(line.check == "in time" for line in findings)


def _build_value_reader(settings: Settings) -> portal.ReadValue:
    """None if there is none."""
    return lambda name: read_value(settings.database.get_secret_value(), name)
