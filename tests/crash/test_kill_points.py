"""The core is killed at every place where it writes or talks; what a person and the portal see must stay right."""
