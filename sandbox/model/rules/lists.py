"""Rules for lists of open deals: by owner, stage, funnel, close date or sum."""

import re
from dataclasses import replace
from typing import Any

from sandbox.model.answers import Answer, say
from sandbox.model.dates import date_phrase, past_phrase
from sandbox.model.groups import Grouping
from sandbox.model.names import people
from sandbox.model.rules.base import DEAL_FIELDS, Handler, listing, proposing, today
from sandbox.model.slots import sums
from sandbox.model.stages import stage_named
from sandbox.model.text import Span, capitalised, mask, quotes
from sandbox.model.wishes import Wish, leftover

_MINE = re.compile(r"(?<!\w)(?:мо[иеяй]\w{0,2}|у меня|на мне|за мной|mine|my|i have|do i)(?!\w)")
_ALL = re.compile(r"(?<!\w)(?:все|всех|all|everyone\w*|every)(?!\w)")
_PERIOD_ENDS = {
    r"эт\w+ недел": "до конца недели",
    r"эт\w+ месяц": "до конца месяца",
    r"this week": "end of the week",
    r"this month": "end of the month",
}
_NEXT_PERIOD = re.compile(r"(?:следующ\w+ (?:недел|месяц|квартал)|next (?:week|month|quarter))")
_FUNNEL = re.compile(r"(?:воронк\w+|funnel|pipeline)\s+(?=[\w«\"“])", re.IGNORECASE)
_COUNTED = {"crm.deal.list": "deals", "crm.lead.list": "leads", "tasks.task.list": "tasks"}
_STATES = {("CLOSED", "N"): "open", ("CLOSED", "Y"): "closed", ("STAGE_SEMANTIC_ID", "S"): "won", ("!STATUS", "5"): "open"}
"""Conditions of a list → the word of a report for them."""
_EXPECTED = "CLOSEDATE:month"
_LESS = re.compile(r"(?<!\w)(?:меньше|дешевле|до|under|below|less than)\s")


def _deals(wish: Wish, key: str, filters: dict[str, Any], *, order: dict[str, str] | None = None, **values: object) -> Answer:
    step = listing(wish, "crm.deal.list", {**filters, "CLOSED": "N"}, select=DEAL_FIELDS, order=order)
    return proposing(wish, key, step, **values)


def _owner(wish: Wish) -> dict[str, Any]:
    if _MINE.search(wish.folded):
        return {"ASSIGNED_BY_ID": "@me"}
    return _owned_by([person.name for person in people(wish.text)])


def _owned_by(names: list[str]) -> dict[str, Any]:
    references = [f"@user:{name}" for name in names]
    if len(references) > 1:
        return {"@ASSIGNED_BY_ID": references}
    return {"ASSIGNED_BY_ID": references[0]} if references else {}


def mine(wish: Wish) -> Answer | None:
    """Propose to list the person's open deals, or everybody's for «все» ("all") without «мои» ("my").

    Return None if the message contains other words that may name a record.
    """
    if leftover(wish.text) or quotes(wish.text):
        return None
    if _ALL.search(wish.folded) and not _MINE.search(wish.folded):
        return _deals(wish, "deals.all", {})
    return _deals(wish, "deals.mine", {"ASSIGNED_BY_ID": "@me"})


def everybody(wish: Wish) -> Answer | None:
    """Propose to list everybody's open deals. Return None if the message contains other words that may name a record."""
    return None if leftover(wish.text) or quotes(wish.text) else _deals(wish, "deals.all", {})


def of_person(wish: Wish) -> Answer | None:
    """Propose to list the open deals of the people named.

    Return None if nobody is named, or if the message also says "my" or names a record.
    """
    named = people(wish.text)
    if not named or _MINE.search(wish.folded) or quotes(wish.text) or leftover(mask(wish.text, [p.span for p in named])):
        return None
    names = [person.name for person in named]
    return _deals(wish, "deals.person", _owned_by(names), person=", ".join(names))


def of_stage(wish: Wish) -> Answer | None:
    """Propose to list the open deals of one stage. Return None if no stage is named, or if the message also names a record."""
    stage = stage_named(wish.text)
    if stage is None:
        return None
    person_spans: list[Span] = [person.span for person in people(wish.text)]
    if leftover(mask(wish.text, [stage, *person_spans])):
        return None
    return _deals(wish, "deals.stage", {"STAGE_ID": f"@stage:{stage.text}", **_owner(wish)}, stage=stage.text)


def overdue(wish: Wish) -> Answer:
    """Propose to list the open deals whose close date has passed."""
    return _deals(wish, "deals.overdue", {**_owner(wish), "<CLOSEDATE": today(wish)}, order={"CLOSEDATE": "ASC"})


def closing(wish: Wish) -> Answer | None:
    """Propose to list the open deals with a close date up to a given date. Return None if no date is named."""
    when = date_phrase(wish.text)
    if when is None:
        return None
    if _NEXT_PERIOD.search(wish.folded):
        filters = {**_owner(wish), "CLOSEDATE": f"@date:{when.text}"}
        return _deals(wish, "deals.closing.within", filters, order={"CLOSEDATE": "ASC"}, when=when.text)
    limit = _last_day(when.text)
    filters = {**_owner(wish), "<=CLOSEDATE": f"@date:{limit}"}
    return _deals(wish, "deals.closing", filters, order={"CLOSEDATE": "ASC"}, when=limit)


def made(wish: Wish) -> Answer | None:
    """Propose to list the deals that were created in a past period. Return None if no such period is named."""
    return _of_past(wish, "deals.made", "DATE_CREATE", {})


def won(wish: Wish) -> Answer | None:
    """Propose to list the deals that were won in a past period. Return None if no such period is named."""
    return _of_past(wish, "deals.won", "CLOSEDATE", {"STAGE_SEMANTIC_ID": "S"})


def _of_past(wish: Wish, key: str, field: str, filters: dict[str, Any]) -> Answer | None:
    """Return the list of all deals, open or closed, whose date in `field` lies in the past period that the message names."""
    when = past_phrase(wish.text)
    if when is None or quotes(wish.text):
        return None
    step = listing(
        wish,
        "crm.deal.list",
        {**_owner(wish), **filters, field: f"@date:{when.text}"},
        select=[*DEAL_FIELDS, *([] if field in DEAL_FIELDS else [field])],
        order={field: "DESC"},
    )
    return proposing(wish, key, step, when=when.text)


def _last_day(phrase: str) -> str:
    """Return the phrase for the last day of a period: «до конца недели» for «на этой неделе». Any other phrase is returned unchanged."""
    for pattern, end in _PERIOD_ENDS.items():
        if re.search(pattern, phrase.lower()):
            return end
    return phrase


def by_size(wish: Wish) -> Answer | None:
    """Propose to list the open deals above or below a sum. Return None if no sum is named."""
    amounts = sums(wish.text)
    if not amounts:
        return None
    sign = "<" if _LESS.search(wish.folded) else ">"
    filters = {**_owner(wish), f"{sign}OPPORTUNITY": f"@sum:{amounts[0].text}"}
    return _deals(wish, "deals.small" if sign == "<" else "deals.big", filters, order={"OPPORTUNITY": "DESC"}, sum=amounts[0].text)


def of_funnel(wish: Wish) -> Answer | None:
    """Propose to list the open deals of one funnel. Return None if no funnel is named."""
    place = _FUNNEL.search(wish.text)
    if place is None:
        return None
    quote = next((q for q in quotes(wish.text) if q.start == place.end()), None)
    name = quote.text if quote else capitalised(re.split(r"[^\w-]", wish.text[place.end() :])[0])
    return _deals(wish, "deals.funnel", {"CATEGORY_ID": f"@category:{name}", **_owner(wish)}, funnel=name) if name else None


def group(answer: Answer, grouping: Grouping, wish: Wish) -> Answer | None:
    """Return the answer with its list counted as the wish asks for; None if its plan is no list of records.

    Who says nothing of their own records means those of everybody: one group would be no answer to «сделки по менеджерам».
    """
    if len(answer.steps) != 1 or answer.steps[0].method not in _COUNTED:
        return None
    step = answer.steps[0]
    filters = dict(step.params.get("filter", {}))
    owner = "RESPONSIBLE_ID" if step.method == "tasks.task.list" else "ASSIGNED_BY_ID"
    said = answer.say
    if filters.get(owner) == "@me" and not _MINE.search(wish.folded):
        del filters[owner]
        said = say("deals.all", wish.lang) if step.method == "crm.deal.list" and answer.rule == "deals.mine" else said
    states = [word for (name, code), word in _STATES.items() if str(filters.get(name)) == code]
    rest = {name: condition for name, condition in filters.items() if (name, str(condition)) not in _STATES}
    counted = _COUNTED[step.method]
    params = {
        "of": counted,
        **({"where": states[0]} if states else {}),
        **({"filter": rest} if rest else {}),
        "group_by": "expected:month" if grouping.by == _EXPECTED else grouping.by,
        "measures": ["count", "sum"] if counted == "deals" else ["count"],
    }
    headline = f"{said.rstrip(':')}{',' if ',' in said else ''} {grouping.words.lower()}:"
    report = replace(step, method="report", params=params, comment=say("comment.count", wish.lang), last=True)
    return replace(answer, say=headline, steps=(report,))


HANDLERS: dict[str, Handler] = {
    "deals.mine": mine,
    "deals.all": everybody,
    "deals.person": of_person,
    "deals.stage": of_stage,
    "deals.overdue": overdue,
    "deals.funnel": of_funnel,
    "deals.closing": closing,
    "deals.made": made,
    "deals.won": won,
    "deals.big": by_size,
}
