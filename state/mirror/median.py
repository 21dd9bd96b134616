"""The aggregate `median` of SQL: of an even number of values the mean of the two in the middle; NULL of none. NULLs do not count."""


class Median:
    def __init__(self) -> None:
        self._values: list[int | float] = []

    def step(self, value: float | None) -> None:
        if value is not None:
            self._values.append(value)

    def finalize(self) -> int | float | None:
        values = sorted(self._values)
        if not values:
            return None
        middle = len(values) // 2
        if len(values) % 2:
            return values[middle]
        both = values[middle - 1] + values[middle]
        return both // 2 if isinstance(both, int) and both % 2 == 0 else both / 2
