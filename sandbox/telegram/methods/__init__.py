"""The methods of the Bot API, one function each: `(world, params) -> result`, refusing with `ApiError`."""
