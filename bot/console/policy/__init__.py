"""What the policy says; administrators edit it, checked and rehearsed."""
