"""Rules for changes of many records at once: one step, of which the program finds the records and shows one card."""

import re
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.dates import date_phrase
from sandbox.model.names import Person, people
from sandbox.model.rules.base import Handler, asking, proposing, today
from sandbox.model.text import capitalised, mask, squeeze
from sandbox.model.wishes import Wish

_DEALS = re.compile(r"(?<!\w)(?:сделк\w+|сделок|deals?)(?!\w)")
_MINE = re.compile(r"(?<!\w)(?:мо[ияейю]\w{0,2}|с меня|от меня|my|mine|from me)(?!\w)")
_GIVER = frozenset({"от", "у", "с", "of", "from"})
_TITLE = re.compile(r":\s|\s[—-]\s")


def hand_over(wish: Wish) -> Answer | None:
    """«передай все открытые сделки Анны Борису», «передай всё от Анны Борису и Вере»; None for what names no two people."""
    named = people(wish.text)
    giver = next((one for one in named if one.before in _GIVER or _is_owned(one)), None)
    takers = [f"@user:{one.name}" for one in named if one is not giver]
    source = f"@user:{giver.name}" if giver is not None else "@me" if _MINE.search(wish.folded) else ""
    if not source or not takers:
        return asking("which.people", wish) if named else None
    params: dict[str, Any] = {"from": source, "to": takers}
    if _DEALS.search(wish.folded):
        params["what"] = ["deals"]
    step = Step("person.handover", params, comment=say("comment.many", wish.lang), last=True)
    words = {"giver": giver.name if giver is not None else say("you", wish.lang), "takers": ", ".join(one[6:] for one in takers)}
    return proposing(wish, "many.handover", step, **words)


def _is_owned(person: Person) -> bool:
    return "gen" in person.cases and "dat" not in person.cases


def add_tasks(wish: Wish) -> Answer:
    """«поставь задачу по каждой просроченной сделке: позвонить»; without a deadline by tomorrow, for who asks."""
    when, named = date_phrase(wish.text), people(wish.text)
    cut = _TITLE.search(wish.text)
    words = squeeze(mask(wish.text[cut.end() :], []) if cut else "").strip(" .")
    filters: dict[str, Any] = {"CLOSED": "N", "<CLOSEDATE": today(wish), "ASSIGNED_BY_ID": f"@user:{named[0].name}" if named else "@me"}
    fields = {
        "TITLE": f"{capitalised(words) if words else say('many.task', wish.lang)}: {{TITLE}}",
        "RESPONSIBLE_ID": filters["ASSIGNED_BY_ID"],
        "DEADLINE": f"@date:{when.text}" if when else say("tomorrow", wish.lang),
        "UF_CRM_TASK": ["D_{ID}"],
    }
    added = {"method": "tasks.task.add", "fields": fields}
    step = Step("change.all", {"of": "deals", "filter": filters, "add": added}, comment=say("comment.many", wish.lang), last=True)
    return proposing(wish, "many.tasks", step)


HANDLERS: dict[str, Handler] = {"many.handover": hand_over, "many.tasks": add_tasks}
