"""The rules of the demo model. Each module has the handlers for one subject.

`book` chooses the handler by patterns in the message. No rule calls the portal.
"""
