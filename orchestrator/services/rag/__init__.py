"""Answers questions from the company's own documents: readers, passages, an index, access by folder, and an HTTP interface."""
