"""Errors of the orchestrator. None refers to HTTP or Telegram: `bot` translates them."""


class SdelkaError(Exception):
    """Base class of the errors that this program raises on purpose."""

    def __init__(self, reason: str | None = None) -> None:
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
        """`why` and `args` choose and complete the sentence about a file that another host does not give."""
        super().__init__(reason)
        self.is_too_large = is_too_large
        self.why, self.args_of_sentence = why, args


class SessionTaken(SdelkaError):
    """Another process is working on this session."""


class RunOver(SdelkaError):
    """The run is over, so it can neither wait nor end again."""
