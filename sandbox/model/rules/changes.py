"""Rules for changing one deal: sum, stage, owner, close date, title. Most values go into the call in the person's own words."""

import re
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from sandbox.model.answers import Answer, Step, say
from sandbox.model.dates import date_phrase
from sandbox.model.names import people
from sandbox.model.reading import Observation
from sandbox.model.rules.base import Follower, Handler, asking, proposing, updating
from sandbox.model.slots import percents, sum_value, sums
from sandbox.model.stages import stage_named, won_or_lost
from sandbox.model.text import Span, capitalised, quotes
from sandbox.model.wishes import Wish, kind_of_target, spoken, target

_TO_ME = re.compile(r"(?<!\w)(?:на меня|мне|себе|на себя|to me|to myself|me (?:the )?owner)(?!\w)")
_FINAL_VERB = re.compile(r"(?<!\w)(?:закр\w+|close|mark|отмет\w+|выигра\w+|проигра\w+)(?!\w)")
_TOO_MUCH = Decimal(10) ** 15
_CLOSE = re.compile(r"(?<!\w)(?:закрой\w*|закрыть|close)(?!\w)")
_CODES = {"доллар": "USD", "dollar": "USD", "usd": "USD", "евро": "EUR", "eur": "EUR", "рубл": "RUB", "rub": "RUB", "rouble": "RUB"}
_CURRENCY = re.compile(rf"(?<!\w)(?:валют\w*|currency)(?!\w)[^,.;]*?\s(?:на|в|to)\s+((?:{'|'.join(_CODES)})\w*)")
_RENAME = re.compile(r"(?<!\w)(?:в|на|to|as|→|->)\s+(?=[«\"“„]|\w)")


def set_sum(wish: Wish) -> Answer:
    """Propose to set the sum of a deal; ask for the sum or the deal if one is missing."""
    amounts = sums(wish.text)
    if not amounts:
        return asking("which.sum", wish)
    amount = amounts[-1]
    deal = target(wish, taken=amounts)
    if deal is None:
        return asking("which.deal", wish)
    step = updating(wish, deal, {"OPPORTUNITY": f"@sum:{amount.text}", **_new_currency(wish)})
    return proposing(wish, "deal.sum", step, record=spoken(deal, wish.lang), sum=amount.text)


def _new_currency(wish: Wish) -> dict[str, str]:
    """Return {"CURRENCY_ID": code} if the person names a new currency, else an empty dict."""
    found = _CURRENCY.search(wish.folded)
    return {"CURRENCY_ID": next(code for word, code in _CODES.items() if found[1].startswith(word))} if found else {}


def shift_sum(wish: Wish) -> Answer | None:
    """Propose to read a deal whose sum is to be raised or lowered by an amount. Return None if no amount is named.

    The new sum is computed in `raised` or `lowered` after the present sum was read. If the deal is missing, ask for it.
    """
    amounts = (*percents(wish.text), *sums(wish.text))
    if not amounts:
        return None
    deal = target(wish, taken=amounts)
    if deal is None:
        return asking("which.deal", wish)
    step = Step(f"crm.{kind_of_target(wish, deal)}.get", {"id": deal}, comment=say("comment.read", wish.lang))
    return proposing(wish, "deal.read_first", step, record=spoken(deal, wish.lang))


def raised(wish: Wish, seen: Observation) -> Answer | None:
    """Propose to set the raised sum, computed from the deal just read. Return None if no deal was read."""
    return _shifted(wish, seen, sign=1)


def lowered(wish: Wish, seen: Observation) -> Answer | None:
    """Propose to set the lowered sum, computed from the deal just read. Return None if no deal was read."""
    return _shifted(wish, seen, sign=-1)


def _shifted(wish: Wish, seen: Observation, *, sign: int) -> Answer | None:
    last = seen.steps[-1] if seen.steps else None
    if last is None or last.method not in {"crm.deal.get", "crm.lead.get"} or not last.rows:
        return None
    row = last.rows[0]
    record = row.get("id", row.get("ID"))
    try:
        present = Decimal(str(row.get("OPPORTUNITY")))
        number = int(str(record))
    except (InvalidOperation, ValueError):
        return asking("sum.unreadable", wish)
    amount = _new_sum(wish.text, present, sign) if present.is_finite() and abs(present) < _TOO_MUCH else None
    if amount is None:
        return asking("sum.unreadable", wish)
    wish = replace(wish, inherited=number, kind=last.method.split(".")[1])
    step = updating(wish, number, {"OPPORTUNITY": amount})
    return proposing(wish, "deal.sum", step, record=spoken(number, wish.lang), sum=f"{amount:,}".replace(",", " "))


def _new_sum(text: str, present: Decimal, sign: int) -> int | float | None:
    shares, amounts = percents(text), sums(text)
    if shares:
        delta = present * Decimal(shares[0].text) / 100
    elif amounts and (value := sum_value(amounts[-1].text)) is not None:
        delta = value
    else:
        return None
    result = (present + sign * delta).quantize(Decimal("0.01"), ROUND_HALF_UP)
    if result < 0:
        return None
    return int(result) if result == result.to_integral_value() else float(result)


def stage(wish: Wish) -> Answer | None:
    """Propose to move a deal to a stage. Return None if no stage is named.

    For «закрой» ("close") without a stage, ask whether the deal was won or lost. If the deal is missing, ask for it.
    """
    final = won_or_lost(wish.text) if _FINAL_VERB.search(wish.folded) else None
    named = final or stage_named(wish.text)
    if named is None:
        return asking("which.outcome", wish) if _CLOSE.search(wish.folded) else None
    deal = target(wish, taken=[named])
    if deal is None:
        return asking("which.deal", wish)
    field = "STATUS_ID" if kind_of_target(wish, deal) == "lead" else "STAGE_ID"
    step = updating(wish, deal, {field: f"@stage:{named.text}"})
    return proposing(wish, "deal.stage", step, record=spoken(deal, wish.lang), stage=named.text)


def owner(wish: Wish) -> Answer | None:
    """Propose a new owner of a deal; ask for the deal if it is missing. Return None if no new owner is named."""
    mine = _TO_ME.search(wish.folded)
    everybody = people(wish.text)
    if mine:
        person, reference = Span(mine.start(), mine.end(), mine[0]), "@me"
        name = say("you", wish.lang)
    elif everybody:
        new = (
            everybody[-1]
            if len(everybody) == 1
            else next((p for p in everybody if "dat" in p.cases or p.before in {"на", "to"}), everybody[-1])
        )
        person, reference, name = new.span, f"@user:{new.name}", new.name
    else:
        return None
    deal = target(wish, taken=[person])
    if deal is None:
        return asking("which.deal", wish)
    step = updating(wish, deal, {"ASSIGNED_BY_ID": reference})
    return proposing(wish, "deal.owner", step, record=spoken(deal, wish.lang), person=name)


def close_date(wish: Wish) -> Answer | None:
    """Propose a new close date of a deal; ask for the deal if it is missing. Return None if no date is named."""
    when = date_phrase(wish.text)
    if when is None:
        return None
    deal = target(wish, taken=[when])
    if deal is None:
        return asking("which.deal", wish)
    step = updating(wish, deal, {"CLOSEDATE": f"@date:{when.text}"})
    return proposing(wish, "deal.close_date", step, record=spoken(deal, wish.lang), when=when.text)


def rename(wish: Wish) -> Answer | None:
    """Propose a new title of a deal; ask for the title or the deal if one is missing."""
    found = quotes(wish.text)
    place = list(_RENAME.finditer(wish.text))
    if not place:
        return asking("which.title", wish)
    start = place[-1].end()
    title = next((q.text for q in found if q.start == start), wish.text[start:].strip(" .!"))
    deal = target(wish, taken=[Span(place[-1].start(), len(wish.text), title)])
    if deal is None:
        return asking("which.deal", wish)
    step = updating(wish, deal, {"TITLE": capitalised(title)})
    return proposing(wish, "deal.rename", step, record=spoken(deal, wish.lang), title=capitalised(title))


HANDLERS: dict[str, Handler] = {
    "deal.sum": set_sum,
    "deal.raise_by": shift_sum,
    "deal.lower_by": shift_sum,
    "deal.stage": stage,
    "deal.owner": owner,
    "deal.close_date": close_date,
    "deal.rename": rename,
}
FOLLOWERS: dict[str, Follower] = {"deal.raise_by": raised, "deal.lower_by": lowered}
