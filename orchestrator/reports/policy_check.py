"""Checks the text of a policy, with the line of each mistake, and describes a policy in parts for people."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from pydantic_core import ErrorDetails

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from orchestrator.definitions.mistakes import report_unknown_fields, report_unknown_value
from orchestrator.definitions.model_mistakes import list_expected, report_objection
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import quote_part
from orchestrator.domain.budget import WrongValue
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding, Path, format_path
from orchestrator.domain.http_address import OddSite, parse_listed_site
from orchestrator.gate.call.policy import (
    PARTS,
    SHIPPED,
    InvalidPolicy,
    LoadedPolicy,
    Policy,
    UnknownName,
    find_unknown_names,
    load_from_text,
)
from orchestrator.gate.call.policy_format import Places, Rule

SENTENCES: Final[dict[str, str]] = {
    "finding-policy-duration": '"{name}": a duration such as 1h, 90m or 2d is needed',
    "finding-policy-duration-least": '"{name}": a duration longer than nothing is needed, such as 1h, 90m or 2d',
    "finding-policy-word-empty": "an empty word fits nothing; remove it",
    "finding-policy-why": '"{name}": one plain sentence is needed: people read it when the rule applies',
    "finding-policy-condition-missing": "the rule names no condition, so it would concern every change; name one, such as role: manager",
    "finding-policy-currency-alone": 'a currency is that of "above"; name the sum, or remove the currency',
    "finding-policy-prices-missing": "a limit in money needs prices, such as prices: {example}",
    "finding-policy-site": '"{name}" is no host; write it without a path, such as api.example.com',
    "finding-policy-code": '"{name}" is no code of a currency, such as RUB',
    "finding-policy-person": '"{name}" is no key of a person, which is a channel and an account there',
    "finding-policy-method-unknown": 'the catalogue has no method "{name}"',
    "finding-policy-pattern-unfit": '"{name}" fits no method of the catalogue',
    "finding-policy-entity-unknown": 'there is no kind of record "{name}"',
    "finding-policy-field-unknown": 'the catalogue has no field "{name}"',
    "finding-policy-kind-unknown": 'there is no kind of definitions "{name}"',
    "finding-policy-no-keys": "keys with values are needed, such as {example}",
    "finding-policy-empty": "the text says nothing; write {example} if nothing is wanted",
    "finding-policy-long": "the text has more than {most} characters",
    "finding-policy-yaml": "the text is no YAML that can be read; look at indents, colons, quotes and brackets",
    "finding-policy-catalogue": "the methods added to the catalogue do not fit: {problem}",
}
"""By code; people get the same from the Fluent files."""
_PRICES: Final = "{gpt-5-thinking: {input: 120, output: 960}}"
_UNKNOWN: Final = {
    "method": "finding-policy-method-unknown",
    "pattern": "finding-policy-pattern-unfit",
    "entity": "finding-policy-entity-unknown",
    "field": "finding-policy-field-unknown",
    "kind": "finding-policy-kind-unknown",
}
_LONGEST_PROBLEM: Final = 500


def build_mistake(code: str, path: Path = (), places: Places | None = None, *, suggestion: str = "", **args: str | int) -> Finding:
    """`places` tells the line of `path`; `args` are those of the sentence."""
    short_args = {key: arg[:_LONGEST_PROBLEM] if isinstance(arg, str) else arg for key, arg in args.items()}
    findings = Findings()
    findings.add(code, SENTENCES[code].format(**short_args), path, suggestion=suggestion, args=short_args)
    return _place(findings, path, places or {})[0]


def _place(findings: Findings, path: Path, places: Places) -> tuple[Finding, ...]:
    """With the line of the nearest key at or above `path`."""
    line = next((places[path[:end]][1] for end in range(len(path), 0, -1) if path[:end] in places), 0)
    return tuple(replace(finding, line=line) for finding in findings.list_all())


def list_unreadable(text: str, error: SettingsError) -> tuple[Finding, ...]:
    reading = read_document(text, "yaml")
    findings = tuple(finding for finding in reading.findings if finding.severity == "error" and finding.code != "finding-document-empty")
    if findings:
        return findings
    data = reading.document.data if reading.document is not None else None
    if reading.document is None and not reading.findings:
        return (replace(build_mistake("finding-policy-yaml"), message=error.reason),)
    if data is None or data == {}:
        return (build_mistake("finding-policy-empty", example="rules: []"),)
    return (replace(build_mistake("finding-policy-no-keys", example="refuse_methods: [crm.deal.add]"), line=1),)


def list_unknown_names(names: Iterable[UnknownName], places: Places) -> tuple[Finding, ...]:
    return tuple(
        build_mistake(_UNKNOWN[one.kind], one.place, places, suggestion=one.suggestion, name=quote_part(one.name)) for one in names
    )


def list_objections(error: InvalidPolicy) -> tuple[Finding, ...]:
    """Why keys and values make no policy."""
    findings = [finding for one in error.errors for finding in _list_objections(one, error.places)]
    return tuple(sorted(findings, key=lambda finding: finding.line))


def _list_objections(error: ErrorDetails, places: Places) -> tuple[Finding, ...]:
    """What pydantic objects to at one place; a wrong key is named itself."""
    path, kind, input_value = tuple(part for part in error["loc"] if part != "[key]"), error["type"], error["input"]
    if code := _find_own_code(error):
        name = _find_odd_site(input_value) if code == "finding-policy-site" else _name_value(path, error)
        return (build_mistake(code, path, places, name=quote_part(name), example=_PRICES),)
    findings = Findings()
    if kind == "extra_forbidden":
        model = PARTS.get(str(path[0]), Policy) if len(path) > 1 else Policy
        report_unknown_fields(findings, path[:-1], {str(path[-1]): input_value}, list(model.model_fields))
    elif kind == "literal_error":
        report_unknown_value(findings, path, input_value, list_expected(str(error.get("ctx", {}).get("expected", ""))))
    else:
        report_objection(findings, error, _put_at(path[:-1] if kind == "missing" else path, input_value), ())
    return _place(findings, path, places)


def _find_own_code(error: ErrorDetails) -> str:
    """For what only policies object to; "" for everything else."""
    context = error.get("ctx", {})
    match error["type"], context.get("error"):
        case "value_error", WrongValue() as wrong:
            return wrong.code
        case "value_error", OddSite():
            return "finding-policy-site"
        case "greater_than", _ if "timedelta" in str(context.get("gt")):
            return "finding-policy-duration-least"
        case "string_pattern_mismatch", _:
            return "finding-policy-code" if "A-Z" in str(context.get("pattern")) else "finding-policy-person"
        case _:
            return ""


def _name_value(path: Path, error: ErrorDetails) -> str:
    """A text of the wrong form, otherwise the key."""
    return str(error["input"]) if error["type"] == "string_pattern_mismatch" else format_path(path[-1:])


def _find_odd_site(input_value: object) -> str:
    for entry in input_value if isinstance(input_value, Iterable) and not isinstance(input_value, str) else ():
        try:
            parse_listed_site(str(entry))
        except OddSite:
            return str(entry)
    return str(input_value)


def _put_at(path: Sequence[str | int], value: object) -> object:
    """The value at `path` in otherwise empty data."""
    data = value
    for part in reversed(path):
        data = {part: data}
    return data


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
