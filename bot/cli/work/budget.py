"""The usage of the model in a month, and its limits. It only reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import typer

from bot.access.access import load_access
from bot.cli.ops import open_database_reader, write_json_lines, write_table
from bot.composition.model_checks import list_talking_models
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, build_person_key, find_month_start, to_month
from orchestrator.domain.errors import SettingsError
from orchestrator.features.budgets.model_budget import UsageTotals, add_tokens, sum_since, to_token_counts
from orchestrator.gate.call.policy import load_policy
from state.clock import SystemClock
from state.journal.store import StoreError

OVER = 1
_MONTH: Final = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])", re.ASCII)


class _Usage(NamedTuple):
    """Of one month; None where there is no price or no limit."""

    person: str
    name: str
    month: str
    tokens: int
    estimated: int
    """Tokens of calls whose answer is not stored: under way, or ended by a crash or a stop."""
    tokens_limit: int | None
    money: str | None
    money_limit: str | None
    currency: str
    percent: int | None
    models: Mapping[str, Mapping[str, int]]
    unpriced: Sequence[str]
    """`money` does not include them."""

    def to_json(self) -> dict[str, object]:
        """`estimated` only if there are any."""
        return {name: value for name, value in self._asdict().items() if name != "estimated" or value}


def budget(*, month: str, as_json: bool) -> None:
    settings, now = load_settings(), SystemClock().now()
    month_number = _parse_month(month)
    rules = load_policy(settings.policy_file).budget
    with open_database_reader(settings) as store:
        try:
            totals = sum_since(store, _find_start(month_number, now))
        except StoreError as error:
            raise SettingsError(f"the journal cannot be read: {error}") from None
    rows = list(_build_rows(totals, rules, _load_people(settings), month_number, now))
    if as_json:
        write_json_lines([row.to_json() for row in rows])
    else:
        _show(rows, rules)
    for hint in filter(None, () if as_json else map(rules.describe_unpriced, list_talking_models(settings))):
        typer.echo(f"Note: {hint}.", err=True)
    if any(row.percent is not None and row.percent >= 100 for row in rows):  # noqa: PLR2004 - percent
        raise typer.Exit(OVER)


def _parse_month(text: str) -> int:
    if text and not _MONTH.fullmatch(text):
        raise SettingsError("--month: a month such as 2026-10 is needed")
    return int(text.replace("-", "")) if text else 0


def _find_start(month: int, now: datetime) -> datetime:
    """Before the month's start in every time zone. `month` is such as 202610; 0 is the month of `now`."""
    return find_month_start(datetime(month // 100, month % 100, 1, tzinfo=UTC) + timedelta(days=2)) if month else find_month_start(now)


def _load_people(settings: Settings) -> dict[str, Actor]:
    """By "employee:<number>" where there is one, so that all accounts count against one limit; empty if unreadable."""
    try:
        people = load_access(settings.access_file).list_people()
    except SettingsError:
        return {}
    return {build_person_key(actor.key, actor.bitrix_user_id): actor for actor in people}


def _build_rows(totals: UsageTotals, rules: Budget, people: dict[str, Actor], month: int, now: datetime) -> Iterator[_Usage]:
    seen = {person for at in ([month] if month else totals.list_months()) for person in totals.list_people(at)}
    for person in sorted(seen | people.keys()):
        number = person.partition(":")[2]
        bare = Actor(key=person, name="", bitrix_user_id=int(number) if person.startswith("employee:") else None)
        actor = people.get(person, bare)
        mine = month or to_month(now, actor.time_zone)
        estimates, limits = totals.sum_estimates(person, mine), rules.find_limits(actor)
        used = add_tokens(totals.sum_by_model(person, mine), estimates)
        yield _Usage(
            person=person,
            name=actor.name,
            month=f"{mine // 100}-{mine % 100:02d}",
            tokens=sum(map(sum, used.values())),
            estimated=sum(map(sum, estimates.values())),
            tokens_limit=limits.tokens_per_month,
            money=str(round(rules.calculate_cost(used), 2)) if rules.prices else None,
            money_limit=None if limits.money_per_month is None else str(limits.money_per_month),
            currency=rules.currency,
            percent=rules.calculate_percent(used, limits),
            models=to_token_counts(used),
            unpriced=sorted(model for model in used if rules.prices and rules.find_price(model) is None),
        )


def _show(rows: list[_Usage], rules: Budget) -> None:
    columns = ("person", "name", "month", "tokens", "limit", rules.currency, f"limit {rules.currency}", "used")
    lines = [
        [
            row.person,
            row.name,
            row.month,
            f"{row.tokens} (of these {row.estimated} estimated)" if row.estimated else row.tokens,
            _format_or_dash(row.tokens_limit),
            _format_or_dash(row.money) + (" and more: no price" if row.unpriced else ""),
            _format_or_dash(row.money_limit),
            "—" if row.percent is None else f"{row.percent} %",
        ]
        for row in rows
    ]
    write_table(columns, lines)


def _format_or_dash(value: object) -> str:
    return "—" if value is None else str(value)
