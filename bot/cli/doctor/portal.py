"""Whether Bitrix24 answers, as whom, with which rights, limits, currency and clock. It only reads."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from bitrix.errors import BitrixError, NotSent, Refused
from bot.access.portal_auth import NO_TOKEN, PortalProbe, open_portal_probe
from bot.cli.doctor.findings import Area, Finding
from bot.cli.doctor.numbers import check_numbers
from bot.settings.settings import Settings
from orchestrator.directory.answers import RecordRow, User
from state.clock import SystemClock
from state.stored import JsonObject

AREA = Area("portal")
ReadValue = Callable[[str], str | None]
"""None if there is none."""

MAX_SKEW: Final = timedelta(seconds=60)
_WRONG_SKEW: Final = timedelta(minutes=5)
_CHUNK: Final = 50
_REQUIRED_SCOPES: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "crm": (frozenset({"crm"}), "deals, leads, contacts, companies and activities: nearly everything"),
    "task": (frozenset({"task", "tasks"}), "creating, finding and completing tasks"),
    "user": (frozenset({"user", "user_basic", "user_brief"}), "names of colleagues, time zones, and noticing who was dismissed"),
}
"""Right → the scopes of which any one grants it, and what does not work without it."""
_OPTIONAL_SCOPES: Final[Mapping[str, str]] = {
    "department": "departments beside names",
    "calendar": "events of the calendar",
    "im": "notices inside Bitrix24",
    "catalog": "product catalogues",
    "disk": "files of the portal's disk",
    "bizproc": "starting workflows",
}


async def check_portal(
    settings: Settings, load: ReadValue, people: Sequence[tuple[int, str]], *, currency: str, within: float
) -> AsyncIterator[Finding]:
    """`people` are employee numbers and names; each answer may take `within` seconds."""
    async with open_portal_probe(settings, load, within=within) as look:
        try:
            me = (await look.ask("profile")).result
        except BitrixError as error:
            yield _explain_failure(error, look)
            return
        yield _describe_account(look, me if isinstance(me, Mapping) else {})
        for part in (
            _check_rights(look),
            _check_limits(look, settings),
            _check_currency(look, currency),
            _check_clock(look),
            _check_people(look, people),
            check_numbers(look),
        ):
            try:
                async for finding in part:
                    yield finding
            except BitrixError as error:
                yield _explain_failure(error, look)


def _explain_failure(error: BitrixError, look: PortalProbe) -> Finding:
    """`look` is the probe that made the call."""
    setting = "BITRIX_OAUTH_REFRESH_TOKEN" if look.is_application else "BITRIX_WEBHOOK_URL"
    code = error.code.upper()
    if code == NO_TOKEN:
        says = "The stored access token is missing or ran out. The bot gets a new one at its next call; a check must not use it up."
        return AREA.report_warning(
            "access", says, "Ask the bot something, then run this again; docs/bitrix24.md says how to authorise anew."
        )
    if code in {"NO_AUTH_FOUND", "INVALID_CREDENTIALS", "EXPIRED_TOKEN", "INVALID_TOKEN", "ERROR_METHOD_NOT_FOUND", "ERROR_OAUTH"}:
        says = f"{look.portal} does not accept {setting} ({error})."
        why = "It was mistyped, deleted, made anew or has passed its end date, or its owner was dismissed"
        mending = f"{why}: make a new one (docs/bitrix24.md) and set it."
        return AREA.report_wrong("access", says, mending)
    if code == "INSUFFICIENT_SCOPE":
        mending = "Give it the rights crm, task and user in the portal (docs/bitrix24.md)."
        return AREA.report_wrong("rights", f"{look.portal} answers that the rights of {setting} do not suffice ({error}).", mending)
    if code == "OVERLOAD_LIMIT":
        return AREA.report_wrong(
            "limits", f"Bitrix24 has stopped all calls to {look.portal} ({error}).", "Write to the support of Bitrix24."
        )
    if code in {"QUERY_LIMIT_EXCEEDED", "OPERATION_TIME_LIMIT"}:
        says = f"{look.portal} is being called too often ({error})."
        return AREA.report_warning(
            "limits", says, "Compare BITRIX_PLAN with the portal's plan, and look which other program calls from this address."
        )
    if isinstance(error, Refused):
        return AREA.report_wrong(
            "answer", f"{look.portal} refuses ({error}).", "Open the portal as its administrator: is REST part of its plan, is it paid?"
        )
    if isinstance(error, NotSent):
        mending = "Check the address, the name service, the firewall and certificates of this machine: curl -sS https://" + look.portal
        return AREA.report_wrong("reachable", f"{look.portal} cannot be reached ({error}).", mending)
    return AREA.report_wrong(
        "answer", f"{look.portal} gives no usable answer ({error}).", "Try again in a minute; then open the portal in a browser."
    )


def _describe_account(look: PortalProbe, me: JsonObject) -> Finding:
    name = RecordRow.model_validate(me).full_name or "an employee without a name"
    what = "The application" if look.is_application else "The webhook"
    says = f"{look.portal} answers. {what} acts as {name} (employee {me.get('ID')})"
    sent = f"Messages and activities go out in the name of {name}; of messages to colleagues the text begins with the name of who asked."
    if str(me.get("ADMIN")).lower() in {"true", "y", "1"}:
        reach = "an administrator: it reaches every record, and the bot's own rules are what limits people."
    else:
        reach = "no administrator: nobody reaches records through the bot that this employee cannot open."
    return AREA.report_ok("acts as", f"{says}, {reach} {sent}")


async def _check_rights(look: PortalProbe) -> AsyncIterator[Finding]:
    answer = (await look.ask("scope")).result
    granted = {str(name).strip().lower() for name in answer} if isinstance(answer, list) else set()
    missing = {name: stops for name, (grants, stops) in _REQUIRED_SCOPES.items() if not grants & granted}
    for name, stops in missing.items():
        mending = f"Add the right {name} to the webhook or application in the portal (docs/bitrix24.md)."
        yield AREA.report_wrong("rights", f"The right {name} is missing. Without it stops: {stops}.", mending)
    if not missing:
        without = [f"{name} ({what})" for name, what in _OPTIONAL_SCOPES.items() if name not in granted]
        more = f" Not granted, and refused by name when asked for: {', '.join(without)}." if without else ""
        yield AREA.report_ok("rights", f"Granted: {', '.join(sorted(granted))}.{more}")
    if "user" not in granted and granted & {"user_basic", "user_brief"}:
        says = "Only the short form of the right user is granted: time zones of employees may be missing."
        yield AREA.report_warning("rights", says, "Grant user in its place.")


async def _check_limits(look: PortalProbe, settings: Settings) -> AsyncIterator[Finding]:
    cloud = ".bitrix24." in look.portal
    if settings.bitrix_plan == "off" and cloud:
        says = "BITRIX_PLAN=off, but a portal in the cloud limits calls: they will be refused in bursts."
        yield AREA.report_warning("limits", says, "Set BITRIX_PLAN to standard, or to enterprise if that is the portal's plan.")
        return
    if look.is_application:
        info = (await look.ask("app.info")).result
        license_name = str(info.get("LICENSE", "")) if isinstance(info, Mapping) else ""
        if settings.bitrix_plan == "enterprise" and license_name and "ent" not in license_name.lower():
            says = f"BITRIX_PLAN=enterprise, but the portal's plan is {license_name}: calls will be refused in bursts."
            yield AREA.report_warning("limits", says, "Set BITRIX_PLAN=standard.")
            return
    time = (await look.ask("server.time")).time
    counted = (
        "the portal counts the time of methods" if "operating" in time else "the portal does not say that it counts the time of methods"
    )
    yield AREA.report_ok(
        "limits", f"BITRIX_PLAN={settings.bitrix_plan}; {counted} (BITRIX_OPERATING_LIMIT={settings.bitrix_operating_limit:g} s)."
    )


async def _check_currency(look: PortalProbe, currency: str) -> AsyncIterator[Finding]:
    base = str((await look.ask("crm.currency.base.get")).result or "").upper()
    if base and currency and base != currency:
        says = (
            f"The portal's base currency is {base}, the policy's limits are in {currency}: sums without a currency are read as {currency}."
        )
        yield AREA.report_wrong(
            "currency", says, f"Write `currency: {base}` into POLICY_FILE, and check the sums of its limits (docs/policy.md)."
        )
    elif base:
        yield AREA.report_ok("currency", f"The base currency is {base}, as in the policy.")


async def _check_clock(look: PortalProbe) -> AsyncIterator[Finding]:
    before = SystemClock().now()
    answer = (await look.ask("server.time")).result
    after = SystemClock().now()
    try:
        theirs = datetime.fromisoformat(str(answer))
    except ValueError:
        return
    if theirs.tzinfo is not None:
        yield compare_clock(AREA, theirs - (before + (after - before) / 2))


def compare_clock(area: Area, ahead: timedelta) -> Finding:
    """`ahead` of this machine's clock."""
    seconds = ahead.total_seconds()
    if abs(ahead) <= MAX_SKEW:
        return area.report_ok(
            "clock",
            "Its clock and ours agree."
            if abs(seconds) < 5  # noqa: PLR2004 - the network's share
            else f"Its clock and ours differ by {abs(seconds):.0f} s.",
        )
    says = f"Our clock is {abs(seconds):.0f} s {'behind' if seconds > 0 else 'ahead of'} that of {area.name}."
    mending = "Let the machine keep its time (timedatectl set-ntp true): hours of reminders and ends of cards depend on it."
    return (area.report_wrong if abs(ahead) > _WRONG_SKEW else area.report_warning)("clock", says, mending)


async def _check_people(look: PortalProbe, people: Sequence[tuple[int, str]]) -> AsyncIterator[Finding]:
    if not people:
        return
    employees: dict[int, User] = {}
    numbers = sorted({number for number, _ in people})
    for at in range(0, len(numbers), _CHUNK):
        answer = (await look.ask("user.get", {"FILTER": {"ID": numbers[at : at + _CHUNK]}})).result
        rows = [row for row in answer if isinstance(row, Mapping) and row.get("ID")] if isinstance(answer, list) else []
        employees |= {user.id: user for user in map(User.model_validate, rows)}
    faulty_people = list(_find_faulty_people(people, employees))
    for finding in faulty_people:
        yield finding
    if not faulty_people:
        yield AREA.report_ok("people", f"All {len(people)} people of the access file who have an employee number are active employees.")


def _find_faulty_people(people: Sequence[tuple[int, str]], employees: Mapping[int, User]) -> Iterable[Finding]:
    for number, name in people:
        user = employees.get(number)
        if user is None:
            says = f"{name} of the access file is employee {number}, whom the portal does not have."
            yield AREA.report_wrong("people", says, "Correct bitrix_user_id: it is the number in the address of the employee's page.")
        elif user.active not in (True, "Y", "true", 1):
            says = f"{name} of the access file (employee {number}) was dismissed in the portal; the bot answers them no more."
            yield AREA.report_warning("people", says, "Take them out of ACCESS_FILE. docs/runbook.md, «A person leaves».")
