"""What the fields of workflows and tuums may hold: stored tuums, methods, fields of records, and variables that are set before."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bot.plugins.choices import Choice, FindOffer, Known, Offer
from engines.workflows.core.definition import Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.rune_types import PROMPTS
from engines.workflows.core.variables import AFTER_ANSWER, Variables, read_variables
from orchestrator.definitions.model_mistakes import read_part
from orchestrator.documents.changing import find_value
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Path

TUUM: Final = "tuum"
_TUUMS: Final = "tuums"
_ORDER: Final = ("promptRunes", "aiService", "chunkCallback", "runes", "mainScript")
_RUNES: Final = frozenset({"promptRunes", "runes"})
_BARE: Final = frozenset({"input", "source", "consumes", "operations", "rawText"})


def open_choices(document: object, known: Known) -> FindOffer:
    tuums = Offer(choices=known.list_published(TUUM), is_open=True)
    methods = Offer(choices=tuple(known.methods), is_open=True)

    def find(path: Path) -> Offer | None:
        inside = path[2:] if path[:1] == (_TUUMS,) else path
        match inside:
            case ("tuum",):
                return tuums
            case ("promptRunes" | "runes", int(), "method"):
                return methods
            case ("promptRunes" | "runes", int(), "attributeKey" | "initialAttributes"):
                record = find_value(document, (*path[:-1], "entityType"))
                return Offer(choices=tuple(known.fields.get(str(record), ())), is_open=True)
            case ("promptRunes" | "runes", int(), "input"):
                return Offer(choices=tuple(Choice(name, name) for name in _list_names(document, path)), is_open=True)
        return None

    return find


def list_variables(document: object, path: Path) -> Sequence[str]:
    """In braces where a text holds them, bare in scripts and fields of names."""
    is_bare = bool(_BARE.intersection(path)) or "mainScript" in path
    return [name if is_bare else f"{{{{{name}}}}}" for name in _list_names(document, path)]


def _list_names(document: object, path: Path) -> list[str]:
    """Those that come into the tuum, then its own of parts before this one."""
    base = path[:2] if path[:1] == (_TUUMS,) else ()
    place = path[len(base) :]
    if not place or place[0] not in _ORDER:
        return []
    tuum = find_value(document, base)
    mapped = find_value(tuum, ("inputMappings",))
    names = [*mapped] if isinstance(mapped, Mapping) else list(_list_shared(document, base))
    return list(dict.fromkeys([*names, *_list_own(tuum, place)]))


def _list_own(tuum: object, place: Path) -> Iterator[str]:
    read = _read(tuum)
    for name, at in (read.gives if read is not None else {}).items():
        if name != PROMPTS and _rank(at) < _rank(place):
            yield name
    if _rank(place) > _rank(("chunkCallback",)):
        yield from AFTER_ANSWER


def _rank(place: Path) -> tuple[int, int]:
    index = place[1] if place[0] in _RUNES and len(place) > 1 and isinstance(place[1], int) else 0
    return (_ORDER.index(str(place[0])) if place[0] in _ORDER else 0, index)


def _list_shared(document: object, base: Path) -> Iterator[str]:
    """Of the start, and of the other tuums but for those that wait for this one."""
    if not base:
        return
    yield from (name for one in _list(document, "triggerParameters") if isinstance(name := find_value(one, ("name",)), str) and name)
    tuums = _list(document, _TUUMS)
    gives = [list(_list_keys(one, "outputMappings")) for one in tuums]
    needs = [set(_list_needed(one)) for one in tuums]
    later, grown = {base[1]}, True
    while grown:
        given = {name for index in later if isinstance(index, int) and index < len(gives) for name in gives[index]}
        more = {index for index, names in enumerate(needs) if names & given} - later
        grown, later = bool(more), later | more
    yield from (name for index, names in enumerate(gives) if index not in later for name in names)


def _list_needed(tuum: object) -> Iterator[str]:
    mapped = find_value(tuum, ("inputMappings",))
    if isinstance(mapped, Mapping):
        yield from (one for one in mapped.values() if isinstance(one, str))
    elif (read := _read(tuum)) is not None:
        yield from (*read.needs, *read.reads)


def _list_keys(tuum: object, name: str) -> Iterator[str]:
    mapped = find_value(tuum, (name,))
    yield from mapped if isinstance(mapped, Mapping) else ()


def _list(document: object, name: str) -> list[object]:
    found = find_value(document, (name,))
    return found if isinstance(found, list) else []


def _read(tuum: object) -> Variables | None:
    read = read_part(Tuum, tuum)
    return read_variables(read, load_rune_types(), Report(Findings(), suggests=False), lambda path: path) if read is not None else None
