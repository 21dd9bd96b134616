"""Pictures of definitions for their authors."""
