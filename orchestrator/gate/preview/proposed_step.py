"""Draws what a standing order would propose, as a person reads it: labels, names and words in place of what only a firing knows."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewLine
from orchestrator.domain.effect import STAND_IN, FollowingStep
from orchestrator.domain.standing_orders import OrderTerms
from orchestrator.domain.taint import Value, split_values
from orchestrator.expressions.placeholders import SCENARIO, Template
from orchestrator.gate.call import standing_orders as orders
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.preview.following_steps import Drawing, StandIn, draw_step, name_records
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale
from state.canonical import dumps

_LEXICON: Final = load_lexicon("standing_orders")
_DATE: Final = "@date:"
_OWNER: Final = STAND_IN + 1
_LOWEST: Final = 100_000_000


async def draw_proposed(call: Call, actor: Actor, deps: GateDeps, ledger: Ledger) -> list[tuple[FollowingStep, Preview]]:
    """Of other calls nothing. The step has no slot: its card covers no call, each proposal asks with a card of its own."""
    terms = orders.to_terms(call.params) if call.method == orders.ADD else OrderTerms()
    if not terms.propose:
        return []
    template = Template(dict(terms.propose.get("params") or {}), SCENARIO)
    filled, _ = split_values(template.fill(_build_names(terms, actor.locale)).data)
    step = FollowingStep(method=str(terms.propose["method"]), params=filled, made=terms.record_kind)
    record, owner = secrets.SystemRandom().sample(range(_LOWEST, 10 * _LOWEST), 2)
    words = _read_words(actor.locale)
    stand_ins = {
        STAND_IN: StandIn(kind=terms.record_kind, number=record, title=words["record"], fields={}),
        _OWNER: StandIn(kind="user", number=owner, title=words["owner"], fields={}),
    }
    drawing = Drawing(maker=call, actor=actor, deps=deps, ledger=ledger)
    drawn = await draw_step(step, stand_ins, drawing)
    if drawn is None or not drawn.verb:  # nothing that stands may be left out
        drawn = Preview(method=step.method, lines=[PreviewLine(after=escape_text(dumps(terms.propose.get("params")), locale=actor.locale))])
    named = name_records(drawn, tuple(stand_ins.values()))
    return [(step, named.model_copy(update={"lines": list(_drop_marks(named))}))]


def _drop_marks(preview: Preview) -> Iterator[PreviewLine]:
    """Days in words are read at each firing, and so is what the record has then."""
    for line in preview.lines:
        yield line.model_copy(update={"before": "", "after": line.after.replace(_DATE, "")})


def _build_names(terms: OrderTerms, locale: Locale) -> Mapping[str, Value]:
    words = _read_words(locale)
    values = {
        "record": _find_single(terms) or STAND_IN,
        "owner": _OWNER,
        "title": words["title"],
        "today": words["today"],
        "tomorrow": words["tomorrow"],
        "days": terms.quiet,
    }
    return {name: Value(value) for name, value in values.items()}


def _find_single(terms: OrderTerms) -> int | None:
    """The number of the only record that the order is about."""
    conditions = terms.question.get("filter") or {}
    number = conditions.get("ID") if len(conditions) == 1 else None
    return number if isinstance(number, int) else None


def _read_words(locale: Locale) -> dict[str, str]:
    return _LEXICON.read_table("placeholders", locale)
