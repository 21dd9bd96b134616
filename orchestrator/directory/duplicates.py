"""Searches the portal for a record with the same phone or e-mail before a lead, contact or company is created. Reads only.

If the person may not see a record that was found, only its owner's name is shown.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, Option
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader, Target
from orchestrator.directory.rows import RecordRow
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import to_visible_line
from state.stored import JsonObject

log = logging.getLogger(__name__)

ContactPoints = Mapping[str, Sequence[str]]
"""Phones and e-mails: {"PHONE": [...], "EMAIL": [...]}."""
CREATE: Final = "create"
"""The choice to create a new record anyway; the other choices are "<target> <title>"."""
_KINDS: Final = ("CONTACT", "COMPANY", "LEAD")
_MOST: Final = 4
_VALUES: Final = 20
"""The most phones or e-mails that the portal compares in one call."""
_NAME: Final = 60
_WORDS: Final = load_lexicon("records")
_TAKE_LABEL: Final = _WORDS.read_titles("duplicates", "take")
_KIND_NAMES: Final = {locale: _WORDS.read_table("duplicates", "kinds", locale) for locale in ("ru", "en")}
_NUMBER: Final = _WORDS.read_titles("duplicates", "number")
_CREATE_LABEL: Final = _WORDS.read_titles("duplicates", "create")


class DuplicateFinder:
    """Finds existing records that have the phone or e-mail of a record to be created. Stateless."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        """Store the portal reader and the name finder that the searches use."""
        self._reads = reads
        self._naming = naming

    async def find(self, points: ContactPoints, actor: Actor) -> Ambiguous | None:
        """Return the question whether to use an existing record or to create the new one; None if there is no duplicate.

        If the portal fails, the error is logged and the result is None: a failed search must not prevent the creation of a record.
        """
        try:
            targets = await self._find_known(points)
            records = await self._reads.load_records(targets) if targets else {}
            return await self._build_question([(target, row) for target, row in records.items() if row is not None], actor)
        except BitrixError as error:
            log.warning("duplicates cannot be looked for: %s", error, extra={"action": "duplicates_failed"})
            return None

    async def _find_known(self, points: ContactPoints) -> list[Target]:
        """Return at most four records with these phones and e-mails, found by the portal's method crm.duplicate.findbycomm.

        Contacts come first, then companies, then leads, since a lead may be about a person who is a contact already.
        """
        found: dict[Target, None] = {}
        for kind, values in points.items():
            params = {"type": kind, "values": list(values)[:_VALUES]}
            answer = (await self._reads.client.call("crm.duplicate.findbycomm", params, repeatable=True)).result
            listed: JsonObject = answer if isinstance(answer, Mapping) else {}  # without matches the portal sends an empty list
            found |= {(entity.lower(), int(number)): None for entity in _KINDS for number in listed.get(entity) or () if int(number) > 0}
        order = sorted(found, key=lambda target: _KINDS.index(target[0].upper()))
        return order[:_MOST]

    async def _build_question(self, rows: Sequence[tuple[Target, JsonObject]], actor: Actor) -> Ambiguous | None:
        if not rows:
            return None
        seen = [(target, row) for target, row in rows if self._naming.is_visible(target[0], row, actor)]
        anew = Option(value=CREATE, label=_CREATE_LABEL[actor.locale])
        if not seen:
            owner = self._naming.find_owner(rows[0][0][0], rows[0][1])
            name = await self._naming.find_user_name(owner) if owner else ""
            return Ambiguous(ask=Notice(code="duplicate-elsewhere", args={"name": name}), options=(anew,))
        options = [await self._build_option(target, row, actor) for target, row in seen]
        return Ambiguous(ask=Notice(code="duplicates-found"), options=(*options, anew))

    async def _build_option(self, target: Target, row: JsonObject, actor: Actor) -> Option:
        kind, number = target
        title = self._naming.extract_title(kind, row)
        company = await self._find_company(kind, row)
        which = _NUMBER[actor.locale].format(kind=_KIND_NAMES[actor.locale][kind], number=number)
        named = ", ".join(part for part in (title, company) if part)
        place = f"{kind}:{number}"
        label = f"{named} · {which}" if named else which
        return Option(value=f"{place} {named or which}", label=_TAKE_LABEL[actor.locale].format(label=label), target=place)

    async def _find_company(self, kind: str, row: JsonObject) -> str:
        """Return the name of the company of a lead or contact; "" if the record names no company or is of another kind."""
        record = RecordRow.model_validate(row)
        if kind == "lead":
            return to_visible_line(record.company_title, limit=_NAME)
        return await self._naming.find_title("company", record.company_id) if kind == "contact" and record.company_id else ""


def extract_contact_points(params: JsonObject) -> dict[str, list[str]]:
    """Return the phones and e-mails of a new record from the parameters of the call that creates it: {"PHONE": […], "EMAIL": […]}.

    The call may give them in any form that the portal accepts.
    """
    fields = next((value for name, value in params.items() if name.lower() == "fields" and isinstance(value, Mapping)), {})
    found: dict[str, list[str]] = {}
    for name, value in fields.items():
        kind = str(name).upper()
        if kind in {"PHONE", "EMAIL"}:
            found.setdefault(kind, []).extend(_extract_values(value))
        elif kind == "FM":
            for item in value if isinstance(value, list) else ():
                kind = str(item.get("typeId") or item.get("TYPE_ID") or "").upper() if isinstance(item, Mapping) else ""
                if kind in {"PHONE", "EMAIL"}:
                    found.setdefault(kind, []).extend(_extract_values([item]))
    return {kind: list(dict.fromkeys(values)) for kind, values in found.items() if values}


def _extract_values(value: object) -> list[str]:
    """Return the values of a field that may hold several. The portal accepts a string, a list of strings or a list of {"VALUE": …}."""
    if isinstance(value, str | int):
        return [str(value)] if str(value).strip() else []
    if isinstance(value, Mapping):
        return _extract_values(next((item for name, item in value.items() if str(name).upper() == "VALUE"), ""))
    return [one for item in value for one in _extract_values(item)] if isinstance(value, list) else []
