# The company's documents in a chat: the list, adding and removing.
docs-admins-only = The company's documents are kept by the administrator. You can ask them: /ask and your question.
docs-file-refused = Files are added to the company's documents by the administrator. If something is to be done with the file, write in words what.
docs-private = I show the list of documents only in a private chat with me.
docs-elsewhere = No documents are kept here: set a folder in RAG_DOCS_DIR, or add the file where the service of documents works.
docs-failed = The folder of documents cannot be used: { $reason }. Nothing was changed.
docs-listed = { $count ->
    [0] { $wanted ->
        [none] There are no documents yet. Send a file into this chat, and I will add it.
       *[other] No document has “{ $wanted }” in its name.
    }
   *[other] 📚 Documents: { NUMBER($count, useGrouping: 0) }.{ $pages ->
        [1] {""}
       *[other] {" "}Page { NUMBER($page, useGrouping: 0) } of { NUMBER($pages, useGrouping: 0) }; to find another, write /docs and a part of its name.
    }
}
docs-line = • { $path } — { $size } { $unit ->
    [mb] MB
   *[kb] KB
}, { $state ->
    [read] { $readers }
    [waiting] being read
    [link] cannot be removed here: { $reason }
   *[unreadable] not readable: { $reason }
}
docs-readers-everybody = for everybody
docs-readers-nobody = closed for everybody
docs-readers-admin = for administrators
docs-readers-lead = for heads of sales
docs-readers-manager = for managers
docs-readers-admin-lead = for administrators and heads of sales
docs-readers-admin-manager = for administrators and managers
docs-readers-lead-manager = for heads of sales and managers
docs-readers-admin-lead-manager = for administrators, heads of sales and managers
docs-add = Add “{ $path }” ({ $size } { $unit ->
    [mb] MB
   *[kb] KB
}) to the company's documents? I will answer questions from this file, { $readers }.
docs-replace = The document “{ $path }” exists. Replace it by the file that you sent ({ $size } { $unit ->
    [mb] MB
   *[kb] KB
})? It is { $readers }.
docs-remove = Remove “{ $path }” from the company's documents? The file is deleted, and I can no longer answer from it.
docs-button-add = Add
docs-button-replace = Replace
docs-button-no = Do not add
docs-button-remove = ✖ { $name }
docs-button-remove-sure = Remove
docs-button-keep = Keep
docs-button-retry = Try again
docs-button-back = ◀ Back
docs-button-on = Next ▶
docs-toast-done = This is done already
docs-toast-failed = It failed, and nothing was changed. Look at /docs or send the file again
docs-toast-refused = You have decided to change nothing
docs-toast-old = This is not valid any more. Look at /docs or send the file again
docs-name-taken = “{ $path }” is in the folder, but is no ordinary file and cannot be replaced here. Please rename the file and send it again.
docs-same = “{ $path }” is there already, exactly the same. Nothing was changed.
docs-gone = “{ $path }” was removed already by somebody else.
docs-readers-changed = “{ $path }”: its access has changed since; it is now { $readers }. Nothing was done; if this is meant, send the file again.
docs-left = “{ $path }”: nothing was changed.
docs-kind-unknown = “{ $name }”: I do not read such files. Excel, Word, PDF with text, PPTX slides, CSV, HTML, RTF, EML letters, TXT and Markdown will do.
docs-too-large = “{ $name }” is larger than { $most } MB, which cannot come through Telegram. Put the file into the folder of documents on the server.
docs-name-unfit = “{ $name }”: a file with this name cannot be kept. Please rename it and send it again.
docs-not-downloaded = “{ $name }” could not be downloaded from Telegram. Nothing was changed; please send the file again.
docs-exists = Somebody has added “{ $path }” already. Nothing was changed; to replace it, send the file again.
docs-changed = “{ $path }” has changed since. Nothing was done; please look again: /docs
docs-done = ✅ “{ $path }” was { $what ->
    [replaced] replaced.
   *[added] added.
}{ $state ->
    [read] {" "}It can be asked now, { $readers }.{ $read ->
        [none] {""}
       *[other] {" "}Read: { $read }.
    }
    [waiting] {" "}I am reading it; then it appears in answers. /docs shows how it stands.
   *[unreadable] {" "}But it cannot be read: { $reason } You can remove it in /docs
}
docs-read-sheets = { $count } { $count ->
    [one] sheet
   *[other] sheets
}
docs-read-pages = { $count } { $count ->
    [one] page
   *[other] pages
}
docs-read-slides = { $count } { $count ->
    [one] slide
   *[other] slides
}
docs-read-rows = { $count } { $count ->
    [one] row of a table
   *[other] rows of tables
}
docs-read-columns = columns: { $names }
docs-read-sample = for example: { $text }
docs-note-sheets-hidden = { $count ->
    [one] the hidden sheet { $names } was left out
   *[other] the hidden sheets { $names } were left out
}
docs-note-columns-hidden = hidden columns of the sheet “{ $name }” were left out: { $count }
docs-note-rows-hidden = hidden rows of the sheet “{ $name }” were left out: { $count }
docs-note-rows-filtered = the sheet “{ $name }” has a filter; rows that it hides were read: { $count }
docs-note-pages-images = pages { $pages } are pictures, I do not see their text
docs-note-pages-recognised = the text of pages { $pages } was recognised from pictures and may have mistakes
docs-note-pages-plain = from page { $page } on tables were read as plain text
docs-note-slides-hidden = hidden slides were left out: { $count }
docs-note-attachments = I do not read what is attached: { $names }
docs-removed = “{ $path }” was removed from the documents.
docs-given-up = Nothing came of “{ $path }”. Look in /docs what the folder holds now, and try again.
menu-docs = The company's documents
documents-unavailable = The documents of the company cannot be opened now. Please try later.
