"""Rules for the day as code shows it, and for taking one's own changes back."""

import re
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.rules.base import Handler, proposing
from sandbox.model.rules.deals import kind_of
from sandbox.model.wishes import Wish, kind_of_target, target

_HOUR = re.compile(r"(?<!\w)(?:за (?:последний )?час|(?:in|of|for) the (?:last|past) hour)(?!\w)")
_LAST = re.compile(r"(?<!\w)(?:последн\w+|last)(?!\w)")


def day(wish: Wish) -> Answer:
    """Propose to show the day of the person."""
    return proposing(wish, "day", Step("day", {}, comment=say("comment.day", wish.lang), last=True))


def undo(wish: Wish) -> Answer | None:
    """Propose to take back the person's own changes of a record, of the last hour, or the last one; None if none of these is meant."""
    params: dict[str, Any] = {}
    if _HOUR.search(wish.folded):
        params = {"since": say("hour.ago", wish.lang)}
    elif not _LAST.search(wish.folded):
        kind = kind_of(wish.folded)
        record = target(wish, kind)
        if record is None:
            return None
        params = {kind_of_target(wish, record) if kind == "deal" else kind: record}
    return proposing(wish, "undo", Step("undo.propose", params, comment=say("comment.undo", wish.lang), last=True))


HANDLERS: dict[str, Handler] = {"day.show": day, "undo.propose": undo}
