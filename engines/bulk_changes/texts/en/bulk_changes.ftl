# Changes of many records at once
bulk-progress = ⏳ Changing records: { $made } of { $count }{ $left ->
    [0] {""}
   *[other] , left out: { $left }
}
bulk-stop = ✖ Stop
bulk-undo = ↩ Take all of it back
bulk-done = ✅ Done: { $made } of { $count }
bulk-why = { $why ->
    [gate-bulk-changed] Changed while the card waited
    [gate-already-so] So already
    [gate-not-yours] Not yours any more
    [gate-not-found] Deleted
    [bulk-unknown] Nobody knows whether it happened: look in Bitrix24
    [bulk-unmet] Bitrix24 said yes and did not change them
    [bulk-not-sent] Not done: the program stopped in the middle. Ask once more
    [gate-bulk-part] The approval does not hold any more
    [freeze] Writing is stopped
   *[other] Bitrix24 refused
}
bulk-left = • { bulk-why }: { $count }. { $titles }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
}
bulk-untold = ⚠️ New owners who could not be told: { $count }
