"""What a person can do with a card besides deciding: change a value, request the call once more, show the card again."""
