"""The company's Mongo: its address, whether it answers, and what the policy opens."""

from collections.abc import AsyncIterator, Callable
from typing import Final

from bot.cli.doctor.findings import Area, Finding
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import Policy, load_policy
from orchestrator.performers.mongo_connection import CAUGHT, MongoConnection, MongoUnusable

AREA = Area("mongo")
_OPEN: Final = "Add mongo to `open_kinds` and the names to `mongo_collections` in POLICY_FILE, see docs/mongo.md."


async def check_mongo(settings: Settings, *, within: float) -> AsyncIterator[Finding]:
    """The server has `within` seconds."""
    policy = _load_policy(settings)
    if settings.mongo_url is None:
        if policy is not None and "mongo" in policy.open_kinds:
            yield AREA.report_warning("MONGO_URL", "The policy opens mongo, and no database is set.", "Set MONGO_URL, see docs/mongo.md.")
        else:
            yield AREA.report_ok("MONGO_URL", "No database is set, so nothing is read from one or written to one.")
        return
    yield await _check_server(settings.mongo_url.get_secret_value, within)
    if policy is None:
        return
    if "mongo" not in policy.open_kinds or not policy.mongo_collections:
        yield AREA.report_warning("collections", "The policy opens none, so every call is refused.", _OPEN)
    else:
        yield AREA.report_ok("collections", f"The policy opens {', '.join(sorted(policy.mongo_collections))}.")


async def _check_server(load_url: Callable[[], str], within: float) -> Finding:
    """The driver is loaded only here."""
    connection = MongoConnection(load_url(), call_seconds=within)
    try:
        await connection.check()
    except MongoUnusable as error:
        return AREA.report_wrong("MONGO_URL", f"{error}.", "See docs/mongo.md.")
    except CAUGHT as error:
        code = getattr(error, "code", None)
        if code in {13, 18}:
            return AREA.report_wrong("server", "It refuses the name or the password.", "Check user, password and authSource in MONGO_URL.")
        return AREA.report_wrong(
            "server", f"It does not answer: {type(error).__name__}.", "Check the host in MONGO_URL, and whether it runs."
        )
    finally:
        await connection.close()
    return AREA.report_ok("server", "It answers.")


def _load_policy(settings: Settings) -> Policy | None:
    """None if it cannot be read, which the check of the files reports."""
    try:
        return load_policy(settings.policy_file)
    except (SettingsError, OSError):
        return None
