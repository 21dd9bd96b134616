"""When the model is asked once more (ring 2): only after a failure that says so, and only inside the deadline."""

from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_before_delay

from orchestrator.model_client.failures import TryAgainError

Sleep = Callable[[float], Awaitable[None]]

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


def build_retry_policy(*, attempts: int, deadline: float, sleep: Sleep) -> AsyncRetrying:
    """Return the policy: `attempts` in all; a pause that would pass `deadline` is not begun and the last error stands."""
    return AsyncRetrying(
        sleep=sleep,
        stop=stop_after_attempt(attempts) | stop_before_delay(deadline),
        wait=_calculate_pause,
        retry=retry_if_exception_type(TryAgainError),
        reraise=True,
    )


def _calculate_pause(state: RetryCallState) -> float:
    """Return the wait the service asked for, else one that doubles."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, TryAgainError) and error.after is not None:
        return error.after
    return min(_FIRST_PAUSE * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE)
