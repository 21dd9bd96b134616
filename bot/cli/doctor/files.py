"""Policy, access file, how the company counts, and holidays. It only reads."""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from bitrix.catalogue.catalogue import load_catalogue
from bot.access.access_file import Person, read_people
from bot.cli.doctor.findings import Area, Finding
from bot.definition_service import describe_absent_kinds, list_known_kinds
from bot.plugins.building import load_installed_engines
from bot.settings.http_credentials import load_http_credentials
from bot.settings.settings import Settings
from orchestrator.analytics.definitions import load_definitions
from orchestrator.domain.budget import Budget
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import check_policy, load_policy, load_with_places
from orchestrator.language.work_calendar import load_workdays

AREA = Area("files")
DATA = Path(__file__).resolve().parents[3] / "data"


def check_files(settings: Settings, today: date) -> Iterable[Finding]:
    """Holidays must cover the year of `today` and, from November on, the next."""
    yield from _check_policy(settings)
    yield from _check_access(settings.access_file)
    yield from _check_numbers(settings.numbers_file, today)
    yield from _check_credentials(settings)
    yield from _check_holidays(today)


def load_known_people(settings: Settings) -> list[tuple[int, str]]:
    """Those with an employee number; empty if the file cannot be read."""
    try:
        people = read_people(settings.access_file) if settings.access_file else []
    except SettingsError:
        return []
    return [(person.bitrix_user_id, person.name) for person in people if person.bitrix_user_id is not None]


def load_policy_currency(settings: Settings) -> str:
    """ "" if the policy cannot be read."""
    try:
        return str(load_policy(settings.policy_file).currency)
    except SettingsError:
        return ""


def _check_policy(settings: Settings) -> Iterable[Finding]:
    path, engines = settings.policy_file, load_installed_engines()
    try:
        loaded = load_with_places(path)
        yield from _check_budget(loaded.policy.budget, settings.openai_model)
        catalogue = load_catalogue(DATA / "catalogue", [row.model_dump() for row in loaded.policy.catalogue])
        kinds = list_known_kinds(settings, engines, loaded.policy)
        faults: Sequence[str] = check_policy(loaded.policy, catalogue, loaded.places, kinds=kinds)
        for sentence in () if faults else describe_absent_kinds(loaded.policy, engines):
            yield AREA.report_warning("POLICY_FILE", f"{sentence}.", "Install the engine that has it, or remove the line.")
    except SettingsError as error:
        faults = error.reason.splitlines()
    for fault in faults:
        yield AREA.report_wrong(
            "POLICY_FILE", f"{fault.rstrip('.')}.", "Correct the line, and look with `sdelka policy check` (docs/policy.md)."
        )
    if not faults:
        yield AREA.report_ok(
            "POLICY_FILE", f"{path} can be read and fits the catalogue." if path else "None is set: the shipped rules hold."
        )


def _check_budget(budget: Budget, model: str) -> Iterable[Finding]:
    """A model without a price would count as free."""
    in_money = any(limits.money_per_month is not None for limits in (budget, *budget.people.values()))
    if in_money and budget.find_price(model) is None:
        says = f"There are limits in money, and {model} has no price: its use counts as free."
        yield AREA.report_wrong(
            "budget", says, f"Add it to budget.prices of POLICY_FILE: {{{model}: {{input: …, output: …}}}} (docs/budgets.md)."
        )


def _check_access(path: Path | None) -> Iterable[Finding]:
    if path is None:
        says = "None is set: only people who joined by a link may use the bot, and no administrator is named."
        yield AREA.report_warning("ACCESS_FILE", says, "Write one with at least one admin, see docs/access.md.")
        return
    try:
        people = read_people(path)
    except SettingsError as error:
        yield AREA.report_wrong("ACCESS_FILE", f"{error.reason}.", "Correct the entry; docs/access.md shows every field.")
        return
    yield from _check_people(path, people)


def _check_people(path: Path, people: Sequence[Person]) -> Iterable[Finding]:
    admins = [person for person in people if person.role == "admin"]
    nobodies = [person.name for person in people if person.bitrix_user_id is None]
    if not admins:
        yield AREA.report_warning(
            "ACCESS_FILE", f"{path} names no admin: nobody is asked when a stranger wants access.", "Give one person `role: admin`."
        )
    if nobodies:
        says = f"Without an employee number «my deals» means nothing for: {', '.join(nobodies)}."
        yield AREA.report_warning("ACCESS_FILE", says, "Add bitrix_user_id: the number in the address of the employee's page.")
    if admins and not nobodies:
        yield AREA.report_ok("ACCESS_FILE", f"{len(people)} people, of whom {len(admins)} administer.")


def _check_numbers(path: Path | None, today: date) -> Iterable[Finding]:
    if path is None:
        return
    try:
        definitions, shipped = load_definitions(path), load_definitions()
    except SettingsError as error:
        yield AREA.report_wrong("NUMBERS_FILE", f"{error.reason}.", "Correct the file; docs/numbers.md shows all that it may hold.")
        return
    chosen = [
        definitions.find_choice_sentence(word, "en") for word, reading in definitions.choices.items() if reading != shipped.choices[word]
    ]
    plan = definitions.find_plan(f"{today:%Y-%m}")
    said = [*chosen, f"the plan of this month is {plan:,.0f}" if plan else "there is no plan of this month"]
    yield AREA.report_ok("NUMBERS_FILE", f"{path}: {'; '.join(said)}.")


def _check_credentials(settings: Settings) -> Iterable[Finding]:
    if settings.http_credentials_file is None:
        return
    try:
        http_credentials = load_http_credentials(settings)
    except SettingsError as error:
        yield AREA.report_wrong("HTTP_CREDENTIALS_FILE", f"{error.reason}.", "Correct the file, see docs/effects.md.")
    else:
        yield AREA.report_ok("HTTP_CREDENTIALS_FILE", f"{len(http_credentials)} secrets, each for one host.")


def _check_holidays(today: date) -> Iterable[Finding]:
    path = DATA / "holidays.yaml"
    try:
        year = load_workdays(path).find_unlisted_year(today)
    except SettingsError as error:
        yield AREA.report_wrong("holidays", f"{error.reason}.", f"Correct {path.name}.")
        return
    if year:
        says = f"data/{path.name} does not list yet which days off are moved in {year}: a digest may come on one of them."
        yield AREA.report_warning("holidays", says, f"Add the days of the decree for {year} (docs/daily.md), or take a newer release.")
    else:
        yield AREA.report_ok("holidays", f"The days off of {today.year} are listed.")
