"""Rows of a policy and rehearsals in the person's words."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from bot.console.visit import Visit
from bot.i18n.translate import split_method
from orchestrator.domain.outputs import Notice
from orchestrator.language.money_format import format_sum
from orchestrator.reports.policy_check import PolicyRow

_COUNTED: Final = frozenset({"sum_jump", "records_per_batch", "writes_per_day", "undo_for", "remind_lead_after"})
_RULES: Final = frozenset({"ask", "ask_twice", "lead", "two_people", "refuse"})
_METHODS: Final = frozenset({"open_methods", "refuse_methods", "ask_methods", "method"})
_FIELDS: Final = frozenset({"critical_fields", "field"})


def format_row(visit: Visit, row: PolicyRow) -> list[str]:
    """A line for each word; empty if the policy sets nothing there."""
    if row.key in _RULES:
        return [row.words[0], *_format_conditions(visit, row)]
    if row.key in _COUNTED and row.number is not None:
        return [visit.say("console-policy-count", key=row.key, count=int(row.number))]
    if row.number is not None:
        return [_format_number(visit, row.number, row.currency)]
    if row.key in {"edit", "publish"}:
        return [visit.say("console-role", role=role) for role in row.words[1:]]
    return [_format_word(visit, row.key, word) for word in row.words]


def _format_conditions(visit: Visit, row: PolicyRow) -> Iterator[str]:
    for condition in row.words[1:]:
        name, _, words = condition.partition(":")
        formatted = ", ".join(_format_word(visit, name, word) for word in words.split(", "))
        yield visit.say("console-policy-when", name=name, words=formatted)
    if row.number is not None:
        yield visit.say("console-policy-when", name="above", words=_format_number(visit, row.number, row.currency))


def _format_word(visit: Visit, key: str, word: str) -> str:
    if key in _METHODS:
        act = name_call(visit, word)
        return f"{act} ({word})" if act != word else word
    if key in _FIELDS:
        name = visit.say("gate-field", field=word)
        return word if word in name else f"{name} ({word})"
    if key in {"person", "ask_people"}:
        name = visit.services.access.find_name(word)
        return f"{name} ({word})" if name else word
    if key == "role":
        return visit.say("console-role", role=word)
    if key in {"entity", "mode", "open_kinds", "halt_on_block", "read_linked_customers", "delete_own_comments"}:
        return visit.say("console-policy-word", word=word)
    return word


def _format_number(visit: Visit, number: Decimal, currency: str) -> str:
    return format_sum(number, currency or None, locale=visit.tr.locale)


def format_reasons(visit: Visit, reasons: tuple[Notice, ...]) -> str:
    """Each sentence once."""
    sentences = [
        visit.say_notice(reason) if visit.tr.has_message(reason.code) else str(reason.args.get("recorded", "")) for reason in reasons
    ]
    return " ".join(dict.fromkeys(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}." for sentence in sentences if sentence))


def name_call(visit: Visit, method: str) -> str:
    """Its name where there are no words."""
    return visit.tr.describe_call(method, *split_method(method)) or method
