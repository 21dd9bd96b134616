"""Pictures of definitions for their authors: what a chart is, where its boxes stand, and how it is drawn."""
