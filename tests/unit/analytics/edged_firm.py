from tests.unit.analytics.mirror_firm import NOW, Firm, build_firm, derive_chances
from tests.unit.analytics.sql_answers import build_bounds

DAY = 86400


def build_edged_firm() -> Firm:
    """Deals are closed a second before, at and a second after each bound: won by old and new clients, lost for the second time."""
    firm, now = build_firm(1500, seed=5), int(NOW.timestamp())
    seconds = {bound + shift for bound in build_bounds(now).values() if isinstance(bound, int) for shift in (-1, 0, 1)}
    for place, second in enumerate(sorted(second for second in seconds if second <= now)):
        created = second - (1 + place % 40) * DAY
        won = [(created, "NEW"), (second, "WON")]
        lost = [(created, "NEW"), (created + 600, "LOSE"), (created + 1200, "EXECUTING"), (second, "LOSE")]
        for company, path in ((place % 9 or None, won), (9000 + place // 3, won), (8000 + place, won), (9000 + (place + 1) // 3, lost)):
            _add_deal(firm, place, company, path)
    derive_chances(firm, NOW)
    return firm


def _add_deal(firm: Firm, place: int, company: int | None, path: list[tuple[int, str]]) -> None:
    signs = {"WON": "S", "LOSE": "F"}
    deals, moves = firm.tables["deal"], firm.tables["move"]
    (created, _), (second, stage) = path[0], path[-1]
    number, reached = len(deals) + 1, {"WON": 60, "LOSE": 40}[stage]
    deal = deals[place] | {"id": number, "funnel": 0, "stage": stage, "semantics": signs[stage], "company": company, "created": created}
    deals.append(deal | {"moved": second, "closed": second, "reached": reached, "person": 7 + place % 3})
    ends = [*(moment for moment, _ in path[1:]), None]
    befores = [None, *(code for _, code in path)]
    for (moment, code), end, before in zip(path, ends, befores, strict=False):
        sign = signs.get(code, "P")
        kind = 1 if before is None else 2 if sign == "P" else 3
        move = {"id": len(moves) + 1, "deal": number, "type": kind, "funnel": 0, "stage": code, "semantics": sign}
        moves.append(move | {"entered": moment, "left": end, "came_from": before})
