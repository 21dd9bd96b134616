"""Types and helpers for the rule handlers: the fields that lists request, and functions that build answers and steps.

A "wish" is one thing that a person asks for in a message. A "step" is a call that the answer proposes; the rules run nothing themselves.
"""

from collections.abc import Callable
from typing import Any, Final

from sandbox.model.answers import Answer, Step, say
from sandbox.model.reading import Observation
from sandbox.model.wishes import Target, Wish, kind_of_target

Handler = Callable[[Wish], Answer | None]
"""Answers a wish, or returns None so that the next rule is tried."""
Follower = Callable[[Wish, Observation], Answer | None]
"""Continues after the result of a step; None means that the result is just reported."""

DEAL_FIELDS: Final = ["ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "ASSIGNED_BY_ID", "CLOSEDATE"]
TASK_FIELDS: Final = ["ID", "TITLE", "DEADLINE", "STATUS", "RESPONSIBLE_ID"]
CONTACT_FIELDS: Final = ["ID", "NAME", "LAST_NAME", "PHONE", "EMAIL", "COMPANY_ID", "ASSIGNED_BY_ID"]
COMPANY_FIELDS: Final = ["ID", "TITLE", "PHONE", "EMAIL", "ASSIGNED_BY_ID"]
LEAD_FIELDS: Final = ["ID", "TITLE", "NAME", "LAST_NAME", "STATUS_ID", "OPPORTUNITY", "CURRENCY_ID", "ASSIGNED_BY_ID"]


def asking(key: str, wish: Wish, **values: object) -> Answer:
    """Return an answer that asks the person something and proposes no step. `key` is the key of the sentence."""
    return Answer(rule=key, say=say(key, wish.lang, **values))


def proposing(wish: Wish, key: str, *steps: Step, **values: object) -> Answer:
    """Return an answer that proposes steps; `key` is the key of its sentence, `values` are filled into the sentence."""
    return Answer(rule=key, say=say(key, wish.lang, **values), steps=steps)


def today(wish: Wish) -> str:
    """Return today's date for a filter, from the state of the conversation.

    Without a date there it is a reference such as `@date:today`, which the CRM agent resolves.
    """
    now = wish.request.now
    return now.date().isoformat() if now else say("today", wish.lang)


def listing(wish: Wish, method: str, filters: dict[str, Any], *, select: list[str], order: dict[str, str] | None = None) -> Step:
    """Return a step that calls a list method. The CRM agent fetches the pages and computes count and sum."""
    params: dict[str, Any] = {"filter": filters, "select": list(select)}
    if order:
        params["order"] = order
    return Step(method, params, comment=say("comment.list", wish.lang))


def updating(wish: Wish, record: Target, fields: dict[str, Any]) -> Step:
    """Return a step that updates one record with the given fields."""
    return Step(f"crm.{kind_of_target(wish, record)}.update", {"id": record, "fields": fields}, comment=say("comment.update", wish.lang))
