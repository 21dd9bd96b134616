"""What may be done with a card besides deciding on it: change a value, ask once more, see it again. Ring 2."""
