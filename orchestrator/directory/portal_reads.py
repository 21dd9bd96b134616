"""Reads records, lists and reference data. Only reference data is cached."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from bitrix.bulk.lists import extract_rows
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from bitrix.client.batch import Command, build_cmd, read_answer
from bitrix.client.read_only import PortalCaller, ReadOnlyClient
from bitrix.errors import ACCESS_OR_METHOD_CODES, BitrixError, OutcomeUnknown, Refused, is_missing
from bitrix.limits.limiter import Priority
from orchestrator.directory.answers import RecordRow, name_organisation, to_number
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.reference import Reference
from orchestrator.language.money_format import NO_CURRENCY_BOOK, format_sum
from orchestrator.language.text import Locale, to_visible_line, trim_text
from orchestrator.language.title_matching import list_search_starts
from state.canonical import to_storable
from state.clock import Clock
from state.stored import JsonObject

_NAME: Final = 80
_TITLES: Final = (
    "TITLE",
    "NAME",
    "SUBJECT",
    "PRODUCT_NAME",
    "ACCOUNT_NUMBER",
    "EDIT_FORM_LABEL",
    "FIELD_TITLE",
    "FULL_NAME",
    "COMMENT",
    "POST_MESSAGE",
    "COMMENT_TEXT",
    "FIELD_NAME",
    "DEAL_ID",
)
"""The best name first."""
_KEYS: Final = frozenset(name.replace("_", "").lower() for name in _TITLES)


async def read_name(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue, locale: Locale) -> str:
    """Empty also if `method` does not only read. Only those of `params` are sent that it knows. May raise BitrixError."""
    rows = await _read_rows(method, params, number, client, catalogue)
    return next((name for row in rows if (name := _extract_name(row, locale))), "")


async def read_part(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue) -> JsonObject | None:
    """None if there is no such row. May raise BitrixError."""
    rows = await _read_rows(method, params, number, client, catalogue)
    return next((row for row in rows if to_number(row.get("ID") or row.get("id")) == number), None)


async def _read_rows(method: str, params: JsonObject, number: int, client: PortalCaller, catalogue: Catalogue) -> list[JsonObject]:
    row = catalogue.find(method)
    if row is None or not row.reads_only:
        return []
    sent = _pick_params(row, params, number)
    if any(path not in sent for path in row.required):
        return []
    return list(_list_rows((await client.call(row.name, sent, repeatable=True)).result, number))


def _pick_params(row: Method, params: JsonObject, number: int) -> dict[str, object]:
    """What the method requires, and the id. Others may be new values: the new name of a department."""
    params_by_name = {name.lower(): value for name, value in params.items() if value not in (None, "")}
    needed = [path for path in (*row.required, *row.target) if "." not in path]
    ids = [path for path in row.params if path.lower().endswith("id") and to_number(params_by_name.get(path.lower())) == number]
    return {name: params_by_name[name.lower()] for name in dict.fromkeys((*needed, *ids)) if name.lower() in params_by_name}


def _list_rows(result: object, number: int) -> Iterator[JsonObject]:
    if isinstance(result, list):
        for row in result:
            if isinstance(row, Mapping) and number in {to_number(row.get("ID")), to_number(row.get("id"))}:
                yield row
    elif isinstance(result, Mapping):
        inner = [value for value in result.values() if isinstance(value, Mapping | list)]
        if len(result) == 1 and inner:  # the answer has the row under a key of its own
            yield from _list_rows(inner[0], number)
        elif to_number(result.get("ID") or result.get("id")) in {0, number}:
            yield result


def _extract_name(row: JsonObject, locale: Locale) -> str:
    values_by_key = {key: value for name, value in row.items() if (key := name.replace("_", "").lower()) in _KEYS}
    for title in _TITLES:
        value = values_by_key.get(title.replace("_", "").lower())
        if isinstance(value, Mapping):
            value = value.get(locale) or next(iter(value.values()), "")
        text = trim_text(to_visible_line(value), limit=_NAME) if isinstance(value, str) and not value.isdecimal() else ""
        if text:
            paid = _format_paid_sum(row, locale) if title == "ACCOUNT_NUMBER" else ""
            return ", ".join(filter(None, (text, paid, *name_organisation(row))))
    return ""


def _format_paid_sum(row: JsonObject, locale: Locale) -> str:
    """Empty if the row lacks one of both."""
    amount, currency = parse_amount(row.get("sum")), row.get("currency")
    return (
        format_sum(amount, to_visible_line(currency, limit=12), locale=locale, book=NO_CURRENCY_BOOK)
        if amount and isinstance(currency, str)
        else ""
    )


_CHUNK = 50
_LONGEST_LIST = 500
"""A list that is read as a whole, such as product rows."""
Target = tuple[str, int]
RecordOrError = JsonObject | BitrixError | None
"""None if it does not exist."""
_MOST_NAMES = 3
"""First name, patronymic and last name."""


class PortalReader:
    """Every method may raise BitrixError."""

    def __init__(self, client: PortalCaller, catalogue: Catalogue, clock: Clock) -> None:
        self.client = ReadOnlyClient(client, catalogue)
        self.catalogue = catalogue
        self.reference = Reference(self.client, clock)

    async def load_records(self, targets: Sequence[Target]) -> Mapping[Target, JsonObject | None]:
        """By (kind, id); None if it does not exist."""
        distinct_targets = list(dict.fromkeys(targets))
        if len(distinct_targets) == 1:
            return {distinct_targets[0]: await self._read_record(distinct_targets[0])}
        records: dict[Target, JsonObject | None] = {}
        for start in range(0, len(distinct_targets), _CHUNK):
            for target, record in (await self._read_chunk(distinct_targets[start : start + _CHUNK], Priority.INTERACTIVE)).items():
                if isinstance(record, BitrixError):
                    raise record
                records[target] = record
        return records

    async def load_each_record(self, targets: Sequence[Target], priority: Priority) -> dict[Target, RecordOrError]:
        """Fifty at a time; what failed is read once more alone.

        Only a refusal of this one record becomes its error; any other failure raises BitrixError.
        """
        distinct_targets = list(dict.fromkeys(targets))
        records: dict[Target, RecordOrError] = {}
        for start in range(0, len(distinct_targets), _CHUNK):
            chunk = distinct_targets[start : start + _CHUNK]
            read = (
                await self._read_chunk_or_errors(chunk, priority) if len(distinct_targets) > 1 else dict.fromkeys(chunk, OutcomeUnknown())
            )
            for target, record in read.items():
                records[target] = await self._read_alone(target, priority) if isinstance(record, BitrixError) else record
        return records

    async def _read_chunk_or_errors(self, targets: Sequence[Target], priority: Priority) -> Mapping[Target, RecordOrError]:
        try:
            return await self._read_chunk(targets, priority)
        except Refused as error:
            if not _is_of_one_record(error):
                raise
            return dict.fromkeys(targets, error)
        except OutcomeUnknown as error:  # perhaps because of one record only
            return dict.fromkeys(targets, error)

    async def _read_alone(self, target: Target, priority: Priority) -> RecordOrError:
        try:
            return await self._read_record(target, priority)
        except Refused as error:
            if not _is_of_one_record(error):
                raise
            return error

    async def load_first_stages(self, funnels: Collection[str]) -> Mapping[str, str]:
        """{"deal:1": "C1:NEW"}, read at every call."""
        return await self.reference.load_first_stages(funnels)

    async def search(self, entity: str, start: str, extra: JsonObject, *, field: str = "") -> list[JsonObject]:
        """At most 500 by title (of contacts: last name), or by `field`; `extra` joins the filter."""
        spec = self.catalogue.entities[entity]
        method, params = _build_search(entity, spec.list, start, extra, field)
        return (await read_first_rows(self.client, method, params, max_rows=500)).rows

    async def search_pieces(self, entity: str, pieces: Sequence[str], extra: JsonObject) -> list[JsonObject]:
        """The newest fifty for each piece, in one request; a failed search is left out."""
        spec = self.catalogue.entities[entity]
        searches = (_build_search(entity, spec.list, piece, extra) for piece in pieces)
        commands = [
            Command(key=f"s{number}", method=method, params={**params, "order": {"ID": "DESC"}})
            for number, (method, params) in enumerate(searches)
        ]
        answer = await self.client.call("batch", {"halt": 0, "cmd": build_cmd(commands)}, repeatable=True)
        return [row for outcome in read_answer(commands, answer) if outcome.status == "success" for row in extract_rows(outcome.result)]

    async def load_rows(self, method: str, params: JsonObject, *, limit: int = 500) -> list[JsonObject]:
        return (await read_first_rows(self.client, method, params, max_rows=limit)).rows

    async def load_lists(self, reads: Sequence[tuple[str, JsonObject]]) -> list[list[object]]:
        """Raises BitrixError if one cannot be read or is too long."""
        lists: list[list[object]] = []
        for start in range(0, len(reads), _CHUNK):
            lists += await self._load_chunk(reads[start : start + _CHUNK])
        return lists

    async def _load_chunk(self, reads: Sequence[tuple[str, JsonObject]]) -> list[list[object]]:
        if len(reads) == 1:
            return [await self._load_whole_list(*reads[0])]
        commands = [Command(key=f"l{number}", method=method, params=dict(params)) for number, (method, params) in enumerate(reads)]
        answer = await self.client.call("batch", {"halt": 0, "cmd": build_cmd(commands)}, repeatable=True)
        lists: list[list[object]] = []
        for read, outcome in zip(reads, read_answer(commands, answer), strict=True):
            if outcome.status == "error":
                raise Refused(outcome.error, outcome.description, 400)
            if outcome.status != "success":
                raise OutcomeUnknown(f"{read[0]} is not in the answer")
            lists.append(to_storable(extract_rows(outcome.result)) if outcome.next is None else await self._load_whole_list(*read))
        return lists

    async def _load_whole_list(self, method: str, params: JsonObject) -> list[object]:
        read = await read_first_rows(self.client, method, params, max_rows=_LONGEST_LIST)
        if not read.complete:
            msg = f"{method} has more than {_LONGEST_LIST} rows"
            raise OutcomeUnknown(msg)
        return list(to_storable(read.rows))

    async def load_part(self, method: str, params: JsonObject, number: int) -> JsonObject | None:
        """None if there is no such row or method."""
        row = await read_part(method, params, number, client=self.client, catalogue=self.catalogue)
        return None if row is None else to_storable(row)

    async def find_own_user(self) -> int:
        """0 if the portal does not say."""
        profile = (await self.client.call("profile", {}, repeatable=True)).result
        return RecordRow.model_validate(profile).id if isinstance(profile, Mapping) else 0

    def discard_for_call(self, method: str) -> None:
        self.reference.discard_for_call(method)

    async def _read_record(self, target: Target, priority: Priority = Priority.INTERACTIVE) -> JsonObject | None:
        spec, params = self._build_read(target)
        try:
            answer = await self.client.call(spec.get, params, repeatable=True, priority=priority)
        except Refused as error:
            if _is_missing(error):
                return None
            raise
        return _unwrap(answer.result, spec, target[1])

    def _build_read(self, target: Target) -> tuple[Entity, dict[str, object]]:
        kind, _, type_id = target[0].partition(":")
        spec = self.catalogue.entities[kind]
        return spec, {spec.id_param: target[1], **({"entityTypeId": int(type_id)} if type_id else {})}

    async def _read_chunk(self, targets: Sequence[Target], priority: Priority) -> dict[Target, RecordOrError]:
        """Raises BitrixError if the whole batch failed."""
        commands = []
        for number, target in enumerate(targets):
            spec, params = self._build_read(target)
            commands.append(Command(key=f"r{number}", method=spec.get, params=params))
        answer = await self.client.call("batch", {"halt": 0, "cmd": build_cmd(commands)}, repeatable=True, priority=priority)
        records: dict[Target, RecordOrError] = {}
        for target, outcome in zip(targets, read_answer(commands, answer), strict=True):
            if outcome.status == "success":
                records[target] = _unwrap(outcome.result, self._build_read(target)[0], target[1])
                continue
            refusal = Refused(outcome.error, outcome.description, 400)
            if outcome.status != "error" or not _is_missing(refusal):
                records[target] = OutcomeUnknown(f"{target[0]} {target[1]} could not be read: {outcome.description or outcome.status}")
            else:
                records[target] = None
        return records


def _build_search(entity: str, method: str, start: str, extra: JsonObject, field: str = "") -> tuple[str, dict[str, object]]:
    if entity == "task":
        select = ["ID", "TITLE", "STATUS", "RESPONSIBLE_ID", "DEADLINE"]
        return method, {"filter": {"%TITLE": start, **extra}, "select": select, "order": {"ID": "ASC"}}
    if entity == "contact":
        select = ["ID", "NAME", "SECOND_NAME", "LAST_NAME", "POST", "COMPANY_ID", "ASSIGNED_BY_ID"]
        return method, {"filter": {f"%{field or 'LAST_NAME'}": start, **extra}, "select": select}
    select = ["ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "STATUS_ID", "CATEGORY_ID", "CLOSED", "ASSIGNED_BY_ID"]
    return method, {"filter": {"%TITLE": start, **extra}, "select": select}


def _unwrap(result: object, kind: Entity, number: int) -> JsonObject | None:
    """For a missing task the portal reports success with `[]`."""
    if kind.result_key and isinstance(result, Mapping):
        result = result.get(kind.result_key)
    if isinstance(result, list) and kind.get == kind.list:
        result = next((row for row in result if isinstance(row, Mapping) and RecordRow.model_validate(row).id == number), None)
    return to_storable(result) if isinstance(result, Mapping) and result else None


def _is_of_one_record(error: Refused) -> bool:
    """And not the bot's access or the method."""
    return error.status in {400, 404} and error.code.upper() not in ACCESS_OR_METHOD_CODES


def _is_missing(error: Refused) -> bool:
    return error.status not in {401, 403} and is_missing(error.code, error.description)


def list_searches(entity: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(beginning of a word, field, "" for the title), to be tried until one finds. The longest word comes first."""
    is_contact = entity == "contact"
    for field in ("LAST_NAME", "NAME") if is_contact else ("",):
        for word in words[:_MOST_NAMES] if is_contact else words[:1]:
            yield from ((start, field) for start in list_search_starts(word))
