"""The note to each new owner of a hand-over: what they get, as a notice of the portal that stands on the card."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.domain.bulk import KINDS, BulkItem
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.lexicon import load_lexicon
from state.stored import JsonObject

METHOD: Final = "im.notify.personal.add"
_WORDS: Final = load_lexicon("bulk_card")
_NOTE: Final = {name: _WORDS.read_titles(name) for name in ("note", "part_note", "note_kind", "more")}
_KIND_NAMES: Final = {kind: _WORDS.read_titles("kinds", kind) for kind in _WORDS.read_names("kinds")}
_OWNERS: Final = {kind.entity: kind.owner for kind in KINDS.values()}
_MOST_NAMED: Final = 20
_TITLE: Final = 60


async def list_notes(items: Sequence[BulkItem], former: int, reader: Reader) -> list[JsonObject]:
    """The parameters of one notice for each person who gets something, but for who hands it over."""
    who = await reader.names.find_user_name(former)
    return [
        {"USER_ID": owner, "MESSAGE": _write(owned, who, reader)} for owner, owned in _group_by_owner(items).items() if owner != reader.user
    ]


async def list_part_notes(items: Sequence[BulkItem], former: int, reader: Reader) -> list[JsonObject]:
    """The parameters of the notice to who gets only some of several records: it names none, since nobody knows yet which."""
    who = escape_text(await reader.names.find_user_name(former), locale=reader.locale)
    text = _NOTE["part_note"][reader.locale].format(who=who)
    return [
        {"USER_ID": owner, "MESSAGE": text} for owner, owned in _group_by_owner(items).items() if owner != reader.user and len(owned) > 1
    ]


def _group_by_owner(items: Sequence[BulkItem]) -> Mapping[int, Sequence[BulkItem]]:
    groups: dict[int, list[BulkItem]] = {}
    for item in items:
        fields = item.params.get("fields") or {}
        groups.setdefault(int(fields[_OWNERS[item.record.partition(":")[0]]]), []).append(item)
    return groups


def _write(items: Sequence[BulkItem], former: str, reader: Reader) -> str:
    kinds = Counter(item.record.partition(":")[0] for item in items)
    counted = [
        _NOTE["note_kind"][reader.locale].format(kind=_KIND_NAMES[kind][reader.locale], count=count) for kind, count in kinds.items()
    ]
    head = _NOTE["note"][reader.locale].format(who=escape_text(former, locale=reader.locale), kinds=", ".join(counted))
    return "\n".join([head, *_list_titles(items, reader)])


def _list_titles(items: Sequence[BulkItem], reader: Reader) -> Iterator[str]:
    for item in items[:_MOST_NAMED]:
        title = escape_text(item.shown.title or item.record, locale=reader.locale, limit=_TITLE)
        yield f"• {title} {item.shown.url}".rstrip()
    if len(items) > _MOST_NAMED:
        yield f"• {_NOTE['more'][reader.locale].format(count=len(items) - _MOST_NAMED)}"
