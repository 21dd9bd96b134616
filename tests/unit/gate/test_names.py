"""One mapping of names between the two families: every field there and back, own fields as the documentation has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitrix.catalogue import names
from tests.unit.gate.gate_kit import catalogue

KINDS = ("deal", "lead", "contact", "company", "item:177")


@pytest.mark.parametrize("kind", KINDS)
def test_every_known_field_goes_there_and_back(kind: str) -> None:
    """But for the one name that only callers use."""
    for name in catalogue().entities[kind.partition(":")[0]].fields:
        if (kind, name) != ("item:177", "STATUS_ID"):
            camel = names.to_universal(name, kind)
            assert names.to_classic(camel, kind) == name
            assert names.to_field_key(camel, kind) == names.to_field_key(name, kind)
            assert (names.to_universal(camel, kind), names.to_classic(name, kind)) == (camel, name)


@pytest.mark.parametrize(
    ("classic", "universal", "kind"),
    [
        ("DATE_CREATE", "createdTime", "deal"),
        ("DATE_MODIFY", "updatedTime", "deal"),
        ("CREATED_BY_ID", "createdBy", "contact"),
        ("MODIFY_BY_ID", "updatedBy", "lead"),
        ("MOVED_BY_ID", "movedBy", "deal"),
        ("STATUS_ID", "stageId", "lead"),
        ("STAGE_ID", "stageId", "deal"),
        ("STAGE_ID", "stageId", "item:177"),
        ("COMPANY_TYPE", "typeId", "company"),
        ("TYPE_ID", "typeId", "contact"),
        ("BEGINDATE", "begindate", "deal"),
        ("CLOSEDATE", "closedate", "deal"),
        ("UTM_SOURCE", "utmSource", "deal"),
        ("CREATED_BY", "createdBy", "task"),
        ("UF_CRM_3_DIGIT", "ufCrm3Digit", "item:177"),
        ("UF_CRM_3_TWO_WORDS", "ufCrm3TwoWords", "item:177"),
        ("UF_CRM_3_A_B", "ufCrm3AB", "item:177"),
        ("UF_CRM_3_DIGIT10", "ufCrm_3_DIGIT10", "item:177"),
        ("UF_CRM_3_DIGIT_10", "ufCrm_3_DIGIT_10", "item:177"),
        ("UF_CRM_3_1747309727", "ufCrm3_1747309727", "item:177"),
        ("UF_CRM_1747309879", "ufCrm_1747309879", "deal"),
        ("UF_CRM_NAME", "ufCrm_NAME", "deal"),
    ],
)
def test_what_is_no_plain_change_of_case(classic: str, universal: str, kind: str) -> None:
    """Facts on Bitrix24 §4.1; own fields by the table of the documentation."""
    assert names.to_universal(classic, kind) == universal
    assert names.to_classic(universal, kind) == classic


@pytest.mark.long
@given(st.from_regex(r"UF_CRM_([0-9]{1,3}_)?[A-Z0-9]{1,8}(_[A-Z0-9]{1,5}){0,2}", fullmatch=True))
def test_own_fields_go_there_and_back(name: str) -> None:
    """Whatever the owner called them: two of them never become one."""
    assert names.is_custom_field(name)
    assert names.to_classic(names.to_universal(name)) == name
    assert names.to_field_key(names.to_universal(name)) == names.to_field_key(name)


def test_a_name_nobody_uses_in_the_other_family_leads_one_way() -> None:
    """A smart process has stages, whatever they are called in a call."""
    assert names.to_universal("STATUS_ID", "item:177") == "stageId"
    assert names.to_classic("stageId", "item:177") == "STAGE_ID"
