# Документы компании в чате: список, добавление, удаление.
docs-admins-only = Документами компании управляет администратор. Спросить их можно так: /ask и вопрос.
docs-file-refused = Файлы в документы компании добавляет администратор. Если с файлом нужно что-то сделать, напишите словами, что именно.
docs-private = Список документов показываю только в личном чате со мной.
docs-elsewhere = Документы здесь не хранятся: задайте папку в настройке RAG_DOCS_DIR, или добавьте файл там, где работает служба документов.
docs-failed = Папка документов недоступна: { $reason }. Ничего не изменено.
docs-listed = { $count ->
    [0] { $wanted ->
        [none] Документов пока нет. Пришлите файл в этот чат, и я добавлю его.
       *[other] Документов с «{ $wanted }» в названии нет.
    }
   *[other] 📚 Документы: { NUMBER($count, useGrouping: 0) }.{ $pages ->
        [1] {""}
       *[other] {" "}Страница { NUMBER($page, useGrouping: 0) } из { NUMBER($pages, useGrouping: 0) }; чтобы найти другой, напишите /docs и часть названия.
    }
}
docs-line = • { $path } — { $size } { $unit ->
    [mb] МБ
   *[kb] КБ
}, { $state ->
    [read] { $readers }
    [waiting] читаю
    [link] удалить отсюда нельзя: { $reason }
   *[unreadable] не читается: { $reason }
}
docs-readers-everybody = читают все
docs-readers-nobody = закрыт для всех
docs-readers-admin = читают администраторы
docs-readers-lead = читают руководители
docs-readers-manager = читают менеджеры
docs-readers-admin-lead = читают администраторы и руководители
docs-readers-admin-manager = читают администраторы и менеджеры
docs-readers-lead-manager = читают руководители и менеджеры
docs-readers-admin-lead-manager = читают администраторы, руководители и менеджеры
docs-add = Добавить «{ $path }» ({ $size } { $unit ->
    [mb] МБ
   *[kb] КБ
}) в документы компании? По этому файлу я буду отвечать на вопросы; доступ: { $readers }.
docs-replace = Документ «{ $path }» уже есть. Заменить его присланным файлом ({ $size } { $unit ->
    [mb] МБ
   *[kb] КБ
})? Доступ: { $readers }.
docs-remove = Удалить «{ $path }» из документов компании? Файл будет стёрт, отвечать по нему я больше не смогу.
docs-button-add = Добавить
docs-button-replace = Заменить
docs-button-no = Не добавлять
docs-button-remove = ✖ { $name }
docs-button-remove-sure = Удалить
docs-button-keep = Оставить
docs-button-retry = Попробовать ещё раз
docs-button-back = ◀ Назад
docs-button-on = Дальше ▶
docs-toast-done = Это уже сделано
docs-toast-failed = Не получилось, ничего не изменено. Посмотрите /docs или пришлите файл ещё раз
docs-toast-refused = Вы уже решили ничего не менять
docs-toast-old = Это уже не действует. Посмотрите /docs или пришлите файл ещё раз
docs-name-taken = «{ $path }» в папке есть, но это не обычный файл, заменить его отсюда нельзя. Переименуйте файл и пришлите ещё раз.
docs-same = «{ $path }» уже есть, точно такой же. Ничего не изменено.
docs-gone = «{ $path }» уже удалён кем-то другим.
docs-readers-changed = «{ $path }»: доступ с тех пор изменился, теперь: { $readers }. Ничего не сделано; если так и нужно, пришлите файл ещё раз.
docs-left = «{ $path }» — ничего не изменено.
docs-kind-unknown = «{ $name }» — такие файлы я не читаю. Подойдут Excel, Word, PDF с текстом, презентации PPTX, CSV, HTML, RTF, письма EML, TXT и Markdown.
docs-too-large = «{ $name }» больше { $most } МБ, столько через Telegram не принять. Положите файл в папку документов на сервере.
docs-name-unfit = «{ $name }» — с таким именем файл не сохранить. Переименуйте его и пришлите ещё раз.
docs-not-downloaded = «{ $name }» не удалось скачать из Telegram. Ничего не изменено, пришлите файл ещё раз.
docs-exists = «{ $path }» уже кто-то добавил. Ничего не изменено; чтобы заменить его, пришлите файл ещё раз.
docs-changed = «{ $path }» с тех пор изменился. Ничего не сделано; посмотрите ещё раз: /docs
docs-done = ✅ «{ $path }» { $what ->
    [replaced] заменён.
   *[added] добавлен.
}{ $state ->
    [read] {" "}По нему уже можно спрашивать; доступ: { $readers }.{ $read ->
        [none] {""}
       *[other] {" "}Прочитано: { $read }.
    }
    [waiting] {" "}Читаю его; когда закончу, он появится в ответах. Состояние видно в /docs
   *[unreadable] {" "}Но прочитать его не получается: { $reason } Удалить его можно в /docs
}
docs-read-sheets = { $count } { $count ->
    [one] лист
    [few] листа
   *[other] листов
}
docs-read-pages = { $count } { $count ->
    [one] страница
    [few] страницы
   *[other] страниц
}
docs-read-slides = { $count } { $count ->
    [one] слайд
    [few] слайда
   *[other] слайдов
}
docs-read-rows = { $count } { $count ->
    [one] строка таблицы
    [few] строки таблиц
   *[other] строк таблиц
}
docs-read-columns = столбцы: { $names }
docs-read-sample = например: { $text }
docs-note-sheets-hidden = { $count ->
    [one] скрытый лист { $names } пропущен
   *[other] скрытые листы { $names } пропущены
}
docs-note-columns-hidden = на листе «{ $name }» пропущены скрытые столбцы: { $count }
docs-note-rows-hidden = на листе «{ $name }» пропущены скрытые строки: { $count }
docs-note-rows-filtered = на листе «{ $name }» включён фильтр, спрятанные им строки прочитаны: { $count }
docs-note-pages-images = страницы { $pages } — картинки, их текста я не вижу
docs-note-pages-recognised = текст страниц { $pages } распознан с картинок, в нём могут быть ошибки
docs-note-pages-plain = начиная со страницы { $page } таблицы прочитаны как обычный текст
docs-note-slides-hidden = скрытые слайды пропущены: { $count }
docs-note-attachments = вложения я не читаю: { $names }
docs-removed = «{ $path }» удалён из документов.
docs-given-up = С «{ $path }» ничего не получилось. Посмотрите в /docs, что сейчас в папке, и попробуйте ещё раз.
menu-docs = Документы компании
documents-unavailable = Документы компании сейчас не открываются. Попробуйте позже.
