"""The program's types of steps. Plugins add others by the entry point `sdelka.scenario_steps`."""
