"""Rules for standing orders: a report every week, a changed sum, silence in deals. The demo understands these three."""

import re
from typing import Any, Final

from sandbox.model.answers import Answer, Step, say
from sandbox.model.lexicon import load
from sandbox.model.names import nominative_title
from sandbox.model.rules.base import Handler, proposing
from sandbox.model.text import quotes
from sandbox.model.wishes import Wish

_REPORT: Final = {"of": "deals", "where": "won", "group_by": "person", "measures": ["sum", "count"]}


def weekly_report(wish: Wish) -> Answer | None:
    """Propose a report each week on the day and at the hour that are named."""
    words = load("words")["orders"]
    day = next((line for pattern, line in words["days"].items() if re.search(rf"(?<!\w){pattern}", wish.folded)), None)
    hour = re.search(words["hour"], wish.folded)
    if day is None or hour is None or int(hour[1]) > 23:
        return None
    report = {**_REPORT, "period": f"@date:{say('order.last_week', wish.lang)}"}
    return _giving(wish, "order.report", {"cron": f"{int(hour[2] or 0)} {int(hour[1])} * * {day}", "report": report})


def watch_sum(wish: Wish) -> Answer | None:
    """Propose to tell when the sum of a deal changes."""
    found = re.search(load("words")["orders"]["sum"], wish.folded)
    if found is None:
        return None
    name = wish.text[found.start(1) : found.end(1)].strip()
    quoted = quotes(name)
    deal = int(name) if name.isdecimal() else f"@deal:{quoted[0].text if quoted else nominative_title(name)}"
    return _giving(wish, "order.change", {"deal": deal, "changes": ["OPPORTUNITY"]})


def silence(wish: Wish) -> Answer | None:
    """Propose to remind of deals in which nothing happens for so many days."""
    words = load("words")["orders"]
    days = re.search(words["days_of_silence"], wish.folded)
    if days is None:
        return None
    readers = [name for name in ("owner", "me") if re.search(words[name], wish.folded)]
    params: dict[str, Any] = {"of": "deals", "where": "open", "quiet": int(days[1])}
    return _giving(wish, "order.silence", {**params, "to": readers} if "owner" in readers else params)


def _giving(wish: Wish, key: str, params: dict[str, Any]) -> Answer:
    return proposing(wish, key, Step("order.add", params, comment=say("comment.add", wish.lang)))


HANDLERS: Final[dict[str, Handler]] = {"order.report": weekly_report, "order.change": watch_sum, "order.silence": silence}
