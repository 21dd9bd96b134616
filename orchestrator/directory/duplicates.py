"""Finds records with the phone or e-mail of one to be created. Of a record that the person may not see only the owner is named."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, Option, RecordRow
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader, Target
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import to_visible_line
from state.stored import JsonObject

log = logging.getLogger(__name__)

ContactPoints = Mapping[str, Sequence[str]]
"""{"PHONE": [...], "EMAIL": [...]}."""
CREATE: Final = "create"
"""Create anyway; the other choices are "<target> <title>"."""
_KINDS: Final = ("CONTACT", "COMPANY", "LEAD")
_MOST: Final = 4
_VALUES: Final = 20
"""The portal compares no more in one call."""
_NAME: Final = 60
_WORDS: Final = load_lexicon("records")
_TAKE_LABEL: Final = _WORDS.read_titles("duplicates", "take")
_KIND_NAMES: Final = {locale: _WORDS.read_table("duplicates", "kinds", locale) for locale in ("ru", "en")}
_NUMBER: Final = _WORDS.read_titles("duplicates", "number")
_CREATE_LABEL: Final = _WORDS.read_titles("duplicates", "create")


class DuplicateFinder:
    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        self._reads = reads
        self._naming = naming

    async def find(
        self,
        points: ContactPoints,
        actor: Actor,
        *,
        kinds: Sequence[str] = _KINDS,
        besides: Collection[str] = (),
        alike: Sequence[Target] = (),
    ) -> Ambiguous | None:
        """None also if the portal fails: a failed search must not prevent the creation.

        `besides` ("lead:161") are not offered; `alike` are, behind those with the same phone or e-mail.
        """
        try:
            targets = [target for target in await self._find_known(points, kinds) if f"{target[0]}:{target[1]}" not in besides]
            targets = list(dict.fromkeys([*targets, *alike]))[:_MOST]
            records = await self._reads.load_records(targets) if targets else {}
            return await self._build_question([(target, row) for target, row in records.items() if row is not None], actor)
        except BitrixError as error:
            log.warning("duplicates cannot be looked for: %s", error, extra={"action": "duplicates_failed"})
            return None

    async def _find_known(self, points: ContactPoints, kinds: Sequence[str]) -> list[Target]:
        """Contacts first, since a lead may be about one of them."""
        targets: dict[Target, None] = {}
        for kind, values in points.items():
            params = {"type": kind, "values": list(values)[:_VALUES]}
            answer = (await self._reads.client.call("crm.duplicate.findbycomm", params, repeatable=True)).result
            numbers_by_kind: JsonObject = answer if isinstance(answer, Mapping) else {}  # without matches the portal sends an empty list
            targets |= {
                (entity.lower(), int(number)): None for entity in kinds for number in numbers_by_kind.get(entity) or () if int(number) > 0
            }
        return sorted(targets, key=lambda target: _KINDS.index(target[0].upper()))

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
        description = ", ".join(part for part in (title, company) if part)
        place = f"{kind}:{number}"
        label = f"{description} · {which}" if description else which
        return Option(value=f"{place} {description or which}", label=_TAKE_LABEL[actor.locale].format(label=label), target=place)

    async def _find_company(self, kind: str, row: JsonObject) -> str:
        record = RecordRow.model_validate(row)
        if kind == "lead":
            return to_visible_line(record.company_title, limit=_NAME)
        return await self._naming.find_title("company", record.company_id) if kind == "contact" and record.company_id else ""


def extract_contact_points(params: JsonObject) -> dict[str, list[str]]:
    """In any form that the portal accepts."""
    fields = next((value for name, value in params.items() if name.lower() == "fields" and isinstance(value, Mapping)), {})
    points: dict[str, list[str]] = {}
    for name, value in fields.items():
        kind = str(name).upper()
        if kind in {"PHONE", "EMAIL"}:
            points.setdefault(kind, []).extend(_extract_values(value))
        elif kind == "FM":
            for item in value if isinstance(value, list) else ():
                kind = str(item.get("typeId") or item.get("TYPE_ID") or "").upper() if isinstance(item, Mapping) else ""
                if kind in {"PHONE", "EMAIL"}:
                    points.setdefault(kind, []).extend(_extract_values([item]))
    return {kind: list(dict.fromkeys(values)) for kind, values in points.items() if values}


def _extract_values(value: object) -> list[str]:
    """A string, a list of strings or a list of {"VALUE": …}."""
    if isinstance(value, str | int):
        return [str(value)] if str(value).strip() else []
    if isinstance(value, Mapping):
        return _extract_values(next((item for name, item in value.items() if str(name).upper() == "VALUE"), ""))
    return [one for item in value for one in _extract_values(item)] if isinstance(value, list) else []
