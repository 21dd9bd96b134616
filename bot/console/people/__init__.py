"""The page of people: who may what, and for administrators invitations and the end of access."""
