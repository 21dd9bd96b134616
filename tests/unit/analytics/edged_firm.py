from tests.unit.analytics.mirror_firm import NOW, Firm, build_firm
from tests.unit.analytics.sql_answers import build_bounds

DAY = 86400


def build_edged_firm() -> Firm:
    """Deals are won a second before, at and a second after each bound, some of them by companies that buy again in the same second."""
    firm, now = build_firm(1500, seed=5), int(NOW.timestamp())
    deals, moves = firm.tables["deal"], firm.tables["move"]
    seconds = {bound + shift for bound in build_bounds(now).values() if isinstance(bound, int) for shift in (-1, 0, 1)}
    for place, second in enumerate(sorted(seconds)):
        if second > now:
            continue
        number, created = len(deals) + 1, second - (place % 40) * DAY - 7
        deal = deals[place] | {
            "id": number,
            "funnel": 0,
            "stage": "WON",
            "semantics": "S",
            "company": place % 9 or None,
            "created": created,
        }
        deals.append(deal | {"moved": second, "closed": second, "reached": 60, "person": 7 + place % 3})
        move = {"id": len(moves) + 1, "deal": number, "type": 1, "funnel": 0, "stage": "NEW", "semantics": "P", "entered": created}
        moves.append(move | {"left": second, "came_from": None})
        final = {"id": len(moves) + 1, "type": 3, "stage": "WON", "semantics": "S", "entered": second, "left": None, "came_from": "NEW"}
        moves.append(move | final)
    return firm
