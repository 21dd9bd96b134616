"""Rules for reading one record, its comments or its history, and for deleting it.

The product, not the rule, decides whether a delete may run.
"""

import re

from sandbox.model.answers import Answer, Step, say
from sandbox.model.names import known_title
from sandbox.model.rules.base import Handler, asking, listing, proposing
from sandbox.model.slots import numbers, urls
from sandbox.model.text import quotes, squeeze
from sandbox.model.wishes import Wish, kind_of_target, leftover, spoken, target

_KINDS = {"contact": r"контакт|contact", "company": r"компани|фирм|compan", "lead": r"(?<!\w)лид|(?<!\w)lead", "task": r"задач|task"}


def kind_of(folded: str) -> str:
    """Return the kind of record that the person names (`contact`, `task`, ...), or `deal` if no kind is named.

    `folded` is the text as `fold` spells it (lower case, ё as е).
    """
    return next((kind for kind, pattern in _KINDS.items() if re.search(pattern, folded)), "deal")


def show(wish: Wish) -> Answer | None:
    """Propose to read one deal, or the record in a row of a list.

    Return None if no record can be identified, or if the text contains a web address.
    """
    deal = target(wish)
    if deal is None or urls(wish.text):
        return None
    kind = kind_of_target(wish, deal)
    method, key = ("tasks.task.get", "taskId") if kind == "task" else (f"crm.{kind}.get", "id")
    step = Step(method, {key: deal}, comment=say("comment.read", wish.lang))
    return proposing(wish, "deal.show", step, record=spoken(deal, wish.lang))


def show_row(wish: Wish) -> Answer | None:
    """Propose to read the record in a row of the list shown last. Return None if the wish names no row."""
    return show(wish) if wish.row is not None else None


def changes_of(wish: Wish) -> Answer:
    """Propose to read who changed a record; ask which record if it cannot be identified."""
    kind = kind_of(wish.folded)
    record = target(wish, kind)
    if record is None:
        return asking("which.changed", wish)
    named = kind_of_target(wish, record) if kind == "deal" else kind
    step = Step("history.of", {named: record}, comment=say("comment.history", wish.lang))
    return proposing(wish, "history", step)


def bare(wish: Wish) -> Answer | None:
    """Propose to read a deal if the whole message is only its title or its number; None for any other message."""
    rest = squeeze(wish.text)
    alone = known_title(rest) or any(q.end - q.start == len(rest) for q in quotes(rest))
    numbered = any(n.end - n.start == len(rest) for n in numbers(rest))
    return show(wish) if alone or numbered else None


def comments(wish: Wish) -> Answer | None:
    """Propose to read the comment field of a deal and its timeline comments; ask for the deal if it cannot be identified."""
    deal = target(wish)
    if deal is None:
        return asking("which.deal", wish)
    return proposing(
        wish,
        "deal.comments",
        # Long texts are shown to a model only if it selects them by name.
        listing(wish, "crm.deal.list", {"ID": deal}, select=["ID", "TITLE", "STAGE_ID", "CATEGORY_ID", "COMMENTS"]),
        Step(
            "crm.timeline.comment.list",
            {
                "filter": {"ENTITY_TYPE": "deal", "ENTITY_ID": deal},
                "select": ["ID", "CREATED", "AUTHOR_ID", "COMMENT"],
                "order": {"ID": "ASC"},
            },
            comment=say("comment.comments", wish.lang),
        ),
        record=spoken(deal, wish.lang),
    )


def delete(wish: Wish) -> Answer:
    """Propose to delete one record; ask which if it cannot be identified."""
    kind = kind_of(wish.folded)
    record, row = target(wish, kind), wish.inherited if wish.row is not None else "@current"
    if record is None or not (leftover(wish.text) or quotes(wish.text) or numbers(wish.text) or record in {"@current", row}):
        return asking("which.record", wish)
    method, key = ("tasks.task.delete", "taskId") if kind == "task" else (f"crm.{kind}.delete", "id")
    step = Step(method, {key: record}, comment=say("comment.delete", wish.lang))
    return proposing(wish, "delete", step, record=spoken(record, wish.lang))


HANDLERS: dict[str, Handler] = {
    "deal.show": show,
    "deal.bare": bare,
    "row.show": show_row,
    "record.history": changes_of,
    "comment.read": comments,
    "delete.record": delete,
}
