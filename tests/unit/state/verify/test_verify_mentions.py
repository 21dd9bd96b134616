"""The table of what the journal speaks of follows from it: the check says so, and names a difference."""

from pathlib import Path

import pytest

from tests.unit.verify_kit import conversation, told, verified, written


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("mentions") / "one.db"
    conversation(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("SELECT 1", []),
        ("DELETE FROM mentions WHERE what = 'made'", ["table mentions lacks its row about deal:"]),
        ("UPDATE mentions SET about = 'deal:482' WHERE what = 'call'", ["lacks its row about deal:481", "is borne out by no record"]),
        (
            "INSERT INTO mentions VALUES ('deal:5', 'call', 'no event', 'no call')",
            ["its row about deal:5 (call) is borne out by no record"],
        ),
    ],
)
def test_a_difference_is_named(talked: bytes, tmp_path: Path, change: str, words: list[str]) -> None:
    path = tmp_path / "one.db"
    path.write_bytes(talked)
    written(path, change)
    found = told(verified(path).findings)
    assert bool(found) == bool(words)
    assert all(any(word in line for line in found) for word in words), found


@pytest.mark.long
def test_of_a_damaged_journal_the_damage_alone_is_told(talked: bytes, tmp_path: Path) -> None:
    """What follows from it would only say the same again."""
    path = tmp_path / "one.db"
    path.write_bytes(talked)
    written(path, "UPDATE events SET type = 'MessageReceived' WHERE type = 'ConfirmationApproved'")
    found = told(verified(path).findings)
    assert found
    assert not any("mentions" in line for line in found)
