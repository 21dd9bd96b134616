"""The pages of the audit: the search for calls, and the page that tells why a call was made."""
