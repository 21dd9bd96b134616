"""Rules for tasks, planned activities and comments. The person dictates their texts."""

import re
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.dates import date_phrase
from sandbox.model.names import Person, people
from sandbox.model.rules.base import TASK_FIELDS, Handler, asking, listing, proposing
from sandbox.model.rules.creating import author_and_words, points_at_pasted
from sandbox.model.slots import numbers
from sandbox.model.text import HOLE, Span, capitalised, fold, mask, quotes, squeeze
from sandbox.model.wishes import Target, Wish, kind_of_target, spoken, target

_TASK_WORD = r"(?:задач\w*|задани[еяй]\w?|tasks?|напомни\w*|напоминание|remind(?:er)?)"
_TASK_HEAD = re.compile(
    rf"^.*?(?<!\w){_TASK_WORD}(?!\w)(?:\s(?:мне|меня|me))?(?:\s?[:—-])?(?:\s(?:to|о том,? чтобы|чтобы|что|about|that|про|о))?(?!\w)"
)
_ACTIVITY = re.compile(r"(?<!\w)(?P<word>дел[оа]|встреч\w|звонок|todo|to-do|meeting|call|activity)(?!\w)")
_NAMED = {"встреч": "Встреча", "звонок": "Звонок", "meeting": "Meeting", "call": "Call"}
_ABOUT_DEAL = re.compile(
    r"(?i:по|к|ко|в|для|про|on|for|about|to)\s(?:the\s)?(?i:сделк\w+|deal)\s+(?:«[^»]+»|\"[^\"]+\"|№?\s?\d+|[А-ЯЁA-Z][\w-]*(?:\s[А-ЯЁA-Z][\w-]*)*|[\w-]+)|(?:on|for|about|to)\s(?:the\s)?(?:[A-Z][\w-]*\s)+deal"
)
_ABOUT_NAME = re.compile(r"(?:[Пп]о|[Ff]or|[Oo]n)\s(?:«[^»]+»|\"[^\"]+\"|[А-ЯЁA-Z][\w-]*(?:\s[А-ЯЁA-Z][\w-]*)*)")
_TITLE = 120
_TIES = {"lead": "L", "deal": "D", "contact": "C", "company": "CO"}
_OWNER_TYPES = {"lead": 1, "deal": 2, "contact": 3, "company": 4}
_TODAY = re.compile(r"(?<!\w)(?:сегодня|today)(?!\w)")
_OVERDUE = re.compile(r"(?<!\w)(?:просроч\w+|overdue|late)(?!\w)")
_COLON = re.compile(r"\s?[:—]\s|\s-\s|,?\s(?:что|о том,? что|that|saying(?: that)?)\s")
_COMMENT_WORD = re.compile(r"(?<!\w)(?:комментар\w+|коммент\w{0,3}|заметк\w+|примечани\w+|comment|note)(?!\w)")


def mine(wish: Wish) -> Answer:
    """Propose to list the open tasks of the person or of somebody named.

    «Просроченные» ("overdue") and «сегодня» ("today") limit the list by deadline; today's list includes overdue tasks.
    """
    named = people(wish.text)
    who = f"@user:{named[0].name}" if named else "@me"
    filters: dict[str, Any] = {"RESPONSIBLE_ID": who, "!STATUS": "5"}
    now = wish.request.now
    if _OVERDUE.search(wish.folded):
        filters["<DEADLINE"] = now.isoformat() if now else say("today", wish.lang)
    elif _TODAY.search(wish.folded):
        filters["<DEADLINE"] = _midnight(now).isoformat() if now else say("tomorrow", wish.lang)
    step = listing(wish, "tasks.task.list", filters, select=TASK_FIELDS, order={"DEADLINE": "ASC"})
    return proposing(wish, "tasks.overdue" if _OVERDUE.search(wish.folded) else "tasks.list", step)


def _midnight(now: datetime) -> datetime:
    """Return the end of the day of `now`."""
    return datetime.combine(now.date() + timedelta(days=1), time(), tzinfo=now.tzinfo)


def _of_pasted(wish: Wish) -> Answer:
    """Propose to create a task from a forwarded message: its first line is the title, the whole message the description."""
    words = author_and_words(wish.request.pasted)[1]
    title = squeeze(words.partition("\n")[0])[:_TITLE]
    fields = {"TITLE": title, "DESCRIPTION": wish.request.pasted, "RESPONSIBLE_ID": "@me"}
    return proposing(wish, "task.add", Step("tasks.task.add", {"fields": fields}, comment=say("comment.add", wish.lang)), title=title)


def add(wish: Wish) -> Answer:
    """Propose to create a task; ask for the title if there is none.

    The task is for a person named next to the word «задача» ("task"), otherwise for the person who writes.
    """
    if wish.request.pasted and points_at_pasted(wish):
        return _of_pasted(wish)
    when, person = date_phrase(wish.text), _assignee(wish)
    head = _TASK_HEAD.search(wish.folded)
    spans = [when, person.span if person else None, Span(0, head.end(), "") if head else None]
    quoted = quotes(mask(wish.text, [when]))
    title = quoted[0].text if quoted else capitalised(_trimmed(mask(wish.text, spans)))
    if not title:
        return asking("which.task", wish)
    fields: dict[str, Any] = {"TITLE": title, "RESPONSIBLE_ID": f"@user:{person.name}" if person else "@me"}
    if when:
        fields["DEADLINE"] = f"@date:{when.text}"
    linked = _linked(wish)
    if linked is not None:
        fields["UF_CRM_TASK"] = [linked]
    step = Step("tasks.task.add", {"fields": fields}, comment=say("comment.add", wish.lang))
    return proposing(wish, "task.add", step, title=title)


def _trimmed(masked: str) -> str:
    text = squeeze(masked)
    text = re.sub(r"^(?:для|на|мне|меня|себе|for|to|me)(?:\s+|$)(?=\W|to\s|$)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"^(?:to|чтобы|что)\s", "", squeeze(text), flags=re.IGNORECASE)
    return re.sub(r"\s(?:на|к|до|в|by|on|at|for)$", "", squeeze(text))


def _assignee(wish: Wish) -> Person | None:
    """Return the person for whom a task is: «поставь Борису задачу …», «задачу для Бориса: …»; None if nobody is named.

    People who are part of the task's title do not count.
    """
    word = re.search(_TASK_WORD, wish.folded)
    for person in people(wish.text):
        gap = wish.folded[word.end() : person.span.start].strip() if word else ""
        before = word is not None and person.span.end <= word.start()
        if before or (gap in {"для", "на", "for"}) or (gap == "" and "dat" in person.cases and "gen" not in person.cases):
            return person
    return None


def _linked(wish: Wish) -> str | None:
    """Return the record that a task is about, as the portal ties a task to it, or None.

    That is a record that the same message creates, one in a row of the list shown last, or a deal that is mentioned and whose id is known.
    """
    deal = _mentioned_deal(wish)
    return tied_record(wish) or (f"D_{deal}" if deal is not None else None)


def tied_record(wish: Wish) -> str | None:
    """Return the new record or the row of a list that the wish is about, as the portal ties a task to it; None if there is none."""
    if wish.kind not in _TIES:
        return None
    if wish.row is not None:
        return f"{_TIES[wish.kind]}_{wish.request.rows[wish.row].partition(':')[2]}"
    return str(wish.inherited) if wish.is_about_created else None


def _mentioned_deal(wish: Wish) -> int | None:
    if not re.search(r"сделк|deal", wish.folded):
        return None
    given = numbers(wish.text)
    if given:
        return int(given[0].text)
    current = wish.request.current.get("deal")
    pointed = re.search(r"(?:эт\w{1,3}|текущ\w+|this|current)\s(?:сделк|deal)", wish.folded)
    number = current.get("id") if pointed and isinstance(current, dict) else None
    return number if isinstance(number, int) else None


def complete(wish: Wish) -> Answer:
    """Propose to complete one task; ask which one if it cannot be identified."""
    task = target(wish, "task")
    if task is None:
        return asking("which.task_done", wish)
    step = Step("tasks.task.complete", {"taskId": task}, comment=say("comment.update", wish.lang))
    return proposing(wish, "task.complete", step, record=spoken(task, wish.lang))


def todo(wish: Wish) -> Answer:
    """Propose to plan an activity in a deal; ask for the deadline or the deal if one is missing."""
    when, about = date_phrase(wish.text), _about(wish)
    deal = _deal_in(about, wish)
    if when is None:
        return asking("which.deadline", wish)
    if deal is None:
        return asking("which.deal", wish)
    title = _todo_title(wish, about, when)
    owner_type = _OWNER_TYPES.get(kind_of_target(wish, deal), 2)
    step = Step(
        "crm.activity.todo.add",
        {"ownerTypeId": owner_type, "ownerId": deal, "deadline": f"@date:{when.text}", "title": title, "responsibleId": "@me"},
        comment=say("comment.add", wish.lang),
    )
    return proposing(wish, "todo.add", step, title=title, record=spoken(deal, wish.lang))


def _about(wish: Wish) -> Span | None:
    found = _ABOUT_DEAL.search(wish.text) or _ABOUT_NAME.search(wish.text)
    return Span(found.start(), found.end(), found[0]) if found else None


def _deal_in(about: Span | None, wish: Wish) -> Target | None:
    if about is None:
        return wish.inherited or ("@current" if wish.request.current.get("deal") else None)
    return target(replace(wish, text=about.text))


def _todo_title(wish: Wish, about: Span | None, when: Span) -> str:
    masked = mask(wish.text, [about, when])
    colon = re.search(r":\s", masked)
    if colon and (said := squeeze(masked[colon.end() :])):
        return capitalised(said)
    word = _ACTIVITY.search(fold(masked))
    head = word or _TASK_HEAD.search(fold(masked))
    said = _trimmed(masked[head.end() if head else 0 :])
    named = next((name for stem, name in _NAMED.items() if word and word["word"].startswith(stem)), "")
    return capitalised(f"{named} {said}".strip() or say("todo", wish.lang))


def comment(wish: Wish) -> Answer:
    """Propose to add a comment to a deal's timeline; ask for the text or the deal if one is missing."""
    quoted = quotes(wish.text)
    cut = _COLON.search(mask(wish.text, quoted))  # a colon may stand in the name of the deal
    if cut:
        words, head = wish.text[cut.end() :].strip(' «»"'), wish.text[: cut.start()]
    elif wish.request.pasted:
        words, head = wish.request.pasted.strip(), wish.text
    elif quoted:
        spoken_words = next((q for q in quoted if _COMMENT_WORD.search(wish.folded[max(0, q.start - 14) : q.start])), quoted[-1])
        words, head = spoken_words.text, mask(wish.text, [spoken_words])
    else:
        return asking("which.comment", wish)
    if not words:
        return asking("which.comment", wish)
    deal = target(replace(wish, text=head.replace(HOLE, " ")))
    if deal is None:
        return asking("which.deal", wish)
    fields = {"ENTITY_TYPE": kind_of_target(wish, deal), "ENTITY_ID": deal, "COMMENT": capitalised(words)}
    step = Step("crm.timeline.comment.add", {"fields": fields}, comment=say("comment.add", wish.lang))
    return proposing(wish, "timeline.add", step, record=spoken(deal, wish.lang))


HANDLERS: dict[str, Handler] = {
    "task.list": mine,
    "task.add": add,
    "task.complete": complete,
    "task.todo": todo,
    "comment.add": comment,
}
