"""Errors of the orchestrator. The tree shows whom each error is meant for. No error refers to HTTP or Telegram: `bot` translates them.

SdelkaError
├── SettingsError        operations staff: a setting is missing or wrong; the message names it
├── ModelClientError     the orchestrator: the model is unreachable or its answer broke the format (S004-20, S004-21)
├── OverBudget           the person: the month's budget is used up, so the model is not asked
├── ServiceFailed        the tool agent: a service beside it cannot be reached, or its answer is none
├── FileUnavailable      the person: a messenger, the folder of files or another host does not give a file
├── SessionTaken         the worker: another process holds the lease of this session
└── RunOver              the player of a run: the run ended while its next step was being stored
"""


class SdelkaError(Exception):
    """Base class of the errors that this program raises on purpose."""

    def __init__(self, reason: str | None = None) -> None:
        """Store `reason` as the error's message; without `reason`, the message is the first line of the class's docstring."""
        self.reason = reason or (type(self).__doc__ or "").split("\n", maxsplit=1)[0]
        super().__init__(self.reason)


class SettingsError(SdelkaError):
    """A setting is missing or wrong."""


class ModelClientError(SdelkaError):
    """The language model is unavailable or its answer broke the format."""


class OverBudget(SdelkaError):
    """The person's budget of the month is used up."""


class ServiceFailed(SdelkaError):
    """A request to a service beside the program failed."""


class FileUnavailable(SdelkaError):
    """A file is not given. The message gives the reason and contains no URL."""

    def __init__(self, reason: str | None = None, *, is_too_large: bool = False, why: str = "", **args: str | int) -> None:
        """Store the reason; `is_too_large` says whether a smaller file would have been given.

        `why` and `args` choose and complete the sentence about a file that another host does not give.
        """
        super().__init__(reason)
        self.is_too_large = is_too_large
        self.why, self.args_of_sentence = why, args


class SessionTaken(SdelkaError):
    """Another process is working on this session.

    A session is one conversation; only the process that holds its lease may work on it.
    """


class RunOver(SdelkaError):
    """The run is over, so it can neither wait nor end again.

    It ended, or was cancelled, while this step was being prepared.
    """
