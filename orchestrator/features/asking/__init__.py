"""The command /ask, with which a person asks the tool agent."""
