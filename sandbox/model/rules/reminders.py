"""The rule for reminders: «напомни в пятницу в 11 позвонить Ромашке».

It passes the time on in the person's words; the product parses it.
"""

import re
from dataclasses import replace
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.dates import date_phrase
from sandbox.model.lexicon import load
from sandbox.model.rules.base import Handler, asking, proposing
from sandbox.model.rules.tasks import tied_record
from sandbox.model.text import Span, capitalised, fold, mask, quotes, squeeze
from sandbox.model.wishes import Target, Wish, kind_of_target, target

_HEAD = re.compile(
    r"^.*?(?<!\w)(?:напомни\w*|напоминани\w+|remind\w*)(?!\w)(?:\s(?:мне|меня|me))?(?:\s?[:—-])?"
    r"(?:\s(?:to|о том,? чтобы|о том,? что|чтобы|что|about|that|про|о|об))?(?!\w)"
)
_IN_TIME = re.compile(
    r"(?<!\w)через\s(?:\d+\s)?(?:полчаса|час\w{0,2}|минут\w?)(?!\w)|(?<!\w)in\s(?:\d+|an?)\s(?:hour|minute)s?(?!\w)"
    r"|(?<![\w.,])(?:в|at)\s\d{1,2}(?::\d{2})?(?:\s(?:утра|вечера|дня|am|pm))?(?![\w.,:])"
)
_HOUR_AFTER = re.compile(r",?\s(?:в|at)\s\d{1,2}(?::\d{2})?(?:\s(?:утра|вечера|дня|am|pm))?(?![\w.:%]|,\d)")
_HOUR_BEFORE = re.compile(r"(?<!\w)(?:в|at)\s\d{1,2}(?::\d{2})?(?:\s(?:утра|вечера|дня|am|pm))?\s$")
_DEAL = re.compile(
    r"(?i:по|в|про|on|for|about)\s(?:the\s)?(?i:сделк\w+|deal)\s+(?:«[^»]+»|\"[^\"]+\"|№?\s?\d+|[А-ЯЁA-Z][\w-]*)|(?i:по|в)\s(?i:этой\sсделк\w+)"
)
_JOINTS = re.compile(r"^(?:мне|me|to|чтобы|что|о том,? что|про|об?)\s|\s(?:на|к|в|во|by|on|at)$", re.IGNORECASE)


def remind(wish: Wish) -> Answer:
    """Propose to set a reminder; ask for the time or the text if one is missing."""
    day = date_phrase(wish.text)
    when = _with_hour(day, wish) if day else _hour(wish)
    head = _HEAD.search(wish.folded)
    about = _DEAL.search(mask(wish.text, [when]))
    deal = Span(about.start(), about.end(), about[0]) if about else None
    quoted = quotes(mask(wish.text, [when, deal]))
    rest = mask(wish.text, [when, deal, Span(0, head.end(), "") if head else None])
    text = quoted[0].text if quoted else _trimmed(rest)
    if not text:
        return asking("which.reminder", wish)
    if when is None:
        return asking("which.moment", wish)
    return _setting(wish, when, text, _record(deal, wish))


def call_back(wish: Wish) -> Answer:
    """Propose a reminder to call somebody: «перезвони ему завтра в 11».

    Without a time it is a task if the record is known, otherwise a question.

    The program makes no calls, so what it can do about this wish is to remind the person.
    """
    day = date_phrase(wish.text)
    when = _with_hour(day, wish) if day else _hour(wish)
    if when is None and tied_record(wish) is None:
        return asking("which.moment", wish)
    words = load("words")["call"]
    rest = squeeze(re.sub(words["whom"], "", mask(wish.text, [when]), flags=re.IGNORECASE))
    text = next((f"{infinitive}{rest[len(verb) :]}" for verb, infinitive in words["verbs"].items() if fold(rest).startswith(verb)), rest)
    text = f"{text}, {wish.title}" if wish.title else text
    return _setting(wish, when, text, _record(None, wish)) if when else _planning(wish, text)


def _planning(wish: Wish, text: str) -> Answer:
    fields = {"TITLE": capitalised(text), "RESPONSIBLE_ID": "@me", "UF_CRM_TASK": [tied_record(wish)]}
    step = Step("tasks.task.add", {"fields": fields}, comment=say("comment.add", wish.lang))
    return proposing(wish, "task.add", step, title=capitalised(text))


def _setting(wish: Wish, when: Span, text: str, record: Target | None) -> Answer:
    params: dict[str, Any] = {"at": f"@date:{when.text}", "text": text}
    if record is not None:
        params[kind_of_target(wish, record)] = record
    return proposing(wish, "reminder.add", Step("reminder.add", params, comment=say("comment.add", wish.lang)), text=text)


def _with_hour(day: Span, wish: Wish) -> Span:
    """Return a date phrase extended by an hour that stands next to it, as in «в пятницу в 11» or «в 11 в пятницу»."""
    after, before = _HOUR_AFTER.match(wish.folded, day.end), _HOUR_BEFORE.search(wish.folded[: day.start])
    if after:
        return Span(day.start, after.end(), f"{day.text}{wish.text[after.start() : after.end()]}")
    if before:
        return Span(before.start(), day.end, f"{day.text} {wish.text[before.start() : before.end()].strip()}")
    return day


def _hour(wish: Wish) -> Span | None:
    """Return the first time without a date in the message, such as «через час» or «в 18:30», or None."""
    found = _IN_TIME.search(mask(wish.folded, quotes(wish.text)))
    return Span(found.start(), found.end(), wish.text[found.start() : found.end()]) if found else None


def _record(deal: Span | None, wish: Wish) -> Target | None:
    """Return the record that a reminder is about, or None. `deal` is the phrase that names a deal.

    Without such a phrase it is a row of the list shown last, or a record that the same message creates. The current
    deal of the conversation is returned by its id, because `@current` has no meaning in a reminder.
    """
    if deal is None:
        return wish.inherited if wish.row is not None or wish.is_about_created else None
    found = target(replace(wish, text=deal.text))
    if found != "@current":
        return found
    current = wish.request.current.get("deal")
    return current.get("id") if isinstance(current, dict) else None


def _trimmed(masked: str) -> str:
    text = squeeze(masked)
    while (shorter := squeeze(_JOINTS.sub("", text))) != text:
        text = shorter
    return text


HANDLERS: dict[str, Handler] = {"reminder.add": remind, "call.back": call_back}
