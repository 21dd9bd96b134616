"""The definitions that people write (scenarios, flows, workflows): what changed between two versions of one."""
