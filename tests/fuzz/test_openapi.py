"""The API against what it says of itself: requests made from its own description by schemathesis, from callers of every kind (S004-58, X10).

`make test-long` makes some six thousand, most of them by rule (the phase "coverage"); `make fuzz` adds as many at random as it takes.
"""

from collections import Counter
from pathlib import Path

import httpx
import pytest
from hypothesis import settings

from tests.fuzz.generating import ALL, LATER, Found, generated
from tests.fuzz.openapi_kit import SECRETS, Served, served

pytestmark = pytest.mark.req("S004-58", "S004-64", "S004-65", "S004-66", "S004-67", "S004-X10")

LONG = 5000
OPEN = {"GET /healthz", "GET /readyz"}
"""What answers without a token."""
UUID, NOT_FOUND = "{version_id}", 404
"""What is no UUID makes no address of these, for anybody."""
NOT_READY = "GET /readyz: Server error"
"""503 is what it says where the portal and the model have not been heard of, as here."""
CALLERS = ("site", "head", "bare", "nobody", "chief")
"""The administrator comes last, as it freezes all writing now and then."""


@pytest.mark.timeout(1800)
def test_every_answer_is_one_that_is_described(tmp_path: Path) -> None:
    """No 5xx, no hang, every status and body documented, wrong data refused; and each operation was done too, not only refused."""
    is_long = settings.get_current_profile_name() == "long"
    with served(tmp_path) as api:
        edited = _edit_draft(api)
        found = {
            caller: _run(api, caller, examples=6 if is_long else 2, phases=ALL if is_long or caller in {"site", "head"} else LATER)
            for caller in CALLERS
        }
        number = 0
        while is_long and sum(one.cases for one in found.values()) < LONG:
            number += 1
            for caller in CALLERS:
                found[caller] += _run(api, caller, examples=40, phases=LATER, seed=number)
    assert {caller: told for caller, one in found.items() if (told := _told(one))} == {}
    cases = sum(one.cases for one in found.values())
    print(f"{cases} requests: {sorted((_statuses(found)).items())}")  # noqa: T201 - shown by `make fuzz`
    assert cases >= (LONG if is_long else 350)
    operations = {f"{verb.upper()} {path}" for path, item in api.description["paths"].items() for verb in item}
    done = {what for one in found.values() for (what, status) in one.answers if status in {200, 201, 202, 503}}
    assert operations <= done | {edited}
    refused = {(what, status) for (what, status) in found["nobody"].answers if what in operations and what not in OPEN}
    assert {status for what, status in refused if not (status == NOT_FOUND and UUID in what)} == {401}


def _told(found: Found) -> dict[str, str]:
    return {name: fault for name, fault in found.faults.items() if name != NOT_READY}


def _edit_draft(api: Served) -> str:
    """Edit the draft of a flow once by hand, and return the operation: the walks find every draft in lists and publish it before they edit."""
    path = "/api/flows/definitions/{version_id}"
    operation = api.description["paths"][path]["put"]
    version_id = next(one["example"] for one in operation["parameters"] if one["name"] == "version_id")
    body = operation["requestBody"]["content"]["application/json"]["schema"]["examples"][0]
    headers = {"X-API-Key": SECRETS["head"], "If-Match": '"1"'}
    answer = httpx.put(api.address + path.format(version_id=version_id), headers=headers, json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return f"PUT {path}"


def _run(api: Served, caller: str, *, examples: int, phases: tuple[str, ...], seed: int = 0) -> Found:
    return generated(api.description, api.address, SECRETS.get(caller, ""), examples=examples, seed=seed, phases=phases)


def _statuses(found: dict[str, Found]) -> Counter[int]:
    told: Counter[int] = Counter()
    for one in found.values():
        for (_, status), times in one.answers.items():
            told[status] += times
    return told
