"""Two calls that differ in one value never have the same card: whatever is sent is shown, or is left out for a reason that stands here."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.essence import MARKS
from orchestrator.gate.preview.preview import preview_for
from tests.unit.gate.gate_kit import effect, made
from tests.unit.gate.reading_kit import SPEAKER, load_calls, open_portal, read_facts
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import NOW

Path_ = tuple[str | int, ...]
ONE_NAME_FOR_ALL = frozenset({"crm.item.productrow.update", "crm.item.productrow.delete"})
"""The portal of this test answers the same for every id of these."""
ROW = {"PRODUCT_NAME": "Монтаж", "PRICE": 7, "QUANTITY": 2}
ROW_VALUES: Mapping[str, tuple[Any, Any]] = {
    "PRODUCT_ID": (5, 6), "DISCOUNT_TYPE_ID": (1, 2), "DISCOUNT_RATE": (3, 4), "DISCOUNT_SUM": (3, 4), "TAX_RATE": (0, 20),
    "TAX_INCLUDED": ("Y", "N"), "MEASURE_CODE": (796, 6), "MEASURE_NAME": ("шт", "м"), "CUSTOMIZED": ("Y", "N"), "SORT": (10, 20),
    "STORE_ID": (7, 8), "RESERVE_QUANTITY": (1, 2), "DATE_RESERVE_END": ("2026-12-01", "2026-12-02"), "PRICE_NETTO": (5, 6),
    "PRICE_BRUTTO": (5, 6), "PRICE_EXCLUSIVE": (5, 6), "PRICE_ACCOUNT": (5, 6), "TYPE": (4, 5), "PRODUCT_DESCRIPTION": ("а", "б"),
    "ID": (5, 6), "OWNER_ID": (5, 6), "ODD": ("а", "б"), "QUANTITY": (2, 3), "PRICE": (0, 1), "PRODUCT_NAME": ("а", "б"),
}  # fmt: skip


async def draw_words(desk: Desk, method: str, params: Mapping[str, Any]) -> Any:
    """What a person reads on the card of a call; None if the call is refused before."""
    actor = SPEAKER["ru"]
    call = made(effect(method, dict(params)), actor=actor)
    if not isinstance(call, Call):
        return None
    shown = await preview_for(actor, call, await read_facts(desk, call, actor), desk.world.gate.deps.names, now=NOW)
    return [part.to_words() for part in (shown, *shown.items)]


def list_leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every value of the parameters with its place."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not value or not isinstance(value, dict | list):
        yield path, value
    for name, item in inner:
        yield from list_leaves(item, (*path, name))


def list_maps(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The place of every mapping in the parameters."""
    if isinstance(value, dict):
        yield path
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield from list_maps(item, (*path, name))


def put(params: Any, path: Path_, value: Any) -> Any:
    """The parameters with another value at that place."""
    made = deepcopy(dict(params))
    at: Any = made
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return made


def change(value: Any) -> Any:
    """Another value of the same kind; None for an empty list or mapping."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case "Y" | "N":
            return "N" if value == "Y" else "Y"
        case str() if value.isdigit():
            return str(int(value) + 1)
        case str() if value[10:11] == "T":  # a moment
            return f"{value[:14]}{'31' if value[14:16] != '31' else '32'}{value[16:]}"
        case str() if len(value) == len("2026-11-21") and value[4] == "-":
            return f"{value[:8]}{'19' if value[8:] != '19' else '20'}"
        case str():
            return f"{value}й"
        case _:
            return None


def is_left_out(method: str, call: Mapping[str, Any], path: Path_) -> bool:
    """Whether the value need not stand on the card, and why."""
    name = str(path[-1])
    if name in MARKS or (method == "event.offline.get" and name == "clear"):
        return True  # the program writes its own value there
    if method.startswith("crm.activity.todo.update") and name in {"ownerId", "ownerTypeId"}:
        return True  # where the activity stands, which its heading names
    if name == "IS_PRIMARY" and method.endswith(".items.set"):
        return path[-2] == 0  # where no other one is marked, the portal makes the first one primary
    return method in ONE_NAME_FOR_ALL and name == "id"


@pytest.mark.long
@pytest.mark.req("S004-30", "G2")
async def test_another_value_is_another_card(tmp_path: Path) -> None:
    """Each value of each realistic call is changed, one at a time. Failed before, for a contact that is unlinked and for a process among them."""
    hidden = []
    async with open_portal(tmp_path) as desk:
        for method, params in load_calls().items():
            card = await draw_words(desk, method, params)
            for path, value in list_leaves(dict(params)):
                other = change(value)
                if other is not None and not is_left_out(method, params, path) and card is not None:
                    drawn = await draw_words(desk, method, put(params, path, other))
                    hidden.extend([f"{method} {path}"] if drawn == card else [])
    assert hidden == []


@pytest.mark.long
@pytest.mark.req("S004-30", "G2")
async def test_a_parameter_that_nobody_knows_is_shown(tmp_path: Path) -> None:
    """A word under an unknown name, put into every mapping of every realistic call, stands on the card."""
    hidden = []
    async with open_portal(tmp_path) as desk:
        for method, params in load_calls().items():
            for path in list_maps(dict(params)):
                drawn = await draw_words(desk, method, put(params, (*path, "ODD_KEY"), "зюзя"))
                hidden.extend([f"{method} {path}"] if drawn is not None and "зюзя" not in str(drawn) else [])
    assert hidden == []


@pytest.mark.req("G2")
@pytest.mark.parametrize("name", list(ROW_VALUES))
async def test_each_key_of_a_product_row_is_shown(portal: Desk, name: str) -> None:
    """Present or absent, and with either of two values, three cards differ; also a zero and a no, which are values too."""
    cards = [
        str(await draw_words(portal, "crm.deal.productrows.set", {"id": 410, "rows": [row]}))
        for row in ({**ROW, name: ROW_VALUES[name][0]}, {**ROW, name: ROW_VALUES[name][1]}, {key: ROW[key] for key in ROW if key != name})
    ]
    assert len(set(cards)) == len(cards)


@pytest.mark.parametrize("key", ["CONTACT_ID", "IS_PRIMARY", "SORT", "ROLE_ID", "ODD"])
@pytest.mark.parametrize("method", ["crm.deal.contact.items.set", "crm.deal.contact.add", "crm.deal.contact.delete"])
async def test_each_key_of_a_linked_contact_is_shown(tmp_path: Path, method: str, key: str) -> None:
    """Failed before for a mark of the primary one that says no, and for everything beside the number of a contact that is unlinked."""
    values: dict[str, tuple[Any, Any]] = {"CONTACT_ID": (44, 45), "IS_PRIMARY": ("Y", "N")}
    async with open_portal(tmp_path) as desk:
        cards = []
        for value in values.get(key, (10, 20)):
            one = {"CONTACT_ID": 44, key: value}
            params = {"items": [{"CONTACT_ID": 43}, one]} if method.endswith(".set") else {"fields": one}
            cards.append(str(await draw_words(desk, method, {"id": 410, **params})))
    assert cards[0] != cards[1]
