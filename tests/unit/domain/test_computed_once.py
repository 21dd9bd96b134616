"""An attribute that an immutable value computes at its first access."""

from dataclasses import dataclass, field, replace

from orchestrator.domain.frozen import computed_once


@dataclass(frozen=True)
class Words:
    """A text that counts how often its words were looked for."""

    text: str
    looked: list[str] = field(default_factory=list, compare=False)

    @computed_once
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        self.looked.append(self.text)
        return tuple(self.text.split())


def test_it_is_computed_once_for_each_value() -> None:
    """A second access computes nothing; a copy with another text computes its own."""
    one = Words("a b")
    other = replace(one, text="c")
    assert (one.words, one.words, other.words) == (("a", "b"), ("a", "b"), ("c",))
    assert one.looked == ["a b", "c"]


def test_it_is_no_part_of_the_value() -> None:
    """Two values are equal whether or not the attribute was computed."""
    one, other = Words("a"), Words("a")
    assert one.words == ("a",)
    assert one == other
