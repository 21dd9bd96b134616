"""What a turn says at its end beyond the words of its engine: why it was cut short, what it has done, which addresses it shows. Ring 2."""

from orchestrator.context import Context
from orchestrator.engines.base import EndReason, TurnEnd, TurnInput
from orchestrator.links import hosts_in, known_links_only
from orchestrator.messages import Actor, Notice, Outcome, Pending, Reply, Text


def cut_short(reason: EndReason, context: Context, notice: Notice) -> TurnEnd:
    """The end of a turn that did not get to its own: what it does not know is said, the cards it made go out."""
    unknown = (item.reason for item in context.results if isinstance(item, Outcome) and item.status == "unknown" and item.reason)
    notices = [notice, *unknown]
    made = [item.confirmation_id for item in context.results if isinstance(item, Pending)]
    entries = context.state["agent"]["confirmations"].values()  # those too that a process before this one made
    waiting = [item["confirmation_id"] for item in entries if item["status"] == "requested" and item.get("turn_id") == context.turn.turn_id]
    cards = tuple(dict.fromkeys([*made, *waiting]))
    return TurnEnd(reason=reason, reply=Reply(notices=tuple(notices), confirmations=cards, turn_id=context.turn.turn_id))


def with_done(reply: Reply, context: Context) -> Reply:
    """Where no words of the model say it, code says what was done: who hears only of the trouble would ask for it again."""
    made = done(context)
    if not made or reply.parts or reply.choices:
        return reply
    told = Notice(code="done-before", args={"calls": ", ".join(made)})
    return reply.model_copy(update={"notices": (*reply.notices[:1], told, *reply.notices[1:])})


def done(context: Context) -> list[str]:
    """The methods of the changes that this turn has made."""
    made = (item for item in context.results if isinstance(item, Outcome) and item.status == "succeeded")
    return list(dict.fromkeys([*context.recorded.done, *(item.method for item in made if item.call_class not in {"", "R"})]))


def closed(reply: Reply, turn: TurnInput, actor: Actor, known: frozenset[str]) -> Reply:
    """The reply without addresses that lead elsewhere than to `known` hosts and those the person named."""
    hosts = known | hosts_in(turn.text)
    parts = tuple(
        Text(text=known_links_only(part.text, hosts, locale=actor.locale)) if isinstance(part, Text) else part for part in reply.parts
    )
    return reply.model_copy(update={"parts": parts})
