"""Outcomes for the model and for the person.

Prose (any text but titles and names) is shown to the model only where the call asked for the field: then the gate may ask about later
changes. Reference data is no prose, only administrators write it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from bitrix.catalogue.names import to_field_key
from bitrix.errors import BitrixError
from bitrix.masking import mask, mask_value
from orchestrator.directory.answers import OutcomeView, RecordRow
from orchestrator.directory.labels import LINE, format_row_label, parse_amount
from orchestrator.directory.naming import Naming
from orchestrator.directory.own_answers import render_own_answer
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Row, Table
from orchestrator.domain.own_reads import OWN_READS
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import CurrencyBook, format_sum
from orchestrator.language.text import to_visible_line, trim_text
from state.stored import JsonObject

MODEL_ROWS = 50
MAX_LABEL = 120
MAX_PROSE = 4000
_CRM = ("deal", "lead", "contact", "company", "task")
_LABELS = frozenset({"TITLE", "NAME", "LAST_NAME", "SECOND_NAME", "COMPANY_TITLE", "POST", "SUBJECT", "WORK_POSITION"})
OWN_RECORDS = re.compile(r"(?:crm\.(?:deal|lead|contact|company|quote|item)|tasks\.task)\.(?:get|list|add|update)")
_REFERENCE = re.compile(
    r"[\w.]+\.(?:fields|getfields)|crm\.status\.(?:list|get|entity\.(?:items|types))|crm\.(?:deal)?category\.(?:list|get|default\.get|status)"
    r"|crm\.dealcategory\.stage\.list|crm\.type\.(?:list|get|getbyentitytypeid)|crm\.enum\.\w+|crm\.currency\.(?:list|get|base\.get)"
    r"|(?:[\w.]+\.)?userfield\.(?:list|get|getlist|types|gettypes)|userfieldconfig\.(?:list|get|gettypes)|department\.get",
    re.ASCII,
)
"""What only administrators write: stages, funnels, smart processes, fields, options, currencies."""
_CATALOGUE = re.compile(r"(?:crm|catalog)\.product(?:\.(?:sku|offer|service))?\.(?:list|get)", re.ASCII)
_CATALOGUE_NAMES: Final = frozenset({"NAME", "CODE", "XMLID"})
"""The company writes them, or its accounts do."""
_OWN_ACTIVITIES: Final = frozenset({"CRM_TODO", "CRM_MEETING", "CRM_TASKS_TASK"})
"""Their subjects are written by employees; those of letters, chats, forms and calls may be anybody's."""
_LINKS = re.compile(r"crm\.(?:deal|lead|company|contact|quote)\.(?:contact|company)\.items\.get", re.ASCII)
_PRODUCT_ROWS = "productrow"
_ADDRESS_FIELDS = frozenset({"EMAIL", "PHONE", "WEB", "IM", "FM"})
_ADDRESS = re.compile(
    rf"\+?[0-9][0-9 ().-]{{2,30}}(?:[0-9]|[0-9] ?(?:{load_lexicon('records').join_patterns('phone_extension')}) ?[0-9]{{1,8}})"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
)
"""Any other text in a field of phones or addresses counts as prose."""
_CHOSEN = re.compile(r"\[?'?[0-9]{1,15}'?(?:, '?[0-9]{1,15}'?)*\]?", re.ASCII)
"""Ids of chosen list values."""
_ID = re.compile(r"(?:[A-Z][A-Z0-9]{0,5}_)?[0-9]{1,15}", re.ASCII)
"""Also with its kind: D_481."""
_PLAIN = re.compile(r"[-+\d.,:TZ ]{1,40}|[A-Z][A-Z0-9_:]{0,40}|[YN]|true|false|-?\d{1,15}(?:\.\d{1,6})?\|[A-Z]{3}|")
"""Numbers, dates, codes and sums: no words of anybody."""


async def render_outcome(outcome: Outcome, naming: Naming, actor: Actor) -> OutcomeView:
    """May raise BitrixError."""
    outcome_view = await _render_result(outcome, naming, actor)
    text = "; ".join(part for part in (outcome_view.text, outcome.detail) if part)
    return replace(outcome_view, text=text, prose=outcome_view.prose or outcome.foreign_text)


async def _render_result(outcome: Outcome, naming: Naming, actor: Actor) -> OutcomeView:
    """Parts of a record (products, a checklist) are rendered as plain data."""
    if outcome.method in OWN_READS:
        return render_own_answer(outcome)
    rows = extract_rows(outcome.result)
    # for an element of a smart process, the kind of record is known only from the call
    entity = naming.find_entity(outcome.method, outcome.call) if outcome.entity == "item" else outcome.entity
    if rows and OWN_RECORDS.fullmatch(outcome.method) and (entity in _CRM or entity.startswith("item:")):
        return await _render_records(outcome.model_copy(update={"entity": entity}), rows, naming, actor)
    if outcome.entity == "user" and rows:
        return await _render_users(rows, naming, actor)
    if outcome.call_class in {"", "R"} and not outcome.commands and _is_empty_list(outcome.result):
        return OutcomeView(table=Table(), total=outcome.total or 0)
    if _REFERENCE.fullmatch(outcome.method.lower()):
        return _render_reference(outcome)
    other_view = _render_other(outcome)
    if _LINKS.fullmatch(outcome.method.lower()) and other_view.rows:
        other_view = await _name_linked(other_view, naming)
    return replace(other_view, table=_build_other_table(outcome, rows, actor)) if rows and outcome.call_class in {"", "R"} else other_view


async def _name_linked(links: OutcomeView, naming: Naming) -> OutcomeView:
    """The answer to «кто контактное лицо?» without another step: of links the portal gives only numbers."""
    targets = [next(iter(_find_linked(row)), None) for row in links.rows]
    try:
        titles = await naming.find_titles([target for target in targets if target is not None])
    except BitrixError:  # the numbers are there
        return links
    known = {target: mask(trim_text(title, limit=MAX_LABEL)) for target, title in titles.items() if title != f"№{target[1]}"}
    labels = [known.get(target, "") if target is not None else "" for target in targets]
    rows = tuple({**row, "label": label} if label else row for row, label in zip(links.rows, labels, strict=True))
    return replace(links, rows=rows, labels=(*links.labels, *filter(None, labels)))


def _find_linked(row: JsonObject) -> Iterator[tuple[str, int]]:
    for name, kind in (("CONTACT_ID", "contact"), ("COMPANY_ID", "company")):
        number = str(row.get(name) or "")
        if number.isdecimal():
            yield kind, int(number)


def find_row_kind(outcome: Outcome) -> str:
    """Of the rows; "" if it is not known: the entity of crm.deal.contact.items.get is that of the deal."""
    if _PRODUCT_ROWS in outcome.method.lower():
        return _PRODUCT_ROWS
    is_own = OWN_RECORDS.fullmatch(outcome.method) is not None
    return "" if not is_own and (outcome.entity in _CRM or outcome.entity.startswith("item")) else outcome.entity


def _is_empty_list(result: object) -> bool:
    """Also one with its name: `{"items": []}`."""
    return result == [] or (isinstance(result, Mapping) and len(result) > 0 and all(value == [] for value in result.values()))


def _build_other_table(outcome: Outcome, rows: Sequence[JsonObject], actor: Actor) -> Table:
    """Of activities, events, product rows …; unless employees wrote all their names, the person sees these, a later prompt only the ids."""
    kind, table_rows = find_row_kind(outcome), []
    for row in rows:
        number = RecordRow.model_validate(row).id
        target = f"{kind}:{number}" if kind and number else ""
        table_rows.append(Row(label=mask(format_row_label(row, actor.locale)), target=target))
    is_prose = not all(_list_names(outcome.method.lower(), row) for row in rows)
    return Table(rows=tuple(table_rows), total=max(outcome.total or 0, len(rows)), is_prose=is_prose)


def extract_rows(result: object) -> list[JsonObject]:
    """Of a list or the only list in it, or the record that was read."""
    if isinstance(result, Mapping):
        lists = [value for value in result.values() if isinstance(value, list)]
        if len(lists) == 1 and not {"ID", "id"} & set(result):
            return [row for row in lists[0] if isinstance(row, Mapping)]
        for key in ("item", "task"):
            if isinstance(result.get(key), Mapping):
                return [result[key]]
        return [result] if {"ID", "id"} & set(result) else []
    return [row for row in result if isinstance(row, Mapping)] if isinstance(result, list) else []


async def _render_records(outcome: Outcome, rows: Sequence[JsonObject], naming: Naming, actor: Actor) -> OutcomeView:
    selected = frozenset(str(name).upper() for name in outcome.call.get("select") or () if isinstance(name, str))
    left_out = _find_left_out(outcome, rows[:MODEL_ROWS]) if len(rows) > 1 and not selected else frozenset()
    model_rows: list[dict[str, object]] = []
    table: list[Row] = []
    labels: list[str] = []
    titles: dict[str, str] = {}
    prose = False
    for row in rows:
        number = RecordRow.model_validate(row).id
        label = mask(await naming.build_label(outcome.entity, row, actor.locale))
        line = mask(await naming.build_label(outcome.entity, row, actor.locale, limit=LINE))
        target = f"{outcome.entity}:{number}"
        url = naming.build_card_url(outcome.entity, number, user=actor.bitrix_user_id or 0)
        table.append(Row(label=line, url=url, target=target if number else ""))
        titles[target] = mask(naming.extract_title(outcome.entity, row))
        if len(model_rows) < MODEL_ROWS:
            model_row = {name: value for name, value in row.items() if name not in left_out}
            fields, texts, with_prose = _select_fields(model_row, selected)
            choice_names = await _name_choices(outcome.entity, model_row, naming)
            model_rows.append({"id": number, "label": label, **fields, **({"names": choice_names} if choice_names else {})})
            texts.extend(choice_names.values())
            labels.extend([line, *texts])
            prose = prose or with_prose
    total, sums = _count_records(outcome, rows)
    sum_text = _format_sums(sums, actor, await naming.load_currency_book()) if sums else ""
    rendered = Table(rows=tuple(table), total=total, sum_text=sum_text)
    return OutcomeView(
        rows=tuple(model_rows),
        table=rendered,
        total=total,
        sum_text=sum_text,
        labels=tuple(labels),
        prose=prose,
        titles=titles,
        text=_MORE_FIELDS if left_out else "",
    )


_BRIEF: Final = frozenset({
    "title", "name", "lastname", "companytitle", "post", "opportunity", "currencyid", "stageid", "statusid", "categoryid",
    "assignedbyid", "responsibleid", "companyid", "contactid", "datecreate", "closedate", "deadline", "status",
})  # fmt: skip
"""What the model reads of each row of a list whose call selects no fields."""
_MORE_FIELDS: Final = 'the rows have other fields, too: name those you need in "select"'


def _find_left_out(outcome: Outcome, rows: Sequence[JsonObject]) -> frozenset[str]:
    """Names of fields, but for those by which the list was filtered or sorted."""
    conditions = [condition for name in ("filter", "order") if isinstance(condition := outcome.call.get(name), Mapping)]
    asked = {to_field_key(str(name).lstrip("<>=!@%?*~"), outcome.entity) for condition in conditions for name in condition}
    row_names = {name for row in rows for name in row}
    return frozenset(name for name in row_names if to_field_key(name, outcome.entity) not in _BRIEF | asked - {"id"})


async def _render_users(rows: Sequence[JsonObject], naming: Naming, actor: Actor) -> OutcomeView:
    model_rows = []
    table = []
    for row in rows:
        number = RecordRow.model_validate(row).id
        label = await naming.build_label("user", row, actor.locale)
        model_rows.append({"id": number, "label": label, "active": row.get("ACTIVE", row.get("active"))})
        table.append(Row(label=label, url=naming.build_card_url("user", number), target=f"user:{number}" if number else ""))
    labels = tuple(row.label for row in table[:MODEL_ROWS])
    rendered = Table(rows=tuple(table), total=len(rows))
    return OutcomeView(rows=tuple(model_rows[:MODEL_ROWS]), table=rendered, total=len(rows), labels=labels)


def _select_fields(row: JsonObject, selected: frozenset[str]) -> tuple[dict[str, object], list[str], bool]:
    """The fields that the model sees, the names and contact data in them, and whether there is prose, only from `selected`."""
    fields: dict[str, object] = {}
    labels: list[str] = []
    prose = False
    for key, value in mask_value(dict(row)).items():
        name = key.upper()
        if value in (None, "", [], {}):
            continue
        if isinstance(value, (int, float)) or (isinstance(value, str) and _PLAIN.fullmatch(value)):
            fields[key] = value
        elif name in _ADDRESS_FIELDS and (reach := _extract_addresses(value)):
            fields[key] = reach
            labels.extend(reach)
        elif isinstance(value, str) and (name in _LABELS or name in {"COMPANYTITLE", "LASTNAME"}):
            labels.append(trim_text(value, limit=MAX_LABEL))
            fields[key] = labels[-1]
        elif name in selected:
            fields[key] = trim_text(str(value), limit=MAX_PROSE)
            prose = prose or not _is_plain(value)
    return fields, labels, prose


def _is_plain(value: object) -> bool:
    """A number, date, code or sum, or a list of ids."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, str | int) and _ID.fullmatch(str(item)) is not None for item in value)
    return not isinstance(value, Mapping) and not has_prose(value)


async def _name_choices(entity: str, row: JsonObject, naming: Naming) -> dict[str, str]:
    """Administrators defined them, so they are labels."""
    words_by_field: dict[str, str] = {}
    for key, value in row.items():
        if key.lower().startswith("uf") and _CHOSEN.fullmatch(str(value)):
            words = await naming.format_choice(entity, key, value)
            if words:
                words_by_field[key] = trim_text(mask(words), limit=MAX_LABEL)
    return words_by_field


def _extract_addresses(value: object) -> list[str]:
    """Empty if the field also holds other text."""
    elements = value if isinstance(value, list) else [value]
    values = [item.get("VALUE", item.get("value")) if isinstance(item, Mapping) else item for item in elements]
    known = [item for item in values if isinstance(item, str) and len(item) <= MAX_LABEL and _ADDRESS.fullmatch(item.strip())]
    return known if len(known) == len(values) else []


def _count_records(outcome: Outcome, rows: Sequence[JsonObject]) -> tuple[int, Mapping[str, Decimal]]:
    """The sums are {} if only a part was read."""
    if outcome.sums and outcome.total is not None:
        return outcome.total, {currency: Decimal(amount) for currency, amount in outcome.sums.items()}
    total = max(outcome.total or 0, len(rows))
    return total, _sum_by_currency(rows) if total <= len(rows) else {}


def _sum_by_currency(rows: Sequence[JsonObject]) -> Mapping[str, Decimal]:
    totals: dict[str, Decimal] = {}
    for row in map(RecordRow.model_validate, rows):
        amount = parse_amount(row.opportunity)
        if amount is not None:
            totals[row.currency_id] = totals.get(row.currency_id, Decimal(0)) + amount
    return totals


def _format_sums(sums: Mapping[str, Decimal], actor: Actor, book: CurrencyBook) -> str:
    """ "12 432 500 ₽ + 3 000 $": told as facts, so to the last rouble."""
    parts = [format_sum(amount, currency or None, locale=actor.locale, book=book) for currency, amount in sorted(sums.items())]
    return " + ".join(parts)


def _render_other(outcome: Outcome) -> OutcomeView:
    """All text but names that only employees write counts as prose; of a batch only the states of commands are shown."""
    if outcome.commands:
        lines = [f"{item.key} {item.method}: {item.status}{' ' + item.error if item.error else ''}" for item in outcome.commands]
        return OutcomeView(text="; ".join(lines))
    result = mask_value(outcome.result)
    rows = extract_rows(result)
    if rows:
        names_by_row = [_list_names(outcome.method.lower(), row) for row in rows[:MODEL_ROWS]]
        pairs = list(zip(rows, names_by_row, strict=False))
        model_rows = tuple({key: names.get(key, _shorten(value)) for key, value in row.items()} for row, names in pairs)
        return OutcomeView(
            rows=model_rows,
            total=max(outcome.total or 0, len(rows)),
            labels=tuple(dict.fromkeys(name for names in names_by_row for name in names.values())),
            prose=any(has_prose([value for key, value in row.items() if key not in names]) for row, names in pairs),
        )
    return OutcomeView(
        text=trim_text(str(result), limit=MAX_PROSE) if result not in (None, True, [], {}) else "ok", prose=has_prose(result)
    )


def _list_names(method: str, row: JsonObject) -> dict[str, str]:
    if _CATALOGUE.fullmatch(method):
        keys = _CATALOGUE_NAMES
    elif method in {"crm.activity.list", "crm.activity.get"} and row.get("PROVIDER_ID") in _OWN_ACTIVITIES:
        keys = frozenset({"SUBJECT"})
    else:
        return {}
    names = {key: value for key, value in row.items() if key.upper().replace("_", "") in keys}
    return {key: trim_text(value, limit=MAX_LABEL) for key, value in names.items() if isinstance(value, str) and value}


def _render_reference(outcome: Outcome) -> OutcomeView:
    """Only administrators write it: it does not taint a turn."""
    result = _cut_texts(mask_value(outcome.result))
    rows = extract_rows(result)
    if rows:
        return OutcomeView(rows=tuple(rows[:MODEL_ROWS]), total=max(outcome.total or 0, len(rows)))
    return OutcomeView(text=trim_text(str(result), limit=MAX_PROSE) if result not in (None, True, [], {}) else "ok")


def _cut_texts(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _cut_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut_texts(item) for item in value]
    return to_visible_line(value, limit=MAX_LABEL) if isinstance(value, str) else value


def _shorten(value: object) -> object:
    """It cannot fill the prompt."""
    if isinstance(value, str):
        return trim_text(value, limit=MAX_PROSE)
    return value if len(str(value)) <= MAX_PROSE else trim_text(str(value), limit=MAX_PROSE)


def has_prose(value: object) -> bool:
    """More than a number, a date or a code."""
    if isinstance(value, Mapping):
        return any(has_prose(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_prose(item) for item in value)
    return isinstance(value, str) and not _PLAIN.fullmatch(value)
