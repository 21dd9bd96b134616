"""The methods of the Bot API, one function each, which takes the world (the sandbox's state) and the parameters of the call.

A function returns the result of the method, or raises `ApiError` to refuse the call.
"""
