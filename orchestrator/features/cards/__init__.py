"""What a person can do with a card besides deciding: change a value, request it once more, show it again."""
