# Changes of many records at once
bulk-progress = ⏳ Done: { $made } of { $count } { bulk-of }{ $left ->
    [0] {""}
   *[other] , left out: { $left }
}
bulk-stop = ✖ Stop
bulk-done = ✅ { bulk-did }: { $made } of { $count } { bulk-of }
bulk-why = { $why ->
    [gate-bulk-changed] Changed while the card waited
    [gate-already-so] So already
    [gate-not-yours] Not yours any more
    [gate-not-found] Deleted
    [bulk-unknown] Nobody knows whether it happened: look in Bitrix24
    [bulk-unmet] Bitrix24 said yes and did not change them
    [bulk-not-sent] Not done: the work was cut short. Ask once more
    [gate-bulk-part] The approval does not hold any more
    [frozen] An administrator stopped changes. Once they go on, ask again
    [gate-user-inactive] The new owner does not work there any more
    [gate-policy-refuses] The company's policy does not allow it any more
    [bulk-refused] Bitrix24 refused
    [portal-wait] Bitrix24 is too busy. Ask again later
    [portal-not-reached] Bitrix24 did not answer, nothing was sent. Ask again
    [portal-unreadable] Bitrix24 does not answer, nothing was sent. Ask again
    [portal-no-access] Bitrix24 lets the program in no more
   *[other] The rules do not allow it any more
}
bulk-left = • { bulk-why }: { $count }. { $titles }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
}
bulk-untold = ⚠️ New owners who could not be told: { $count }
