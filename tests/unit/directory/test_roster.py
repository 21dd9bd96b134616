"""The list of employees is read by offset: who joins or leaves between two pages costs nobody their name."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.directory.reference_kit import desk

Change = Callable[[list[int]], None]


def page_of(numbers: list[int], params: dict[str, Any]) -> dict[str, Any]:
    """A page as the portal gives it; behind the end it begins anew."""
    start = int(params.get("start", 0))
    start = start if start < len(numbers) else 0
    rows = [{"ID": str(number), "LAST_NAME": f"Человек-{number}", "ACTIVE": True} for number in numbers[start : start + 50]]
    more = {"next": start + 50} if start + 50 < len(numbers) else {}
    return {"result": rows, "total": len(numbers), **more}


async def read(count: int, *changes: Change) -> tuple[set[int], list[int], list[str]]:
    """Who was read, who works there in the end, and the requests; after each request one of the changes happens."""
    numbers, waiting = list(range(1, count + 1)), list(changes)

    async def change(_: str) -> None:
        if waiting:
            waiting.pop(0)(numbers)

    async with desk({"user.get": lambda params: page_of(numbers, params)}) as here:
        here.portal.hold = change
        users = await here.reads.reference.load_users()
        assert list(users) == sorted(users)
        return set(users), numbers, [method for method, _ in here.portal.asked]


def joins(*numbers: int) -> Change:
    return lambda present: present.extend(numbers)


def leaves(*numbers: int) -> Change:
    def change(present: list[int]) -> None:
        present[:] = [number for number in present if number not in numbers]

    return change


def stays(present: list[int]) -> None:
    """Nothing happens."""


@pytest.mark.parametrize(
    ("count", "changes", "requests"),
    [
        (50, (), ["user.get"]),
        (51, (), ["user.get", "batch"]),
        (120, (), ["user.get", "batch"]),
        (2550, (), ["user.get", "batch"]),
        (2551, (), ["user.get", "batch", "batch"]),
        (149, (joins(900, 901),), ["user.get", "batch", "batch"]),  # the second one stands on a page that nobody counted
        (150, (joins(*range(900, 1020)),), ["user.get", "batch", "batch"]),
        (2550, (stays, joins(9001)), ["user.get", "batch"]),  # after the last page was read: the next refresh shows them
        (200, (leaves(3),), ["user.get", "batch"] * 2),  # 51 moves to the first page, which was read
        (200, (leaves(3), stays, leaves(7)), ["user.get", "batch"] * 3),
        (101, (leaves(3),), ["user.get", "batch"] * 2),
        (60, (leaves(*range(20, 61)),), ["user.get", "batch", "user.get"]),  # behind its end the list begins anew
    ],
)
async def test_nobody_is_lost_who_joins_or_leaves_while_the_pages_are_read(
    count: int, changes: tuple[Change, ...], requests: list[str]
) -> None:
    found, present, asked = await read(count, *changes)
    assert set(present) - {9001} <= found
    assert asked == requests


async def test_who_left_is_forgotten_with_the_second_reading() -> None:
    found, present, _ = await read(200, leaves(3))
    assert found == set(present)


async def test_a_list_that_never_rests_ends_and_loses_nobody_who_was_seen() -> None:
    found, present, asked = await read(200, leaves(3), stays, leaves(7), stays, leaves(11))
    assert set(present) <= found
    assert len(asked) == 6


async def test_a_portal_that_counts_people_whom_it_does_not_show_is_asked_twice_and_not_for_ever() -> None:
    def page(params: dict[str, Any]) -> dict[str, Any]:
        return {**page_of(list(range(1, 121)), params), "total": 125}

    async with desk({"user.get": page}) as here:
        assert set(await here.reads.reference.load_users()) == set(range(1, 121))
        assert here.portal.count("user.get") == 2
