from __future__ import annotations

import dataclasses

import pytest

from pumice.kernel.auth.context import RequestContext, from_headers, new_request_id, valid_request_id

GOOD = "req-01234567-89ab-4cde-8f01-23456789abcd"


@pytest.mark.parametrize("text", [None, "", "req-", GOOD[4:], GOOD + "\n", GOOD + "0", "req-" + "g" * 36, "x" * 4000])
def test_only_req_and_a_uuid_is_a_request_id(text: str | None) -> None:
    assert valid_request_id(text) is None


def test_request_ids_are_valid_and_differ() -> None:
    assert valid_request_id(GOOD) == GOOD
    first, second = new_request_id(), new_request_id()
    assert valid_request_id(first) == first != second


def test_a_context_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RequestContext().user_id = "x"  # type: ignore[misc]


def test_headers_become_a_context() -> None:
    environ = {
        "HTTP_X_USER_ID": "u", "HTTP_X_PROJECT_ID": "p", "HTTP_X_ROLES": "Member, reader,,",
        "HTTP_X_USER_DOMAIN_ID": "ud", "HTTP_X_PROJECT_DOMAIN_ID": "pd",
        "HTTP_X_SERVICE_ROLES": "Service", "HTTP_X_SERVICE_USER_ID": "su", "HTTP_X_SERVICE_PROJECT_ID": "sp",
        "HTTP_X_SERVICE_IDENTITY_STATUS": "Confirmed", "HTTP_X_AUTH_TOKEN": "never kept",
    }  # fmt: skip
    context = from_headers(environ, "req-1", GOOD)
    assert context == RequestContext(
        user_id="u", project_id="p", user_domain_id="ud", project_domain_id="pd",
        roles=frozenset({"member", "reader"}), service_roles=frozenset({"service"}),
        service_user_id="su", service_project_id="sp", request_id="req-1", global_request_id=GOOD,
    )  # fmt: skip
    assert "never kept" not in repr(context)


def test_service_headers_count_only_when_the_service_token_was_confirmed() -> None:
    for status in ({}, {"HTTP_X_SERVICE_IDENTITY_STATUS": "Invalid"}):
        context = from_headers({"HTTP_X_SERVICE_ROLES": "service", "HTTP_X_SERVICE_USER_ID": "s", **status}, "r", None)
        assert (context.service_roles, context.service_user_id) == (frozenset(), None)


def test_system_domain_and_admin_project_are_kept() -> None:
    environ = {"HTTP_OPENSTACK_SYSTEM_SCOPE": "all", "HTTP_X_DOMAIN_ID": "d", "HTTP_X_IS_ADMIN_PROJECT": "False"}
    context = from_headers(environ, "r", None)
    assert (context.system_scope, context.domain_id, context.is_admin_project) == ("all", "d", False)


def test_policy_values_have_the_names_of_check_strings() -> None:
    values = RequestContext(roles=frozenset({"reader", "admin"}), is_admin=True).to_policy_values()
    assert values["roles"] == ["admin", "reader"]
    assert values["is_admin"] is True
    values = RequestContext(user_id="u", project_id="p").to_policy_values()
    assert (values["user"], values["user_id"], values["tenant"], values["project_id"]) == ("u", "u", "p", "p")
    assert values["roles"] == values["service_roles"] == []
