"""Steps that wait on cards, withdrawn or changed by the short names that STATE gives them, also when it hides their parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from engines.crm_agent.core.setbacks import ALONE
from engines.crm_agent.core.turn_work import TurnWork
from orchestrator.directory.answers import Unresolved
from orchestrator.domain.effect import Provenance, to_written_params
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import CHANGE, Step
from state.model.card import Card
from state.stored import JsonObject

_GONE: Final = Notice(code="card-not-waiting")
_ALONE: Final = Unresolved(
    notice=Notice(code=ALONE), detail="other steps of its plan stand behind it on its card: withdraw it and propose all of them anew"
)


def name_waiting(waiting: Sequence[str], known: Mapping[str, str]) -> Mapping[str, str]:
    """Confirmations → their names, the oldest first; `known` are names that an answer of the model uses already."""
    fresh = (key for key in waiting if key not in known)
    return {**known, **{key: f"w{number}" for number, key in enumerate(fresh, start=len(known) + 1)}}


def find_waiting(ctx: TurnContext, work: TurnWork, step: Step) -> Card | Unresolved:
    """The card that a step names."""
    name = str(step.params.get("card") or "")
    confirmation_id = next((key for key, own_name in work.waiting.items() if own_name == name), "")
    card = ctx.state.cards.get(confirmation_id)
    if card is not None and card.is_waiting:
        return _ALONE if step.method == CHANGE and card.next_steps else card
    cards = ctx.state.cards
    names = ", ".join(own_name for key, own_name in work.waiting.items() if key in cards and cards[key].is_waiting)
    detail = f'no step {name!r} waits for this person; "card" is one of STATE.waiting_for_a_person: {names or "none waits"}'
    return Unresolved(notice=_GONE, detail=detail)


def build_withdrawal(card: Card) -> Step:
    return Step(method=card.method, params=to_written_params(card.method, card.params), confirmation_decision="deny")


async def build_changed(ctx: TurnContext, card: Card, step: Step, work: TurnWork) -> Step:
    """The call of the card with the values that the step gives."""
    take_up_card(card, work)
    changes = step.params.get("params")
    params = _merge(await ctx.load_proposed_params(card), changes if isinstance(changes, Mapping) else {})
    return replace(step, method=card.method, params=params)


def take_up_card(card: Card | None, work: TurnWork) -> None:
    """What stands for the card's call keeps the mistrust with which that was proposed, and all mistrust if it is not known any more."""
    doubt = Provenance(prose=True, pasted=True)
    work.take_up_origins(Provenance.model_validate(card.provenance) if card is not None and card.provenance else doubt)


def _merge(old: JsonObject, new: JsonObject) -> dict[str, object]:
    """Field by field; a list is replaced as a whole."""
    merged = dict(old)
    for name, value in new.items():
        before = merged.get(name)
        merged[name] = _merge(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return merged
