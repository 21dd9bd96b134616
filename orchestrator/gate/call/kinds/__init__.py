"""The kinds of effects other than calls of the portal, one module each."""
