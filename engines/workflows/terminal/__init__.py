"""The commands of `sdelka workflow`."""
