api-working = The request is still being worked on. The answer will come among the events of this conversation; a repeat with the same Idempotency-Key returns it whole
