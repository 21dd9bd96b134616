"""The definitions in the console: their list, versions, editor, comparison, publication and trial."""
