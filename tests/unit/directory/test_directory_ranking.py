"""One record is found only when no other could be meant."""

import pytest

from orchestrator.directory.ranking import Candidate, NoMatch, OneMatch, SeveralMatches, TooManyMatches, find_match

ME = 7
ROWS: list[Candidate[None]] = [
    Candidate(id=1, title="Ромашка", owner=7, closed=False, item=None),
    Candidate(id=2, title="Ромашка опт", owner=8, closed=False, item=None),
    Candidate(id=3, title="Вектор плюс", owner=8, closed=True, item=None),
    Candidate(id=4, title="Вектор опт", owner=7, closed=True, item=None),
    Candidate(id=5, title="Вектор розница", owner=8, closed=False, item=None),
    Candidate(id=6, title="Вектор мебель 481", owner=7, closed=False, item=None),
    Candidate(id=7, title="Александр", owner=7, closed=False, item=None),
    Candidate(id=8, title="Александра", owner=7, closed=False, item=None),
    Candidate(id=9, title="", owner=0, closed=False, item=None),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Ромашка", 1),
        ("по Ромашке", 1),
        ("ромашку опт", 2),
        ("опт Вектора", 4),
        ("плюс", 3),
        ("Александр", 7),
        ("Александру", None),
        ("№3", 3),
        ("3", 3),
        ("сделку № 5", 5),
        ("481", 6),
        ("мебель", 6),
    ],
)
def test_one_match_after_whole_titles_is_found(query: str, found: int | None) -> None:
    """A whole title or a number beats titles named in part; one row left is found."""
    chosen = find_match(query, ROWS, me=ME)
    assert (chosen.found.id if isinstance(chosen, OneMatch) else None) == found


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("Вектор", [6, 5, 4, 3]),  # open and mine, open, mine, the rest: only the order
        ("опт", [2, 4]),
        ("Александра", [8, 7]),  # the written word may be a case of Александр
        ("Александру", [8, 7]),
    ],
)
def test_several_matches_are_offered_open_and_mine_first(query: str, ids: list[int]) -> None:
    """State and owner order the buttons."""
    chosen = find_match(query, ROWS, me=ME)
    assert isinstance(chosen, SeveralMatches)
    assert [one.id for one in chosen.candidates] == ids


def test_my_only_open_match_is_still_a_choice() -> None:
    """State and owner never decide."""
    rows: list[Candidate[None]] = [
        Candidate(id=1, title="Вектор опт", owner=ME, closed=False, item=None),
        Candidate(id=2, title="Вектор плюс", owner=8, closed=True, item=None),
    ]
    assert isinstance(find_match("Вектор", rows, me=ME), SeveralMatches)


@pytest.mark.parametrize(("count", "kind"), [(0, NoMatch), (1, OneMatch), (2, SeveralMatches), (20, SeveralMatches), (21, TooManyMatches)])
def test_the_number_of_matches_decides_the_kind(count: int, kind: type) -> None:
    """None, one, up to twenty and more are four answers; repeated rows count once."""
    rows = [Candidate(id=i + 1, title=f"Ромашка {i}", owner=ME, closed=False, item=None) for i in range(count)]
    chosen = find_match("Ромашку", [*rows, *rows], me=None)
    assert isinstance(chosen, kind)
    if isinstance(chosen, TooManyMatches):
        assert chosen.count == count


def test_two_equal_titles_are_never_decided_by_owner() -> None:
    """Equal titles are a choice, mine first."""
    rows: list[Candidate[None]] = [Candidate(id=i, title="Ромашка", owner=owner, closed=False, item=None) for i, owner in ((1, 8), (2, ME))]
    chosen = find_match("Ромашка", rows, me=ME)
    assert isinstance(chosen, SeveralMatches)
    assert [one.id for one in chosen.candidates] == [2, 1]
