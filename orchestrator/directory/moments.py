"""What a person's «when» can turn out to be. Ring 2, types only."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

# What the caller will write: a moment (a deadline, 18:00 if no hour was said; a reminder, 09:00) or a bare day (CLOSEDATE).
WhenPurpose = Literal["deadline", "reminder", "day"]
WhenReason = Literal["no_date", "which_day", "which_hour", "impossible", "several", "mismatch", "repeats", "too_far"]


@dataclass(frozen=True, slots=True)
class When:
    """One moment in the person's zone; `has_time` is False if the hour is ours and not the person's."""

    day: date
    at: datetime
    has_time: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Two to six readings, the likeliest first: the person presses one."""

    options: tuple[When, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """Exactly one reading, but it is over: the person is asked whether that is meant."""

    value: When


@dataclass(frozen=True, slots=True)
class Unclear:
    """No reading that we may use; `questions.ask_when` words the question."""

    reason: WhenReason
