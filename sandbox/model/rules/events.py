"""Rules for subscriptions to portal events. The product, not the rule, decides which addresses may receive events."""

import re

from sandbox.model.answers import Answer, Step, say
from sandbox.model.rules.base import Handler, asking, proposing
from sandbox.model.slots import urls
from sandbox.model.text import mask
from sandbox.model.wishes import Wish

_OBJECTS = {"LEAD": r"лид|lead", "CONTACT": r"контакт|contact", "COMPANY": r"компани|compan", "DEAL": r"сделк|сделок|deal"}
_DEEDS = {"DELETE": r"удал|delet", "ADD": r"создани|новы|новая|новой|добавл|появл|creat|new|add"}
_CODE = re.compile(r"(?<!\w)ON[A-Z]{4,40}(?!\w)", re.IGNORECASE)


def event_of(text: str) -> str:
    """Return the Bitrix24 event code that a text names or describes, such as `ONCRMDEALADD`.

    If the text says nothing about the event, this is `ONCRMDEALUPDATE`.
    """
    folded = text.lower()
    code = _CODE.search(text)
    if code and code[0].upper().startswith(("ONCRM", "ONTASK")):
        return code[0].upper()
    deed = next((deed for deed, pattern in _DEEDS.items() if re.search(pattern, folded)), "UPDATE")
    if re.search(r"задач|task", folded):
        return f"ONTASK{deed}"
    thing = next((thing for thing, pattern in _OBJECTS.items() if re.search(pattern, folded)), "DEAL")
    return f"ONCRM{thing}{deed}"


def bind(wish: Wish) -> Answer:
    """Propose to subscribe a web address to an event; ask for the address if there is none."""
    return _binding(wish, "event.bind")


def unbind(wish: Wish) -> Answer:
    """Propose to unsubscribe a web address from an event; ask for the address if there is none."""
    return _binding(wish, "event.unbind")


def _binding(wish: Wish, method: str) -> Answer:
    addresses = urls(wish.text)
    if not addresses:
        return asking("which.url", wish)
    event = event_of(mask(wish.text, addresses))
    step = Step(method, {"event": event, "handler": addresses[0].text}, comment=say("comment.events", wish.lang))
    return proposing(wish, method, step, event=event)


def listed(wish: Wish) -> Answer:
    """Propose to list the event subscriptions of the portal."""
    return proposing(wish, "event.get", Step("event.get", {}, comment=say("comment.list", wish.lang)))


HANDLERS: dict[str, Handler] = {"events.bind": bind, "events.unbind": unbind, "events.list": listed}
