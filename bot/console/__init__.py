"""The console shows and submits; the gate decides, as everywhere."""
