from typing import Final

from bitrix.catalogue.names import MULTIFIELDS

ALSO_TAKEN: Final = {
    "task": frozenset({"SE_PARAMETER", "DEPENDS_ON", "CHECKLIST", "TAGS", "UF_CRM_TASK", "UF_TASK_WEBDAV_FILES", "UF_MAIL_MESSAGE"}),
}
ALSO_FILTERED: Final = frozenset({"SEARCH_CONTENT", "FM", "CONTACT_IDS", "COMPANY_IDS", "ACTIVE_TIME_PERIOD", *MULTIFIELDS})
TASKS_FILTERED: Final = frozenset({
    "MEMBER", "DOER", "ACTIVE", "OVERDUED", "TAG", "ROLEID", "SITE_ID", "GUID", "MARK", "REAL_STATUS", "ONLY_ROOT_TASKS", "IN_REPORT",
    "SUBORDINATE_TASKS", "SUBORDINATE", "SEARCH_INDEX", "FULL_SEARCH_INDEX", "SCENARIO_NAME", "FORUM_TOPIC_ID", "ZOMBIE", "XML_ID",
    "ALLOW_TIME_TRACKING", "AUDITOR", "ACCOMPLICE", "AUDITORS", "ACCOMPLICES", "TASK_CONTROL", "CHANGED_DATE", "CREATED_DATE",
    "CLOSED_DATE", "CLOSED_BY", "CHANGED_BY", "STATUS_CHANGED_BY", "STATUS_CHANGED_DATE", "DATE_START", "START_DATE_PLAN",
    "END_DATE_PLAN", "DEPENDS_ON", "VIEWED", "VIEWED_DATE", "FAVORITE", "STAGE_ID", "STAGES_ID", "FLOW", "FLOW_ID", "SPRINT_ID",
    "UF_CRM_TASK", "PRIORITY", "STATUS", "DEADLINE", "PARENT_ID", "GROUP_ID", "RESPONSIBLE_ID", "CREATED_BY", "TITLE", "ID",
})  # fmt: skip
FILLED: Final = frozenset(
    {
        "stageid",
        "statusid",
        "categoryid",
        "assignedbyid",
        "currencyid",
        "opened",
        "typeid",
        "companytype",
        "sourceid",
        "begindate",
        "closedate",
    }
)
WRITABLE_KEYS: Final = frozenset(
    {
        "productid",
        "productname",
        "price",
        "quantity",
        "discounttypeid",
        "discountrate",
        "discountsum",
        "taxrate",
        "taxincluded",
        "measurecode",
        "measurename",
        "customized",
        "sort",
    }
)
RESERVED_KEYS: Final = frozenset({"storeid", "reserveid", "reservequantity", "inputreservequantity", "rowreserved", "datereserveend"})
"""Which goods are reserved for a product row; writing the row again does not bring a reservation back."""
