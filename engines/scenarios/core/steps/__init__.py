"""The types of steps that come with the program. A plugin adds others by the entry point `sdelka.scenario_steps`."""
