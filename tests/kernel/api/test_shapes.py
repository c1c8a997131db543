from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType, field

from pumice.kernel.api.fields import Named, Since, Until
from pumice.kernel.api.shapes import Alias, Shape, decode
from pumice.kernel.api.values import Boolean, Metadata, Name, Size, Uuid, one_of
from pumice.kernel.api.versions import Version
from pumice.kernel.errors import BadRequest, Unprocessable
from tests.kernel.api.toy import SpecKey

NEWEST = Version(3, 71)


class Part(Shape):
    weight: Size


class Inner(Shape, strict="3.53"):
    size: Size | None = None
    name: Annotated[Name | None, Alias("display_name"), Alias("title")] = None
    group_id: Annotated[Uuid | None, Since("3.13")] = None
    gone: Annotated[str, Until("3.6")] = "default"
    needed_later: Annotated[int, Since("3.60")]
    metadata: Metadata = field(default_factory=dict)
    mode: Annotated[str, one_of("rw", "ro")] = "rw"
    parts: list[Part] = field(default_factory=list)
    by_name: dict[str, Part | None] = field(default_factory=dict)
    shared: Boolean = False
    short: Annotated[str, msgspec.Meta(max_length=3)] = ""


class Outer(Shape, strict=True):
    inner: Inner
    hints: Annotated[dict[str, Any] | None, Named("OS-HINTS:hints")] = None


class Entity(Shape, missing=Unprocessable):
    inner: Part


class Required(Shape):
    name: Annotated[Name, Alias("display_name")]


class Changes(Shape, strict=True):
    name: Annotated[Name | UnsetType | None, Alias("display_name")] = UNSET
    size: Size | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not self.given():
            raise ValueError("nothing is given: name or size is expected")


def inner(text: str, version: str = "3.52") -> Any:
    return decode(Outer, Version.parse(version), f'{{"inner": {text}}}'.encode()).inner


def refusal(body: type[Any], text: str, version: str = "3.71", path: str = "") -> str:
    with pytest.raises(BadRequest) as caught:
        decode(body, Version.parse(version), text.encode(), path)
    return caught.value.message


def test_the_result_is_the_declared_class_with_converted_values() -> None:
    body = inner('{"size": "3", "name": " x ", "shared": "yes", "parts": [{"weight": 1}], "by_name": {"a": null}}')
    assert isinstance(body, Inner)
    assert (body.size, body.name, body.shared, body.parts[0].weight) == (3, "x", True, 1)
    assert isinstance(body.parts[0], Part)
    assert body.by_name == {"a": None}
    assert (body.metadata, body.mode) == ({}, "rw")


def test_names_on_the_wire() -> None:
    body = decode(Outer, NEWEST, b'{"inner": {"needed_later": 1}, "OS-HINTS:hints": {"a": [1]}}')
    assert body.hints == {"a": [1]}
    assert "`hints` is not known" in refusal(Outer, '{"inner": {"needed_later": 1}, "hints": {}}')


def test_a_field_below_its_version_is_an_unknown_key() -> None:
    assert inner('{"group_id": "no uuid", "needed_later": "x"}', "3.12").group_id is None
    assert inner("{}", "3.12").needed_later is None
    assert "UUID" in refusal(Outer, '{"inner": {"group_id": "no uuid"}}', "3.13")
    assert refusal(Outer, '{"inner": {}}', "3.60") == "inner: the key `needed_later` is missing"
    assert inner('{"gone": "here"}', "3.6").gone == "here"
    assert inner('{"gone": "here"}', "3.7").gone == "default"
    assert "`needed_later` is not known" in refusal(Outer, '{"inner": {"needed_later": 1}}', "3.59")


def test_unknown_keys_are_refused_where_the_shape_is_strict() -> None:
    assert inner('{"colour": 1}', "3.52").size is None
    assert (
        refusal(Outer, '{"inner": {"colour": 1}}', "3.53")
        == "inner: the key `colour` is not known here at this version"
    )
    assert (
        refusal(Outer, '{"inner": {}, "colour": 1}', "3.0")
        == "body: the key `colour` is not known here at this version"
    )
    assert inner('{"parts": [{"weight": 1, "colour": 2}]}').parts[0].weight == 1


def test_a_key_type_beside_the_main_object_is_tolerated() -> None:
    assert decode(Outer, Version(3, 5), b'{"inner": {}, "type": {"any": 1}}').inner
    assert "`type` is not known" in refusal(Outer, '{"inner": {"needed_later": 1, "type": 1}}')


def test_aliases_stand_for_the_field_and_lose_against_its_own_key() -> None:
    assert inner('{"display_name": "a"}').name == "a"
    assert inner('{"title": "b"}').name == "b"
    assert inner('{"title": "b", "display_name": "a"}').name == "a"
    assert inner('{"display_name": "a", "name": "own"}').name == "own"
    assert inner('{"display_name": "a", "name": null}').name is None
    assert inner('{"name": "own"}', "3.12").name == "own"
    assert decode(Required, NEWEST, b'{"display_name": "a"}').name == "a"
    assert refusal(Required, "{}") == "body: the key `name` is missing"
    assert refusal(Outer, '{"inner": {"display_name": 5}}', "3.1").startswith("inner.display_name: 5 is refused")


def test_given_tells_absent_from_null() -> None:
    assert decode(Changes, NEWEST, b'{"name": null}').given() == {"name": None}
    assert decode(Changes, NEWEST, b'{"display_name": "x", "size": 2, "type": 1}').given() == {"name": "x", "size": 2}
    assert refusal(Changes, "{}") == "body: nothing is given: name or size is expected"
    assert refusal(Changes, '{"size": null}').startswith("size: null is refused")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"size": 0}', "inner.size: 0 is refused: an integer from 1 to 2147483647 GiB is allowed"),
        ('{"metadata": null}', "inner.metadata: null is refused: an object of text values is allowed"),
        ('{"mode": "x"}', "inner.mode: 'x' is refused: one of rw, ro is allowed"),
        ('{"parts": [{"weight": 1}, {}]}', "inner.parts[1]: the key `weight` is missing"),
        ('{"parts": [{"weight": null}]}', "inner.parts[0].weight: null is refused"),
        ('{"parts": null}', "inner.parts: `null` is refused: `array` is allowed"),
        ('{"by_name": {"a": 1}}', "inner.by_name[...]: `int` is refused: `object | null` is allowed"),
        ('{"short": "long"}', "inner.short: Expected `str` of length <= 3"),
        ("null", "inner: `null` is refused: `object` is allowed"),
        ("[]", "inner: `array` is refused: `object` is allowed"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_allowed(text: str, message: str) -> None:
    assert refusal(Outer, f'{{"inner": {text}}}', "3.5").startswith(message)


def test_the_path_of_an_action_comes_first() -> None:
    assert refusal(Part, '{"weight": 0}', path="os-cut").startswith("os-cut.weight: 0 is refused")
    assert refusal(Part, "null", path="os-cut") == "os-cut: `null` is refused: `object` is allowed"
    assert refusal(dict[str, SpecKey], '{"a": "b c"}', path="os-cut").startswith("os-cut[...]: 'b c' is refused")


def test_other_types_than_shapes() -> None:
    assert decode(dict[str, SpecKey], NEWEST, b'{"a": "b"}') == {"a": "b"}
    assert decode(dict[str, Part], NEWEST, b'{"a": {"weight": "4"}}')["a"].weight == 4


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"{'a': 1}", b'{"inner": NaN}', b"\xff\xfe", b'{"inner": "\xff"}', b'{"inner": "\\ud800"}', b"nul"],
)
def test_what_is_not_json(text: bytes) -> None:
    with pytest.raises(BadRequest):
        decode(Outer, NEWEST, text)


def test_numbers_without_measure() -> None:
    for number in ("1" + "0" * 5000, "1e999", "-1e-999999", "123456789012345678901234567890"):
        with pytest.raises(BadRequest):
            decode(Outer, Version(3, 5), f'{{"inner": {{"size": {number}}}}}'.encode())


def test_a_default_is_not_shared() -> None:
    one, other = inner("{}"), inner("{}")
    one.metadata["a"] = "b"
    assert other.metadata == {}


def test_a_shape_says_what_a_missing_key_of_a_whole_body_means() -> None:
    with pytest.raises(Unprocessable, match="the key `inner` is missing"):
        decode(Entity, NEWEST, b"{}")
    assert "the key `weight` is missing" in refusal(Entity, '{"inner": {}}')
