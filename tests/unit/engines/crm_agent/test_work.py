"""In the making."""
