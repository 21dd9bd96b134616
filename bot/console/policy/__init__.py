"""The page of the policy: what it says, and for administrators its text, checked while it is typed and rehearsed before it is saved."""
