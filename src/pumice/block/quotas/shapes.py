"""Quotas on the wire (section 22 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.shapes import Shape


class SetQuotas(Shape):
    """{resource: limit}; which resources there are depends on the volume types, so the handler looks."""

    quota_set: dict[str, Any]


class SetClassQuotas(Shape):
    quota_class_set: dict[str, Any]
