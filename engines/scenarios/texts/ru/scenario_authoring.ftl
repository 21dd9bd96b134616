# Вопросы команды `sdelka scenario new` и тексты файла, который она пишет.
scenario-new-name = Как назвать сценарий?
scenario-new-description = Для чего он? (одной фразой, можно пропустить)
scenario-new-question = Что спросить? (вопрос { $number }; пустая строка — больше ничего)
scenario-new-doing = Что сделать с ответами? ({ $known })
scenario-new-say = повторить в чате
scenario-new-deal = создать сделку
scenario-new-lead = создать лид
scenario-new-hello = Здравствуйте! Это «{ $name }».
scenario-new-summary = Вот что записано:
scenario-new-done = Готово, спасибо!
scenario-new-written = Файл { $file } готов. Проверить: sdelka scenario validate { $file }. Попробовать: sdelka scenario run { $file }
# Пути из шага на схеме
scenario-way-if = да
scenario-way-else = нет
scenario-way-default = другой ответ
scenario-way-invalid = не понял
scenario-way-timeout = не ответил
scenario-way-refused = отказ
