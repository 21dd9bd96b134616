"""Rules for handing all open deals of one person to another.

The first answer reads the deals and the new owner. The second one proposes batches of up to 50 updates.
"""

import re
from dataclasses import replace

from sandbox.model.answers import Answer, Step, say
from sandbox.model.names import Person, people
from sandbox.model.reading import Observation
from sandbox.model.rules.base import DEAL_FIELDS, Follower, Handler, asking, listing, proposing
from sandbox.model.text import mask, quotes
from sandbox.model.wishes import Wish, leftover

_TO_ME = re.compile(r"(?<!\w)(?:на меня|мне|себе|на себя|to me|to myself)(?!\w)")
_MINE = re.compile(r"(?<!\w)(?:мо[ияейю]\w{0,2}|с меня|от меня|my|mine|from me)(?!\w)")
_EVERY = re.compile(r"(?<!\w)(?:все|всех|all|every)(?!\w)")
_BATCH = 50


def parties(wish: Wish) -> tuple[str, str] | None:
    """Return the present and the new owner of the deals, as references such as `@me` or `@user:Борис`; None if one is not named."""
    named = people(wish.text)
    if _TO_ME.search(wish.folded):
        return (f"@user:{named[0].name}", "@me") if named else None
    if _MINE.search(wish.folded) or len(named) == 1:
        mine = bool(_MINE.search(wish.folded))
        return ("@me", f"@user:{named[0].name}") if named and mine else None
    if len(named) < 2:
        return None
    taker = next((p for p in named if _takes(p)), named[1])
    giver = next(p for p in named if p is not taker)
    return f"@user:{giver.name}", f"@user:{taker.name}"


def _takes(person: Person) -> bool:
    if person.before in {"от", "у", "с", "of", "from"}:
        return False
    return person.before in {"на", "to"} or "dat" in person.cases


def start(wish: Wish) -> Answer | None:
    """Return the first answer to a wish such as «передай все сделки Бориса Вере»: read the giver's open deals and the taker's user record.

    The answer asks who the two people are if the message does not name both, but says "all" or "my". Return None, so that other rules are
    tried, if it says neither of these words, or if it holds the title of a record.
    """
    if quotes(wish.text) or leftover(mask(wish.text, [person.span for person in people(wish.text)])):
        return None
    found = parties(wish)
    if found is None:
        return asking("which.people", wish) if _EVERY.search(wish.folded) or _MINE.search(wish.folded) else None
    giver, taker = found
    steps = [listing(wish, "crm.deal.list", {"ASSIGNED_BY_ID": giver, "CLOSED": "N"}, select=DEAL_FIELDS)]
    if taker != "@me":
        steps.append(Step("user.get", {"ID": taker}, comment=say("comment.user", wish.lang)))
    return proposing(wish, "handover.read", *steps, giver=_name(giver, wish), taker=_name(taker, wish))


def _name(reference: str, wish: Wish) -> str:
    return say("you", wish.lang) if reference == "@me" else reference.partition(":")[2]


def proceed(wish: Wish, seen: Observation) -> Answer | None:
    """Return the second answer: batches of calls that give the deals just read to the new owner.

    The answer says so if there is no deal to hand over or the new owner was not found. Return None if the deals were not read.
    """
    found = parties(wish)
    deals = next((step for step in seen.steps if step.method == "crm.deal.list"), None)
    if found is None or deals is None:
        return None
    ids = [number for row in deals.rows if (number := _id(row.get("id", row.get("ID")))) is not None]
    taker = wish.request.my_id if found[1] == "@me" else _found_user(seen)
    if not ids:
        return asking("handover.nothing", wish, giver=_name(found[0], wish))
    if taker is None:
        return asking("handover.nobody", wish, taker=_name(found[1], wish))
    steps = [_batch(ids[start : start + _BATCH], taker, wish) for start in range(0, len(ids), _BATCH)]
    answer = proposing(wish, "handover.batch", *steps, giver=_name(found[0], wish), taker=_name(found[1], wish))
    total = deals.raw.get("total")
    hidden = isinstance(total, int) and total > len(ids)
    return replace(answer, say=f"{answer.say}\n{say('handover.part', wish.lang)}") if hidden else answer


def _found_user(seen: Observation) -> int | None:
    users = next((step for step in seen.steps if step.method.startswith("user.")), None)
    return _id(users.rows[0].get("id", users.rows[0].get("ID"))) if users and users.rows else None


def _id(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdigit() else None


def _batch(ids: list[int], taker: int, wish: Wish) -> Step:
    commands = {f"d{number}": f"crm.deal.update?id={number}&fields[ASSIGNED_BY_ID]={taker}" for number in ids}
    return Step("batch", {"halt": 0, "cmd": commands}, comment=say("comment.handover", wish.lang))


HANDLERS: dict[str, Handler] = {"handover.all": start}
FOLLOWERS: dict[str, Follower] = {"handover.all": proceed}
