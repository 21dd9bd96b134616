"""What a person can do with a confirmation card besides approving or declining it.

They can change a value, request the call again, or have the card shown again.
"""
