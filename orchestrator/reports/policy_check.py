from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding
from orchestrator.gate.call.policy import SHIPPED, InvalidPolicy, LoadedPolicy, Policy, find_unknown_names, load_from_text
from orchestrator.gate.call.policy_format import Rule
from orchestrator.reports.policy_findings import build_mistake, list_objections, list_unknown_names, list_unreadable


@dataclass(frozen=True, kw_only=True)
class CheckedPolicy:
    """The policy of a text, or its mistakes."""

    loaded: LoadedPolicy | None = None
    mistakes: tuple[Finding, ...] = ()
    """With their lines; 0 for none."""
    needs_restart: bool = False
    """It adds methods to the catalogue, which count from the next start."""

    @property
    def digest(self) -> str:
        """Empty for a text with mistakes."""
        return self.loaded.policy.digest if self.loaded is not None else ""


@dataclass(frozen=True, kw_only=True)
class PolicyRow:
    """Words, or a number with its currency; neither if nothing is set."""

    key: str
    words: tuple[str, ...] = ()
    number: Decimal | None = None
    currency: str = ""


@dataclass(frozen=True, kw_only=True)
class PolicyPart:
    """Rows of one subject, such as "limits"."""

    name: str
    rows: tuple[PolicyRow, ...]


def check_policy_text(
    text: str, name: str, *, catalogue: Catalogue, in_force: Policy, kinds: Callable[[Policy], Collection[str]]
) -> CheckedPolicy:
    """As if `text` stood in the file `name`; `kinds` may be named.

    Using methods that the text adds is a mistake: the running bot would not take it.
    """
    try:
        loaded = load_from_text(text, name)
    except InvalidPolicy as error:
        return CheckedPolicy(mistakes=list_objections(error))
    except SettingsError as error:
        return CheckedPolicy(mistakes=list_unreadable(text, error))
    if unknown := list_unknown_names(find_unknown_names(loaded.policy, catalogue, kinds=kinds(loaded.policy)), loaded.places):
        return CheckedPolicy(mistakes=unknown)
    needs_restart = loaded.policy.catalogue != in_force.catalogue
    if needs_restart:
        try:
            load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in loaded.policy.catalogue])
        except ValueError as error:
            return CheckedPolicy(mistakes=(build_mistake("finding-policy-catalogue", ("catalogue",), loaded.places, problem=str(error)),))
    return CheckedPolicy(loaded=loaded, needs_restart=needs_restart)


def describe_policy(policy: Policy) -> tuple[PolicyPart, ...]:
    return (
        PolicyPart(name="limits", rows=tuple(_describe_limits(policy))),
        PolicyPart(name="asking", rows=tuple(_describe_asking(policy))),
        PolicyPart(name="rules", rows=tuple(_describe_rule(rule, policy) for rule in policy.rules)),
        PolicyPart(name="outside", rows=tuple(_describe_outside(policy))),
        PolicyPart(name="models", rows=tuple(_describe_budget(policy))),
        PolicyPart(name="roles", rows=tuple(_describe_roles(policy))),
    )


def _describe_limits(policy: Policy) -> Iterator[PolicyRow]:
    for key, limit in (("ask_above", policy.ask_above), ("four_eyes_above", policy.four_eyes_above)):
        yield PolicyRow(key=key, number=limit, currency=policy.currency)
    yield PolicyRow(key="sum_jump", number=_to_decimal(policy.sum_jump))
    yield PolicyRow(key="records_per_batch", number=_to_decimal(policy.caps.records_per_batch))
    yield PolicyRow(key="writes_per_day", number=_to_decimal(policy.caps.writes_per_day))
    yield PolicyRow(key="undo_for", number=_to_decimal(int(policy.undo_for.total_seconds() // 60)))
    yield PolicyRow(key="remind_lead_after", number=_to_decimal(int(policy.remind_lead_after.total_seconds() // 60)))
    yield PolicyRow(key="rates", words=tuple(f"{name} = {rate} {policy.currency}" for name, rate in sorted(policy.rates.items())))


def _describe_asking(policy: Policy) -> Iterator[PolicyRow]:
    yield PolicyRow(key="critical_fields", words=tuple(sorted(policy.critical_fields)))
    yield PolicyRow(key="ask_methods", words=tuple(sorted(policy.ask_methods)))
    yield PolicyRow(key="ask_people", words=tuple(sorted(policy.ask_people)))
    yield PolicyRow(key="open_methods", words=tuple(sorted(policy.open_methods)))
    yield PolicyRow(key="refuse_methods", words=tuple(sorted(policy.refuse_methods)))
    for key in ("halt_on_block", "read_linked_customers", "delete_own_comments"):
        yield PolicyRow(key=key, words=("yes" if getattr(policy, key) else "no",))


def _describe_rule(rule: Rule, policy: Policy) -> PolicyRow:
    """Its consequence, reason and conditions."""
    conditions_by_name = {
        "method": rule.method,
        "entity": rule.entity,
        "field": rule.field,
        "person": rule.person,
        "role": rule.role,
        "mode": rule.mode,
    }
    conditions = [f"{name}:{', '.join(words)}" for name, words in conditions_by_name.items() if words]
    conditions += [f"times:{rule.times}"] if rule.times is not None else []
    currency = rule.currency or policy.currency
    return PolicyRow(key=rule.then, words=(rule.why, *conditions), number=rule.above, currency=currency if rule.above is not None else "")


def _describe_outside(policy: Policy) -> Iterator[PolicyRow]:
    yield PolicyRow(key="open_kinds", words=tuple(sorted(policy.open_kinds)))
    yield PolicyRow(key="http_hosts", words=tuple(sorted(str(host) for host in policy.http_hosts)))
    yield PolicyRow(key="http_private_hosts", words=tuple(sorted(policy.http_private_hosts)))
    yield PolicyRow(key="mongo_collections", words=tuple(sorted(str(name) for name in policy.mongo_collections)))
    yield PolicyRow(key="telegram_chats", words=tuple(str(chat) for chat in sorted(policy.telegram_chats)))
    yield PolicyRow(key="event_handler_hosts", words=tuple(sorted(policy.event_handler_hosts)))


def _describe_budget(policy: Policy) -> Iterator[PolicyRow]:
    budget = policy.budget
    yield PolicyRow(key="tokens_per_month", number=_to_decimal(budget.tokens_per_month))
    yield PolicyRow(key="money_per_month", number=budget.money_per_month, currency=budget.currency)
    prices = (f"{name}: {price.input} / {price.output} {budget.currency}" for name, price in sorted(budget.prices.items()))
    yield PolicyRow(key="prices", words=tuple(prices))
    yield PolicyRow(key="budget_people", words=tuple(sorted(budget.people)))


def _describe_roles(policy: Policy) -> Iterator[PolicyRow]:
    for name, roles in sorted(policy.definitions.items()):
        yield PolicyRow(key="edit", words=(name, *sorted(roles.edit or ())))
        yield PolicyRow(key="publish", words=(name, *sorted(roles.publish or ())))


def _to_decimal(number: int | None) -> Decimal | None:
    return None if number is None else Decimal(number)
