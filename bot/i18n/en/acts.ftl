### What a method does: the heading of a card. act- and the method, with dashes for dots

## Activities and the timeline

act-crm-activity-todo-updatedescription = Change the description of the activity
act-crm-activity-todo-updatecolor = Change the colour of the activity
act-crm-activity-todo-updatedeadline = Move the deadline of the activity
act-crm-activity-todo-updateresponsibleuser = Change the responsible person of the activity
act-crm-activity-binding-add = Link to one more record the activity
act-crm-activity-binding-delete = Unlink from a record the activity
act-crm-activity-binding-move = Move to another record the activity
act-crm-activity-configurable-add = Add the activity of an application
act-crm-activity-configurable-get = View the activity of an application
act-crm-activity-configurable-update = Change the activity of an application
act-crm-activity-type-add = Create the type of activities
act-crm-activity-type-list = View types of activities
act-crm-activity-type-delete = Delete the type of activities
act-crm-activity-badge-add = Create the activity badge
act-crm-activity-badge-get = View the activity badge
act-crm-activity-badge-list = View activity badges
act-crm-activity-badge-delete = Delete the activity badge
act-crm-timeline-logmessage-add = Add an entry to the timeline of the record
act-crm-timeline-logmessage-delete = Delete an entry from the timeline of the record
act-crm-timeline-note-save = Save a note in the timeline of the record
act-crm-timeline-note-delete = Delete a note from the timeline of the record
act-crm-activity-layout-blocks-get = View an application's blocks in the activity
act-crm-activity-layout-blocks-set = Show an application's blocks in the activity
act-crm-activity-layout-blocks-delete = Remove an application's blocks from the activity
act-crm-timeline-layout-blocks-get = View an application's blocks in the timeline
act-crm-timeline-layout-blocks-set = Show an application's blocks in the timeline
act-crm-timeline-layout-blocks-delete = Remove an application's blocks from the timeline
act-crm-timeline-bindings-bind = Show a timeline entry on one more record
act-crm-timeline-bindings-unbind = Stop showing a timeline entry on the record
act-crm-timeline-item-pin = Pin an entry in the timeline of the record
act-crm-timeline-item-unpin = Unpin an entry in the timeline of the record
act-crm-timeline-icon-get = View the timeline icon
act-crm-timeline-icon-list = View timeline icons
act-crm-timeline-icon-add = Create the timeline icon
act-crm-timeline-icon-delete = Delete the timeline icon
act-crm-timeline-logo-get = View the timeline logo
act-crm-timeline-logo-list = View timeline logos
act-crm-timeline-logo-add = Create the timeline logo
act-crm-timeline-logo-delete = Delete the timeline logo

## Applications and placements

act-placement-bind = Place in the portal a page of an application
act-placement-unbind = Remove a page of an application from the portal
act-placement-get = View the placements of the application
act-placement-list = View the places for placements
act-app-option-get = View the settings of the application
act-app-option-set = Change the settings of the application
act-user-option-get = View personal settings in the application
act-user-option-set = Change personal settings in the application
act-userfieldconfig-add = Create the custom field
act-userfieldconfig-get = View the custom field
act-userfieldconfig-list = View custom fields
act-userfieldconfig-gettypes = View the types of custom fields
act-userfieldconfig-update = Change the custom field
act-userfieldconfig-delete = Delete the custom field with all its values
act-userfieldtype-add = Create the field type
act-userfieldtype-list = View the field types of the application
act-userfieldtype-update = Change the field type
act-userfieldtype-delete = Delete the field type
act-imbot-register = Connect the chat bot
act-imbot-unregister = Disconnect and delete the chat bot
act-imbot-update = Change the chat bot
act-imbot-bot-list = View chat bots
act-imbot-command-register = Create the command of a chat bot
act-imbot-command-update = Change the command of a chat bot
act-imbot-command-unregister = Delete the command of a chat bot
act-imbot-chat-add = Create a chat as the bot
act-imbot-message-add = Send a message as the bot
act-imbot-message-update = Change a message of the bot
act-imbot-message-delete = Delete a message of the bot
act-imconnector-register = Create a channel for open lines
act-imconnector-unregister = Delete the channel of open lines
act-imconnector-activate = Switch the channel of an open line on or off
act-imconnector-connector-data-set = Change the data of the channel of an open line
act-imconnector-list = View the channels of open lines
act-imconnector-status = View the state of the channel of an open line
act-imconnector-send-messages = Pass messages of customers to an open line
act-imconnector-update-messages = Change messages of customers in an open line
act-imconnector-delete-messages = Delete messages of customers from an open line
act-landing-site-add = Create the site
act-landing-site-update = Change the site
act-landing-site-delete = Delete the site
act-landing-landing-add = Create the page of a site
act-landing-landing-update = Change the page of a site
act-landing-landing-publication = Publish the page of a site
act-landing-landing-delete = Delete the page of a site
act-landing-repo-register = Create the block for sites
act-landing-repo-unregister = Delete the block for sites
act-entity-add = Create the data store of an application
act-entity-get = View the data stores of an application
act-entity-update = Change the data store of an application
act-entity-rights = View or change the rights to the data store of an application
act-entity-delete = Delete the data store of an application
act-entity-item-add = Create an entry in the application's store
act-entity-item-get = View entries in the application's store
act-entity-item-update = Change an entry in the application's store
act-entity-item-delete = Delete an entry from the application's store
act-entity-section-add = Create a section in the application's store
act-entity-section-get = View sections in the application's store
act-entity-section-update = Change a section in the application's store
act-entity-section-delete = Delete a section from the application's store
act-entity-item-property-add = Create a property of entries in the application's store
act-entity-item-property-get = View the properties of entries in the application's store
act-entity-item-property-update = Change a property of entries in the application's store
act-entity-item-property-delete = Delete a property of entries from the application's store

## Workflows and robots

act-bizproc-workflow-start = Start the workflow
act-bizproc-workflow-terminate = Stop the workflow
act-bizproc-workflow-kill = Delete the workflow with its log
act-bizproc-workflow-template-add = Create the workflow template
act-bizproc-workflow-template-update = Change the workflow template
act-bizproc-workflow-template-delete = Delete the workflow template
act-bizproc-robot-add = Create the robot
act-bizproc-robot-update = Change the robot
act-bizproc-robot-delete = Delete the robot
act-bizproc-robot-list = View robots
act-bizproc-activity-add = Create the workflow action
act-bizproc-activity-update = Change the workflow action
act-bizproc-activity-delete = Delete the workflow action
act-bizproc-activity-list = View workflow actions
act-bizproc-activity-log = Write to the log of the workflow
act-bizproc-task-complete = Answer the assignment of a workflow
act-bizproc-task-delegate = Hand over the assignment of a workflow
act-bizproc-event-send = Send a robot's answer to the workflow
act-crm-automation-trigger = Run the automation trigger
act-crm-automation-trigger-list = View automation triggers
act-crm-automation-trigger-add = Create the automation trigger
act-crm-automation-trigger-delete = Delete the automation trigger
act-crm-automation-trigger-execute = Run the automation trigger

## Calendar

act-calendar-section-add = Create the calendar
act-calendar-section-update = Change the calendar
act-calendar-section-delete = Delete, with its events, the calendar
act-calendar-user-settings-set = Change the personal settings of the calendar
act-calendar-meeting-status-set = Answer the invitation to the meeting
act-calendar-resource-add = Create the resource for booking
act-calendar-resource-update = Change the resource for booking
act-calendar-resource-delete = Delete with its bookings the resource

## Product catalogue

act-catalog-product-add = Create the product in the catalogue
act-catalog-product-update = Change in the catalogue the product
act-catalog-product-delete = Delete from the catalogue the product
act-catalog-product-offer-add = Create the variation of a product
act-catalog-product-offer-update = Change the variation of a product
act-catalog-product-offer-delete = Delete the variation of a product
act-catalog-product-service-add = Create the service in the catalogue
act-catalog-product-service-update = Change in the catalogue the service
act-catalog-product-service-delete = Delete from the catalogue the service
act-catalog-product-sku-add = Create the product with variations
act-catalog-product-sku-update = Change the product with variations
act-catalog-product-sku-delete = Delete the product with variations
act-catalog-section-add = Create the section of the catalogue
act-catalog-section-update = Change the section of the catalogue
act-catalog-section-delete = Delete the section of the catalogue
act-catalog-price-add = Create the price of a product
act-catalog-price-update = Change the price of a product
act-catalog-price-delete = Delete the price of a product
act-catalog-pricetype-add = Create the type of prices
act-catalog-pricetype-update = Change the type of prices
act-catalog-pricetype-delete = Delete the type of prices
act-catalog-measure-add = Create the unit of measure
act-catalog-measure-update = Change the unit of measure
act-catalog-measure-delete = Delete the unit of measure
act-catalog-vat-add = Create the VAT rate
act-catalog-vat-update = Change the VAT rate
act-catalog-vat-delete = Delete the VAT rate
act-catalog-store-add = Create the warehouse
act-catalog-store-update = Change the warehouse
act-catalog-store-delete = Delete the warehouse
act-catalog-productproperty-add = Create the property of the catalogue's products
act-catalog-productproperty-update = Change the property of the catalogue's products
act-catalog-productproperty-delete = Delete the property of the catalogue's products
act-catalog-productpropertyenum-add = Create the option of a product property
act-catalog-productpropertyenum-update = Change the option of a product property
act-catalog-productpropertyenum-delete = Delete the option of a product property
act-catalog-price-modify = Replace all prices of the product

## Chats and notices

act-im-notify = Send a notice to an employee
act-im-notify-personal-add = Send a personal notice to an employee
act-im-notify-system-add = Send a system notice to an employee
act-im-notify-delete = Delete the notice
act-im-message-add = Send a message to the chat
act-im-message-update = Change in the chat the message
act-im-message-delete = Delete from the chat the message
act-im-chat-add = Create the chat
act-im-chat-user-add = Add members to the chat
act-im-chat-user-delete = Remove a member from the chat
act-im-chat-updatetitle = Rename the chat
act-im-chat-setowner = Change the owner of the chat
act-im-chat-leave = Leave the chat
act-im-dialog-read = Mark as read the chat
act-im-dialog-unread = Mark messages as unread in the chat
act-im-dialog-read-all = Mark all chats as read
act-im-notify-read-all = Mark all notices as read
act-im-notify-read = Mark as read or unread a notice, or all from it on
act-im-notify-read-list = Mark as read or unread the chosen notices
act-im-recent-pin = Pin in the list, or unpin, the chat
act-im-recent-hide = Hide from the list the chat
act-im-recent-unread = Set or clear the unread mark of the chat
act-im-chat-mute = Mute or unmute the chat
act-im-search-last-add = Add to the recent searches the chat
act-im-search-last-delete = Remove from the recent searches the chat
act-im-user-status-set = Change one's own status in chats
act-im-user-status-idle-start = Set the status "away"
act-im-user-status-idle-end = Clear the status "away"
act-im-notify-confirm = Press a button in the notice
act-im-notify-answer = Answer the notice
act-im-dialog-writing = Show "is typing…" in the chat
act-im-message-like = Like the message, or take the like back
act-im-message-share = Make a chat, task, post or meeting of the message
act-im-message-command = Run a command of a bot from the message
act-im-chat-updatecolor = Change the colour of the chat
act-im-chat-updateavatar = Change the picture of the chat
act-im-disk-file-commit = Send a file to the chat
act-im-disk-file-save = Save a file of a chat to one's own drive
act-im-disk-file-delete = Delete a file from the chat

## Reference books of the CRM

act-crm-status-add = Create in a reference book (stages, sources, types) the value
act-crm-status-update = Change in a reference book (stages, sources, types) the value
act-crm-status-delete = Delete from a reference book (stages, sources, types) the value
act-crm-category-add = Create the funnel
act-crm-category-update = Change the funnel
act-crm-category-delete = Delete with its stages the funnel
act-crm-dealcategory-add = Create the funnel
act-crm-dealcategory-update = Change the funnel
act-crm-dealcategory-default-set = Rename the main funnel
act-crm-dealcategory-delete = Delete with its stages the funnel
act-crm-type-add = Create the smart process
act-crm-type-update = Change the smart process
act-crm-type-delete = Delete the smart process
act-crm-automatedsolution-add = Create the automated solution
act-crm-automatedsolution-update = Change the automated solution
act-crm-automatedsolution-delete = Delete the automated solution
act-crm-currency-add = Create the currency
act-crm-currency-update = Change the currency
act-crm-currency-delete = Delete the currency
act-crm-currency-base-set = Change the base currency
act-crm-currency-localizations-set = Change how sums are written in the currency
act-crm-currency-localizations-delete = Reset how sums are written in the currency
act-crm-measure-add = Create the unit of measure
act-crm-measure-update = Change the unit of measure
act-crm-measure-delete = Delete the unit of measure
act-crm-vat-add = Create the VAT rate
act-crm-vat-update = Change the VAT rate
act-crm-vat-delete = Delete the VAT rate
act-crm-product-add = Create the product in the catalogue
act-crm-product-update = Change in the catalogue the product
act-crm-product-delete = Delete from the catalogue the product
act-crm-productsection-add = Create the section of the catalogue
act-crm-productsection-update = Change the section of the catalogue
act-crm-productsection-delete = Delete the section of the catalogue
act-crm-product-property-add = Create the property of the catalogue's products
act-crm-product-property-update = Change the property of the catalogue's products
act-crm-product-property-delete = Delete the property of the catalogue's products
act-crm-invoice-status-add = Create the status of old invoices
act-crm-invoice-status-update = Change the status of old invoices
act-crm-invoice-status-delete = Delete the status of old invoices

## Duplicates

act-crm-entity-mergebatch = Merge duplicates: only the first record stays
act-crm-duplicate-volatiletype-register = Add a field to the search for duplicates
act-crm-duplicate-volatiletype-unregister = Remove a field from the search for duplicates

## Requisites and addresses

act-crm-requisite-add = Create the requisites
act-crm-requisite-update = Change the requisites
act-crm-requisite-delete = Delete the requisites
act-crm-requisite-bankdetail-add = Create the bank details
act-crm-requisite-bankdetail-update = Change the bank details
act-crm-requisite-bankdetail-delete = Delete the bank details
act-crm-address-add = Create the address
act-crm-address-update = Change the address
act-crm-address-delete = Delete the address
act-crm-requisite-link-register = Choose the requisites of the record
act-crm-requisite-link-unregister = Remove the chosen requisites from the record
act-crm-requisite-preset-add = Create the template of requisites
act-crm-requisite-preset-update = Change the template of requisites
act-crm-requisite-preset-delete = Delete the template of requisites
act-crm-requisite-preset-field-add = Create the field in a template of requisites
act-crm-requisite-preset-field-update = Change the field in a template of requisites
act-crm-requisite-preset-field-delete = Delete the field from a template of requisites

## Documents

act-crm-documentgenerator-document-add = Create from a template a document of the record
act-crm-documentgenerator-document-update = Change and make anew the document
act-crm-documentgenerator-document-upload = Upload a finished document to the record
act-crm-documentgenerator-document-delete = Delete the document
act-crm-documentgenerator-document-enablepublicurl = Open or close the public link to the document
act-crm-documentgenerator-template-add = Create the template of documents
act-crm-documentgenerator-template-update = Change the template of documents
act-crm-documentgenerator-template-delete = Delete the template of documents
act-crm-documentgenerator-numerator-add = Create the numerator of documents
act-crm-documentgenerator-numerator-update = Change the numerator of documents
act-crm-documentgenerator-numerator-delete = Delete the numerator of documents

## Old invoices

act-crm-invoice-add = Create the invoice (of the old kind)
act-crm-invoice-update = Change the invoice (of the old kind)
act-crm-invoice-delete = Delete the invoice (of the old kind)
act-crm-invoice-recurring-add = Create the recurring invoice (of the old kind)
act-crm-invoice-recurring-update = Change the recurring invoice (of the old kind)
act-crm-invoice-recurring-delete = Delete the recurring invoice (of the old kind)
act-crm-invoice-recurring-expose = Issue now an invoice of the recurring one (old kind)
act-crm-invoice-getexternallink = Get a public link to the invoice (of the old kind)

## Call lists and tracking

act-crm-calllist-add = Create the call list
act-crm-calllist-update = Replace the participants of the call list
act-crm-tracking-trace-add = Record a customer's path (where they came from)
act-crm-tracking-trace-delete = Delete a customer's path (where they came from)

## Links of records

act-crm-deal-contact-add = Link a contact to the deal
act-crm-deal-contact-delete = Unlink a contact from the deal
act-crm-deal-contact-items-set = Replace all contacts of the deal
act-crm-deal-contact-items-delete = Unlink all contacts from the deal
act-crm-lead-contact-add = Link a contact to the lead
act-crm-lead-contact-delete = Unlink a contact from the lead
act-crm-lead-contact-items-set = Replace all contacts of the lead
act-crm-lead-contact-items-delete = Unlink all contacts from the lead
act-crm-contact-company-add = Link a company to the contact
act-crm-contact-company-delete = Unlink a company from the contact
act-crm-contact-company-items-set = Replace all companies of the contact
act-crm-contact-company-items-delete = Unlink all companies from the contact
act-crm-company-contact-add = Link a contact to the company
act-crm-company-contact-delete = Unlink a contact from the company
act-crm-company-contact-items-set = Replace all contacts of the company
act-crm-company-contact-items-delete = Unlink all contacts from the company
act-crm-quote-contact-add = Link a contact to the quote
act-crm-quote-contact-delete = Unlink a contact from the quote
act-crm-quote-contact-items-set = Replace all contacts of the quote
act-crm-quote-contact-items-delete = Unlink all contacts from the quote
act-crm-orderentity-add = Link an order of the shop to the record
act-crm-orderentity-deletebyfilter = Unlink orders of the shop from the record

## Quotes

act-crm-quote-add = Create the quote
act-crm-quote-update = Change the quote
act-crm-quote-delete = Delete the quote

## Products of records

act-crm-deal-productrows-set = Replace all products of the deal
act-crm-lead-productrows-set = Replace all products of the lead
act-crm-quote-productrows-set = Replace all products of the quote
act-crm-item-productrow-add = Add a product to the record
act-crm-item-productrow-update = Change the product row
act-crm-item-productrow-delete = Remove the product row
act-crm-item-productrow-set = Replace all products of the record

## Payments

act-crm-item-payment-add = Create a payment of the record
act-crm-item-payment-update = Change the payment
act-crm-item-payment-delete = Delete the payment
act-crm-item-payment-pay = Mark as received the payment
act-crm-item-payment-unpay = Mark as not received the payment
act-crm-item-payment-product-add = Add a product to the payment
act-crm-item-payment-product-delete = Remove a product from the payment
act-crm-item-payment-product-setquantity = Change the quantity of a product in the payment
act-crm-item-payment-delivery-add = Add a delivery to the payment
act-crm-item-payment-delivery-delete = Remove a delivery from the payment
act-crm-item-payment-delivery-setdelivery = Replace the delivery of the payment
act-salescenter-payment-getpublicurl = Get a public link to the payment

## Recurring deals

act-crm-deal-recurring-add = Create the recurring deal
act-crm-deal-recurring-update = Change the recurring deal
act-crm-deal-recurring-delete = Delete the recurring deal
act-crm-deal-recurring-expose = Create now a deal of the recurring one

## Import of records

act-crm-item-import = Import into the CRM, without robots, the record
act-crm-item-batchimport = Import into the CRM, without robots, several records

## Custom fields

act-crm-deal-userfield-add = Create the custom field of deals
act-crm-deal-userfield-update = Change the custom field of deals
act-crm-deal-userfield-delete = Delete with all its values the custom field of deals
act-crm-lead-userfield-add = Create the custom field of leads
act-crm-lead-userfield-update = Change the custom field of leads
act-crm-lead-userfield-delete = Delete with all its values the custom field of leads
act-crm-contact-userfield-add = Create the custom field of contacts
act-crm-contact-userfield-update = Change the custom field of contacts
act-crm-contact-userfield-delete = Delete with all its values the custom field of contacts
act-crm-company-userfield-add = Create the custom field of companies
act-crm-company-userfield-update = Change the custom field of companies
act-crm-company-userfield-delete = Delete with all its values the custom field of companies
act-crm-quote-userfield-add = Create the custom field of quotes
act-crm-quote-userfield-update = Change the custom field of quotes
act-crm-quote-userfield-delete = Delete with all its values the custom field of quotes
act-crm-requisite-userfield-add = Create the custom field of requisites
act-crm-requisite-userfield-update = Change the custom field of requisites
act-crm-requisite-userfield-delete = Delete with all its values the custom field of requisites
act-user-userfield-add = Create the custom field of employees
act-user-userfield-update = Change the custom field of employees
act-user-userfield-delete = Delete with all its values the custom field of employees
act-task-item-userfield-add = Create the custom field of tasks
act-task-item-userfield-update = Change the custom field of tasks
act-task-item-userfield-delete = Delete with all its values the custom field of tasks

## Layout of records

act-crm-deal-details-configuration-set = Change the layout of deals
act-crm-deal-details-configuration-reset = Reset the layout of deals
act-crm-deal-details-configuration-forcecommonscopeforall = Set for everybody the common layout of deals
act-crm-lead-details-configuration-set = Change the layout of leads
act-crm-lead-details-configuration-reset = Reset the layout of leads
act-crm-lead-details-configuration-forcecommonscopeforall = Set for everybody the common layout of leads
act-crm-contact-details-configuration-set = Change the layout of contacts
act-crm-contact-details-configuration-reset = Reset the layout of contacts
act-crm-contact-details-configuration-forcecommonscopeforall = Set for everybody the common layout of contacts
act-crm-company-details-configuration-set = Change the layout of companies
act-crm-company-details-configuration-reset = Reset the layout of companies
act-crm-company-details-configuration-forcecommonscopeforall = Set for everybody the common layout of companies
act-crm-item-details-configuration-set = Change the layout of items
act-crm-item-details-configuration-reset = Reset the layout of items
act-crm-item-details-configuration-forcecommonscopeforall = Set for everybody the common layout of items

## Drive

act-disk-file-delete = Delete for ever the file
act-disk-file-markdeleted = Move to the recycle bin the file
act-disk-folder-deletetree = Delete for ever, with all its contents, the folder
act-disk-folder-markdeleted = Move to the recycle bin the folder
act-disk-file-restore = Restore from the recycle bin the file
act-disk-folder-restore = Restore from the recycle bin the folder
act-disk-folder-uploadfile = Upload a file to the folder
act-disk-storage-addfolder = Create a folder on the drive
act-disk-folder-addsubfolder = Create a folder inside the folder
act-disk-storage-uploadfile = Upload a file to the drive
act-disk-file-uploadversion = Upload a new version of the file
act-disk-file-restorefromversion = Go back to an earlier version of the file
act-disk-file-rename = Rename the file
act-disk-file-moveto = Move the file
act-disk-file-copyto = Copy the file
act-disk-file-getexternallink = Open to everybody by a link the file
act-disk-folder-rename = Rename the folder
act-disk-folder-moveto = Move the folder
act-disk-folder-copyto = Copy the folder
act-disk-folder-getexternallink = Open to everybody by a link the folder
act-disk-folder-sharetouser = Give an employee access to the folder
act-disk-storage-rename = Rename the drive

## Events of the portal

act-event-bind = Subscribe to events of the portal
act-event-unbind = Unsubscribe from events of the portal
act-event-test = Send a test event of the portal
act-event-offline-get = Take the queued events of the portal
act-event-offline-clear = Clear the queue of events of the portal
act-event-offline-error = Mark an error in the queue of events of the portal

## Lists

act-lists-element-add = Create in a list the entry
act-lists-element-update = Overwrite all fields of an entry in a list
act-lists-element-delete = Delete from a list the entry
act-lists-add = Create the list
act-lists-update = Change the list
act-lists-delete = Delete the list with all its entries
act-lists-section-add = Create the section of a list
act-lists-section-update = Change the section of a list
act-lists-section-delete = Delete the section of a list
act-lists-field-add = Create the field of a list
act-lists-field-update = Change the field of a list
act-lists-field-delete = Delete the field of a list

## Working day and feed

act-timeman-open = Start the working day of the employee
act-timeman-close = End the working day of the employee
act-timeman-pause = Pause the working day of the employee
act-log-blogpost-add = Publish in the feed the post
act-log-blogpost-update = Change in the feed the post
act-log-blogpost-share = Show more people a post of the feed
act-log-blogpost-delete = Delete from the feed the post
act-log-blogcomment-add = Comment on a post in the feed
act-log-blogcomment-delete = Delete a comment from the feed

## Open lines

act-imopenlines-crm-message-add = Send through an open line a message to the customer from the card
act-imopenlines-crm-lead-create = Create a lead from a dialogue of an open line
act-imopenlines-crm-chat-user-add = Add an employee to the chat with the customer
act-imopenlines-crm-chat-user-delete = Remove an employee from the chat with the customer
act-imopenlines-message-quick-save = Save a message as a ready answer for all operators
act-imopenlines-operator-answer = Take the dialogue with the customer
act-imopenlines-operator-skip = Skip the dialogue with the customer
act-imopenlines-operator-transfer = Hand over the dialogue with the customer
act-imopenlines-session-intercept = Take over the dialogue with the customer
act-imopenlines-session-join = Join the dialogue with the customer
act-imopenlines-session-start = Start a new dialogue in the chat with the customer
act-imopenlines-message-session-start = Start a new dialogue from a message of the customer
act-imopenlines-session-mode-pin = Keep for oneself, or let go, the dialogue with the customer
act-imopenlines-session-mode-pinall = Keep for oneself all dialogues with customers
act-imopenlines-session-mode-unpinall = Let go all dialogues with customers
act-imopenlines-session-mode-silent = Switch the hidden mode on or off in the dialogue with the customer
act-imopenlines-session-head-vote = Rate as a head the dialogue with the customer
act-imopenlines-operator-finish = End the dialogue with the customer
act-imopenlines-operator-another-finish = End another operator's dialogue with the customer
act-imopenlines-operator-spam = Mark as spam and end the dialogue with the customer
act-imopenlines-network-message-add = Send a message to a Bitrix24 user as the open line
act-imopenlines-bot-session-finish = End the bot's dialogue with the customer
act-imopenlines-bot-session-message-send = Send an automatic answer of the bot to the customer
act-imopenlines-bot-session-operator = Pass the bot's dialogue to a free operator
act-imopenlines-bot-session-transfer = Pass the bot's dialogue to a chosen operator
act-imopenlines-network-join = Connect an outside open line
act-imopenlines-config-add = Create the open line
act-imopenlines-config-update = Change the settings of the open line
act-imopenlines-config-delete = Delete the open line

## Colleagues and departments

act-user-add = Invite to the portal the employee
act-user-update = Change the data of the employee
act-department-add = Create the department
act-department-update = Change the department
act-department-delete = Delete the department

## Groups and projects

act-sonet_group-create = Create the group
act-sonet_group-update = Change the group
act-sonet_group-delete = Delete, with its tasks and files, the group
act-sonet_group-setowner = Change the owner of the group
act-sonet_group-user-add = Add members to the group
act-sonet_group-user-invite = Invite members to the group
act-sonet_group-user-request = Ask to join the group
act-sonet_group-user-update = Change the role of a member of the group
act-sonet_group-user-delete = Remove a member from the group

## Tasks

act-tasks-task-delegate = Delegate the task
act-tasks-task-chat-message-send = Send a message to the chat of the task
act-task-checklistitem-add = Add a checklist item to the task
act-task-checklistitem-update = Change a checklist item of the task
act-task-checklistitem-complete = Tick a checklist item of the task
act-task-checklistitem-renew = Untick a checklist item of the task
act-task-checklistitem-moveafteritem = Move within the list a checklist item of the task
act-task-checklistitem-delete = Remove a checklist item from the task
act-task-commentitem-add = Add a comment to the task
act-task-commentitem-update = Change a comment on the task
act-task-commentitem-delete = Delete a comment on the task
act-task-dependence-add = Link to another task the task
act-task-dependence-delete = Remove the link to another task of the task
act-task-elapseditem-add = Record time spent on the task
act-task-elapseditem-update = Change the time spent on the task
act-task-elapseditem-delete = Delete time spent from the task
act-tasks-task-startwatch = Start watching the task
act-tasks-task-stopwatch = Stop watching the task
act-tasks-task-favorite-add = Add to the favourites the task
act-tasks-task-favorite-remove = Remove from the favourites the task
act-tasks-task-pin = Pin in the list the task
act-tasks-task-unpin = Unpin in the list the task
act-tasks-task-mute = Mute the notices of the task
act-tasks-task-unmute = Unmute the notices of the task
act-tasks-task-result-addfromcomment = Mark a comment as the result of the task
act-tasks-task-result-deletefromcomment = Take from a comment the mark "result of the task"
act-task-stages-movetask = Move on the board the task
act-task-stages-add = Create the stage of a task board
act-task-stages-update = Change the stage of a task board
act-task-stages-delete = Delete the stage of a task board
act-tasks-flow-flow-create = Create the task flow
act-tasks-flow-flow-update = Change the task flow
act-tasks-flow-flow-activate = Switch on or off the task flow
act-tasks-flow-flow-delete = Delete the task flow
act-tasks-template-add = Create the task template
act-tasks-template-update = Change the task template
act-tasks-template-delete = Delete the task template
act-tasks-template-checklist-add = Add a checklist item to the task template
act-tasks-template-checklist-update = Change a checklist item of the task template
act-tasks-template-checklist-complete = Tick a checklist item of the task template
act-tasks-template-checklist-renew = Untick a checklist item of the task template
act-tasks-template-checklist-delete = Remove a checklist item from the task template

## Telephony

act-telephony-externalcall-register = Register the call
act-telephony-externalcall-finish = End the call and put it on the record
act-telephony-externalcall-show = Show an employee the card of the call
act-telephony-externalcall-hide = Hide from an employee the card of the call
act-telephony-externalcall-attachrecord = Attach a recording to the call
act-telephony-call-attachtranscription = Attach a transcript to the call
act-voximplant-callback-start = Call the customer back
act-voximplant-infocall-startwithtext = Call the customer by a machine that reads a text
act-voximplant-infocall-startwithsound = Call the customer by a machine that plays a recording
act-telephony-externalline-get = View the outside lines
act-telephony-externalline-add = Create the outside line
act-telephony-externalline-update = Change the outside line
act-telephony-externalline-delete = Delete the outside line
act-voximplant-sip-get = View the SIP lines with passwords
act-voximplant-sip-status = View the state of the SIP line
act-voximplant-sip-add = Create the SIP line
act-voximplant-sip-update = Change the SIP line
act-voximplant-sip-delete = Delete the SIP line
act-voximplant-user-get = View the telephony of employees with passwords
act-voximplant-line-outgoing-set = Choose the number for outgoing calls
act-voximplant-line-outgoing-sip-set = Choose the SIP line for outgoing calls
act-voximplant-user-activatephone = Allow an employee a SIP phone
act-voximplant-user-deactivatephone = Switch off an employee's SIP phone

## Outside the portal: Telegram, database, schedule, addresses, scenarios

act-reminder-add = Set the reminder
act-reminder-cancel = Cancel the reminder
act-reminder-move = Move the reminder
act-order-add = Give a standing order
act-order-change = Change a standing order
act-order-remove = Remove a standing order
act-order-list = Look at standing orders
act-method-help = Look up what a method needs
act-history-of = Look up who changed a record
act-day = Show one's day
act-report = Count a report
act-ask_documents = Look it up in the company's documents
act-change-all = Change records by a condition
act-person-handover = Hand over from one employee to others
act-bulk-undo = Take it back
count-record = { $count ->
    [one] { $count } record
   *[other] { $count } records
}
act-schedule-run-add = Schedule a scenario
act-http-get = Request data from a site
act-http-post = Send data to a site
act-http-put = Store data at a site
act-http-patch = Send changes to a site
act-http-delete = Delete at a site
act-file-create = Create the file
act-file-write = Write the file
act-file-append = Add to the file
act-file-delete = Delete the file
act-telegram-send_message = Send a Telegram message
act-telegram-send_photo = Send a picture in Telegram
act-telegram-send_document = Send a file in Telegram
act-telegram-edit_message = Change a sent Telegram message
act-telegram-delete_message = Delete a sent Telegram message
act-mongo-insert_one = Add an entry to the database
act-mongo-insert_many = Add several entries to the database
act-mongo-update_one = Change an entry in the database
act-mongo-update_many = Change several entries in the database
act-mongo-delete_one = Delete an entry from the database
act-mongo-delete_many = Delete several entries from the database
