# The tool agent of seed 001.
ask-bye = Goodbye!
ask-help =
    I answer questions with these tools:
    { $tools }
    Write your question in plain words. Leave with /exit, read this with /help, begin anew with /clear.
ask-help-chat =
    I answer questions with these tools:
    { $tools }
    Write your question in plain words after /ask.
ask-cleared = The history is cleared.
ask-interrupted = Stopped.
ask-classifying = Checking whether I can help..
ask-llm-error = The language model could not be asked, ending..
ask-parse-error = The answer of the language model could not be read, ending..
ask-irrelevant = The request is none that this agent can handle.
ask-relevant = The request is relevant, thinking..
ask-selecting = Choosing a tool..
ask-not-selected = No tool fits. Please write the request in other words.
ask-selected = Chosen: the tool { $tool } with the parameters { $params }
ask-validating = Checking the tool..
ask-unclear = I did not quite understand the question. Please write it in other words.
ask-unknown-tool = The request could not be checked. Please write it in other words.
ask-executing = Running the tool..

# Documents
ask-rag-search-line = answer from the company's documents
ask-rag-search-long = The question is too long. Please make it shorter.
ask-rag-search-ready = The tool rag_search is checked and ready. Question: { $question }
ask-rag-search-failed = A terrible error happened when the document service was asked.. A thousand apologies! Shall we try again?
ask-rag-search-answer = From the documents: { $answer }
ask-rag-search-titles = Titles of the top { $top_k } documents: { $titles }

# Haiku
ask-generate-haiku-line = write a haiku about anything
ask-generate-haiku-long = The theme is too long. Please make it shorter.
ask-generate-haiku-ready = The tool generate_haiku is checked and ready. Theme: { $theme }
ask-generate-haiku-failed = A terrible error happened when the haiku was made.. A thousand apologies! Shall we try again?
ask-generate-haiku-text = Haiku: { $haiku }
ask-generate-haiku-syllables = Syllables by line: { $counts }
ask-generate-haiku-words = Words in all: { $total }

# The CRM
ask-find-in-crm-line = find deals, leads, contacts and companies by name
ask-find-in-crm-long = The name is too long. Please make it shorter.
ask-find-in-crm-ready = The tool find_in_crm is checked and ready. Name: { $name }
ask-find-in-crm-found = Found in the CRM: { $titles }
ask-find-in-crm-none = The CRM has nothing under the name “{ $name }”.
ask-find-in-crm-no-portal = No Bitrix24 portal is connected.
ask-find-in-crm-failed = The CRM could not be read. Shall we try again?
ask-find-in-crm-shadow = In shadow mode the CRM is not read.
ask-find-in-crm-waits = Reading the CRM waits for a person's decision.

# Calculations
ask-calculate-line = calculate sums and percent
ask-calculate-long = The expression is too long. Please make it shorter.
ask-calculate-ready = The tool calculate is checked and ready. Expression: { $expression }
ask-calculate-result = { $expression } = { $result }
ask-calculate-failed = That could not be calculated. Please write it with numbers and signs.
