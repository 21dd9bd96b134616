# Writing to Bitrix24 is stopped, and allowed again.
frozen = ⛔ { $service ->
    [database] Writing is stopped
    [site] Writing is stopped
    [files] Writing is stopped
    [telegram] Writing is stopped
   *[portal] Writing to Bitrix24 is stopped
  }{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. Nothing was sent. Reading and searching work; changes can be made once writing is allowed again
frozen-card = ⛔ Writing is stopped{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. The card waits
frozen-now = ⛔ Writing to Bitrix24 is stopped{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. Reading and searching work
frozen-done = ⛔ Writing to Bitrix24 is stopped for everybody. Cards wait, reading works. To allow it again: /unfreeze
frozen-already = Writing is stopped already{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. To allow it again: /unfreeze
frozen-not = Writing is not stopped
frozen-again = This button is of an earlier stop. Writing has been stopped again since{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}: /unfreeze
unfreeze-ask = Writing to Bitrix24 is stopped{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. Allow it again? Nothing runs by itself: cards wait for their button
button-unfreeze = ▶ Allow writing
released-done = ▶ Writing to Bitrix24 is allowed again. Cards can be approved
freeze-admins-only = Only an administrator may stop and allow writing
frozen-news = ⛔ Writing to Bitrix24 is stopped for everybody{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}{ $given ->
    [yes] : { $why }
   *[no] {""}
}. To allow it again: /unfreeze
released-news = ▶ Writing to Bitrix24 is allowed again{ $known ->
    [yes] {" "}({ $who }, { $on })
   *[no] {""}
}
