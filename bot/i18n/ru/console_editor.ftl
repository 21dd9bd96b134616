# Редактор определений в консоли.
console-new-title = Новое
console-new-question = Как вас зовут?
console-new-prompt = Ответьте на вопрос менеджера по-русски, коротко.
console-editor-back = ← Версии
console-editor-new = Новое определение
console-editor-key = Ключ, латиницей
console-editor-title = Название
console-editor-text = Текст определения. Чтобы выйти из него с клавиатуры: Esc, затем Tab.
console-editor-save = Сохранить черновик
console-editor-save-first = Сначала сохраните черновик: публикуется то, что сохранено.
console-editor-is-saved = Черновик сохранён: версия { $number }. В работу он пойдёт после публикации.
console-editor-left-out = { $count ->
    [one] Одно поле формы сохранено прежним: новое значение не подошло, в форме написано почему.
   *[other] Полей формы, сохранённых прежними: { $count }. Новые значения не подошли, в форме написано почему.
  }
console-editor-unchecked = Текст сейчас проверить нельзя: база данных не отвечает. Проверка повторится сама.
console-editor-unsaved = Не сохранено
console-editor-saved = Сохранено: версия { $number }, черновик
console-editor-published = Опубликована: версия { $number }
console-editor-newer = { $who } сохранил(а) версию { $number }, { $moment }. В этом редакторе — прежний текст.
console-editor-not-last = Уже не последняя
console-editor-findings = Замечания ({ $count })
console-editor-view-chart = Схема
console-editor-view-text = Текст
console-editor-view-both = Рядом
console-editor-close = Закрыть панель
console-editor-graph-name = Схема определения
console-editor-no-graph = Схема появится, когда текст можно будет прочитать.
console-editor-marked = замечаний: { $count }
console-editor-form = Форма
console-editor-comments-lost = Текст будет записан заново в виде { $format }, и комментарии из него пропадут, даже если потом вернуть прежний вид.
console-editor-unreadable = Сначала исправьте текст: сейчас его нельзя прочитать, поэтому и переписать в другом виде нельзя.
console-conflict-title = Кто-то успел раньше
console-conflict-key-taken = Определение с таким ключом уже есть: версия { $number }, { $who }, { $moment }. Ваш текст никуда не делся: выберите другой ключ или откройте то, что есть.
console-conflict-theirs = Сохранено сейчас
console-conflict-mine = Ваш текст
console-conflict-later = Вернуться к тексту
console-conflict-take = Взять их
console-conflict-unreadable = { $who } сохранил(а) версию { $number }, { $moment }. Ваш текст сейчас нельзя прочитать, поэтому и свести нельзя: исправьте его или возьмите их. Ниже — чем он отличается.
console-merge-title = Вы оба изменили одно и то же
console-merge-told = { $who } сохранил(а) версию { $number }, { $moment }. Остальное сводится само; выберите, что оставить в этих местах.
console-merge-mine = Моё: { $value }
console-merge-theirs = Их: { $value }
console-merge-all = Везде { $whose ->
    [mine] моё
   *[theirs] их
  }
console-merge-order = { $place }: порядок
console-merge-comments = Комментарии
console-merge-removed = удалено
console-merge-save = Сохранить так
console-merge-put = Внести в мой текст
console-merge-done = Сведено с тем, что сохранил(а) { $who }. Оттуда: { $theirs }. Ваше: { $mine }.
console-merge-taken = Теперь здесь текст, который сохранил(а) { $who }. Изменено: { $theirs }.
