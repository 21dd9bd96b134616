"""The engines of runs. Each is one folder with everything that belongs to it; nobody outside names one."""
