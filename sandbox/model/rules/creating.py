"""Rules for new deals, contacts, companies, leads. Fields that were not given are left out."""

import re
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.dates import date_phrase
from sandbox.model.names import nominative_title, people
from sandbox.model.rules.base import Handler, asking, proposing
from sandbox.model.slots import emails, phones, sums
from sandbox.model.text import HOLE, Span, capitalised, fold, mask, quotes, squeeze
from sandbox.model.wishes import Wish, leftover

_COMPANY = re.compile(
    r"(?:(?:для|с|от|у|for|with|from)\s)?(?:компани\w+|фирм\w+|клиент\w{0,2}|company|client|customer)\s|(?:для|for)\s", re.IGNORECASE
)
_NAMED = re.compile(r"(?:[A-ZА-ЯЁ][\w-]*)(?:\s[A-ZА-ЯЁ][\w-]*)*")
_KIND = re.compile(r"(?<!\w)(?:сделк\w+|лид\w{0,2}|компани\w+|фирм\w+|контакт\w{0,2}|deal|lead|company|contact)(?!\w)")
_LOOSE_START = re.compile(r"^(?:с названием|под названием|по имени|на|для|мне|named|called|titled|for|of)(?:\s+|$)", re.IGNORECASE)
_LOOSE_END = re.compile(
    r"\s(?:на|для|с|со|и|телефон|тел|почта|сумма|сумму|с суммой|worth|for|with|phone|email|amount|at|of)$", re.IGNORECASE
)
_FORWARDED = re.compile(r"(?<!\w)(?:пересланн\w+|сообщени\w+|письм\w+|этого|forwarded|message|letter|this)(?!\w)")
_NAME = 60
_PARTIES = {"company": "COMPANY_ID", "contact": "CONTACT_ID"}
_TO = re.compile(r"(?<!\w)(?:ответственн\w+|на|owner|responsible|assigned to|to)\s*[:—-]?\s*$")


def deal(wish: Wish) -> Answer:
    """Propose to create a deal; ask for the title if there is none."""
    amounts, when, company = sums(wish.text), date_phrase(wish.text), _company(wish.text)
    owner = next((p for p in people(wish.text) if _TO.search(wish.folded[: p.span.start])), None)
    masked = mask(wish.text, [*amounts[-1:], when, company, owner.span if owner else None])
    title = title_in(masked)
    if not title:
        return asking("which.new_title", wish)
    fields: dict[str, Any] = {"TITLE": title}
    if amounts:
        fields["OPPORTUNITY"] = f"@sum:{amounts[-1].text}"
    if company:
        fields["COMPANY_ID"] = f"@company:{company.text}"
    elif wish.is_about_created and wish.kind in _PARTIES:
        fields[_PARTIES[wish.kind]] = wish.inherited
    if when:
        fields["CLOSEDATE"] = f"@date:{when.text}"
    if owner:
        fields["ASSIGNED_BY_ID"] = f"@user:{owner.name}"
    return _adding(wish, "deal", fields, title)


def _company(text: str) -> Span | None:
    for match in _COMPANY.finditer(text):
        quote = next((q for q in quotes(text) if q.start == match.end()), None)
        named = _NAMED.match(text, match.end())
        if quote:
            return Span(match.start(), quote.end, quote.text)
        if named:
            return Span(match.start(), named.end(), nominative_title(named[0]))
    return None


def title_in(masked: str) -> str:
    """Return the title of a new record: the quoted words, else the words after its kind («сделку», "lead"), else what looks like a name.

    `masked` is the message with the other values (sums, dates, people) replaced by placeholders. The result is empty if there is no title.
    """
    quoted = quotes(masked)
    if quoted:
        return quoted[0].text
    kind = _KIND.search(fold(masked))
    following = re.split(rf"[,;{HOLE}]", masked[kind.end() :])[0] if kind else ""
    title = _LOOSE_END.sub("", squeeze(_LOOSE_START.sub("", squeeze(following))))
    return capitalised(title) if title else nominative_title(leftover(masked).strip(HOLE + " "))


def _adding(wish: Wish, kind: str, fields: dict[str, Any], title: str) -> Answer:
    step = Step(f"crm.{kind}.add", {"fields": fields}, comment=say("comment.add", wish.lang))
    return proposing(wish, f"create.{kind}", step, title=title)


def contact(wish: Wish) -> Answer:
    """Propose to create a contact; ask for the name if there is none."""
    fields = _reach(wish.text)
    named = people(wish.text)
    masked = mask(wish.text, [*phones(wish.text), *emails(wish.text)])
    words = named[0].name if named else title_in(masked)
    if not words:
        return asking("which.name", wish)
    first, _, last = words.partition(" ")
    if last or not re.search(r"(?:ов|ев|ин|ова|ева|ина|ский|ская)$", first):
        fields = {"NAME": first, **({"LAST_NAME": last} if last else {}), **fields}
    else:
        fields = {"LAST_NAME": first, **fields}
    return _adding(wish, "contact", fields, words)


def _reach(text: str) -> dict[str, Any]:
    reach: dict[str, Any] = {}
    if phones(text):
        reach["PHONE"] = [{"VALUE": phones(text)[0].text, "VALUE_TYPE": "WORK"}]
    if emails(text):
        reach["EMAIL"] = [{"VALUE": emails(text)[0].text, "VALUE_TYPE": "WORK"}]
    return reach


def company(wish: Wish) -> Answer:
    """Propose to create a company; ask for the title if there is none."""
    title = title_in(mask(wish.text, [*phones(wish.text), *emails(wish.text)]))
    return _adding(wish, "company", {"TITLE": title, **_reach(wish.text)}, title) if title else asking("which.new_title", wish)


def lead(wish: Wish) -> Answer:
    """Propose to create a lead, from a forwarded message if the person refers to one; ask for the title if there is none."""
    amounts = sums(wish.text)
    title = title_in(mask(wish.text, [*phones(wish.text), *emails(wish.text), *amounts]))
    if wish.request.pasted and (not title or points_at_pasted(wish)):
        return _lead_of(wish)
    if not title:
        return asking("which.new_title", wish)
    fields = {"TITLE": title, **({"OPPORTUNITY": f"@sum:{amounts[-1].text}"} if amounts else {}), **_reach(wish.text)}
    return _adding(wish, "lead", fields, title)


def points_at_pasted(wish: Wish) -> bool:
    """Return whether the person refers to forwarded or pasted text, with words such as «из пересланного» or "this message"."""
    return _FORWARDED.search(wish.folded) is not None


def author_and_words(pasted: str) -> tuple[str, str]:
    """Return the author and the text of a forwarded message. The author is "" if the first line names none."""
    head, _, rest = pasted.partition("\n")
    signed = bool(rest) and head.endswith(":") and len(head) <= _NAME
    return (head.rstrip(" :"), rest.strip()) if signed else ("", pasted.strip())


def _lead_of(wish: Wish) -> Answer:
    """Propose to create a lead from a forwarded message: with its author, the phone and e-mail in it, and its text as the comment."""
    name, wanted = author_and_words(wish.request.pasted)
    title = name or squeeze(mask(wanted, [*phones(wanted), *emails(wanted)]).replace(HOLE, " "))[:_NAME].strip(" ,.")
    reach = _reach(wish.request.pasted)
    fields = {"TITLE": title or wanted[:_NAME], **({"NAME": name} if name else {}), **reach, "COMMENTS": wanted}
    return _adding(wish, "lead", fields, str(fields["TITLE"]))


HANDLERS: dict[str, Handler] = {
    "create.deal": deal,
    "create.contact": contact,
    "create.company": company,
    "create.lead": lead,
}
