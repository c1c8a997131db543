from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.kernel.api import fields, values
from pumice.kernel.api.values import Value

UUID = "0b2d5a64-7c4c-4a0e-9a6a-0d3f3c7c1a11"

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (values.Name, "  a stone ", "a stone"),
    (values.Name, "", ""),
    (values.Name, "é" * 255, "é" * 255),
    (values.Description, "with\u00a0no-break blank", "with\u00a0no-break blank"),
    (values.Word, " x ", "x"),
    (values.Size, 1, 1),
    (values.Size, "2147483647", 2147483647),
    (values.Uuid, UUID, UUID),
    (values.Uuid, UUID.replace("-", "").upper(), UUID),
    (values.Boolean, True, True),
    (values.Boolean, 0, False),
    (values.Boolean, " Yes", True),
    (values.Boolean, "OFF", False),
    (values.Host, "node-1.lan@file#pool", "node-1.lan@file#pool"),
    (values.Host, "[::1]:80/x+y", "[::1]:80/x+y"),
    (values.Progress, "0%", "0%"),
    (values.Progress, "100%", "100%"),
    (values.AttachMode, "ro", "ro"),
    (values.Metadata, {"a b/c.d:e_f-g": ""}, {"a b/c.d:e_f-g": ""}),
    (values.ExtraSpecs, {"a:b": None, "c": "<is> True"}, {"a:b": None, "c": "<is> True"}),
    (values.ImageMetadata, {"é": "x" * 65535}, {"é": "x" * 65535}),
]
REFUSED: list[tuple[Any, Any]] = [
    (values.Name, "x" * 256),
    (values.Name, None),
    (values.Name, 5),
    (values.Description, "two\nlines"),
    (values.Description, "a\x07"),
    (values.Word, "  "),
    (values.Size, 0),
    (values.Size, 2147483648),
    (values.Size, 1.0),
    (values.Size, True),
    (values.Size, " 1"),
    (values.Size, "1.0"),
    (values.Size, "٣"),
    (values.Size, "9" * 5000),
    (values.Size, [1]),
    (values.Uuid, "nonsense"),
    (values.Uuid, UUID + "0"),
    (values.Uuid, "{" + UUID + "}"),
    (values.Uuid, 7),
    (values.Boolean, "maybe"),
    (values.Boolean, 2),
    (values.Boolean, None),
    (values.Boolean, 1.0),
    (values.Host, ""),
    (values.Host, "a host"),
    (values.Progress, "101%"),
    (values.Progress, "5"),
    (values.AttachMode, "RO"),
    (values.AttachMode, []),
    (values.Metadata, {"": "x"}),
    (values.Metadata, {"x" * 256: "x"}),
    (values.Metadata, {"k!": "x"}),
    (values.Metadata, {"k": 1}),
    (values.Metadata, {"k": None}),
    (values.Metadata, {"k": "x" * 256}),
    (values.Metadata, []),
    (values.ExtraSpecs, {"a b": "x"}),
    (values.ExtraSpecs, {"a": 1}),
    (values.ImageMetadata, {"k": "é" * 40000}),
]
ALL = [getattr(values, name) for name in dir(values) if fields.notes(getattr(values, name))]


def parse(type_: Any, value: Any) -> Any:
    converter = fields.annotation(type_, Value)
    assert converter
    return converter.parse(value)


@pytest.mark.parametrize(("type_", "value", "result"), ACCEPTED)
def test_accepted(type_: Any, value: Any, result: Any) -> None:
    assert parse(type_, value) == result
    assert type(parse(type_, value)) is type(result)


@pytest.mark.parametrize(("type_", "value"), REFUSED)
def test_refused_with_what_is_allowed(type_: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="allowed") as caught:
        parse(type_, value)
    assert len(str(caught.value)) < 250


@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_is_taken_or_refused(value: Any) -> None:
    for type_ in ALL:
        with contextlib.suppress(ValueError):
            parse(type_, value)
