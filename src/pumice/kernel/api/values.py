"""Types of values that request bodies share: what each accepts, and the text that refuses the rest.

Each is an `Annotated` of the Python type that handlers get. Where null is allowed the field says `| None`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

UINT31 = 2147483647
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_METADATA_KEY = re.compile(r"[A-Za-z0-9\-_:./ ]{1,255}")
_SPEC_KEY = re.compile(r"[A-Za-z0-9\-_:.]{1,255}")
_HOST = re.compile(r"[A-Za-z0-9\-._#@:/+\[\]]{1,255}")
TRUE_WORDS = frozenset({"1", "on", "yes", "y", "t", "true"})
FALSE_WORDS = frozenset({"0", "off", "no", "n", "f", "false"})


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A converter: `parse(decoded JSON value)` gives the handler's value or raises ValueError with a message
    that says what was wrong and what is allowed; `schema` is what the OpenAPI document says of it."""

    parse: Callable[[Any], Any]
    schema: Mapping[str, Any]


def shown(value: Any) -> str:
    """A refused value as messages quote it: short, and null as the caller wrote it."""
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def text(minimum: int = 0, maximum: int = 255, *, strip: bool = False, printable: bool = False) -> Value:
    """Text of a bounded number of characters, after `strip` took blanks around it away."""

    def parse(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{shown(value)} is refused: text of {minimum} to {maximum} characters is allowed")
        kept: str = value.strip() if strip else value
        if not minimum <= len(kept) <= maximum:
            raise ValueError(f"text of {len(kept)} characters is refused: {minimum} to {maximum} are allowed")
        if printable and not all(one.isprintable() or unicodedata.category(one) == "Zs" for one in kept):
            raise ValueError("unprintable characters are refused: printable text is allowed")
        return kept

    return Value(parse, {"type": "string", "minLength": minimum, "maxLength": maximum})


def matching(pattern: re.Pattern[str], allowed: str) -> Value:
    """Text that a pattern matches whole."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{shown(value)} is refused: {allowed}")
        return value

    return Value(parse, {"type": "string", "pattern": f"^{pattern.pattern}$"})


def one_of(*words: str) -> Value:
    """One of a few words, as written here."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{shown(value)} is refused: one of {', '.join(words)} is allowed")
        return value

    return Value(parse, {"enum": list(words)})


def integer(minimum: int, maximum: int = UINT31, unit: str = "") -> Value:
    """An integer, or text of its digits."""
    allowed = f"an integer from {minimum} to {maximum}{unit and ' ' + unit} is allowed"

    def parse(value: Any) -> int:
        number = int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else value
        if type(number) is not int or not minimum <= number <= maximum:
            raise ValueError(f"{shown(value)} is refused: {allowed}")
        return number

    number = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return Value(parse, {"anyOf": [number, {"type": "string", "pattern": "^-?[0-9]+$"}]})


def boolean_word(word: str) -> bool:
    """The meaning of a boolean's word in any case; raises ValueError for another word."""
    lowered = word.strip().lower()
    if lowered in TRUE_WORDS or lowered in FALSE_WORDS:
        return lowered in TRUE_WORDS
    raise ValueError(f"{shown(word)} is refused: true or false (or 1, 0, yes, no, on, off) is allowed")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str | int):
        return boolean_word(str(value))
    raise ValueError(f"{shown(value)} is refused: true or false is allowed")


def _uuid(value: Any) -> str:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise ValueError(f"{shown(value)} is refused: a UUID is allowed")
    digits = value.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def mapping(
    key: re.Pattern[str],
    key_rule: str,
    *,
    shortest: int = 0,
    longest: int = 255,
    in_bytes: bool = False,
    null: bool = False,
) -> Value:
    """An object of short texts (or nulls), its keys matched whole by a pattern."""
    kind = "text or null" if null else "text"

    def parse(value: Any) -> dict[str, str | None]:
        if not isinstance(value, dict):
            raise ValueError(f"{shown(value)} is refused: an object of {kind} values is allowed")
        for name, one in value.items():
            if not key.fullmatch(name):
                raise ValueError(f"the key {shown(name)} is refused: {key_rule}")
            if not (isinstance(one, str) or (null and one is None)):
                raise ValueError(f"{shown(one)} is refused as the value of {name!r}: {kind} is allowed")
            if one is not None and len(one.encode() if in_bytes else one) > longest:
                raise ValueError(f"the value of {name!r} is too long: at most {longest} are allowed")
            if one is not None and len(one) < shortest:
                raise ValueError(f"the value of {name!r} is too short: at least {shortest} are allowed")
        return value

    value_type = ["string", "null"] if null else "string"
    values = {"type": value_type, "minLength": shortest, "maxLength": longest}
    return Value(parse, {"type": "object", "additionalProperties": values})


METADATA_KEY_RULE = "1 to 255 letters, digits, - _ : . / and blanks are allowed"
SPEC_KEY_RULE = "1 to 255 letters, digits, - _ : and . are allowed"

Name = Annotated[str, text(0, 255, strip=True)]
Description = Annotated[str, text(0, 255, printable=True)]
Text = Annotated[str, text(0, 255)]
Word = Annotated[str, text(1, 255, strip=True)]
Uuid = Annotated[str, Value(_uuid, {"type": "string", "format": "uuid"})]
Boolean = Annotated[bool, Value(_boolean, {"anyOf": [{"type": "boolean"}, {"enum": sorted(TRUE_WORDS | FALSE_WORDS)}]})]
Size = Annotated[int, integer(1, unit="GiB")]
Host = Annotated[str, matching(_HOST, "host, host@backend or host@backend#pool is allowed")]
Progress = Annotated[str, matching(re.compile(r"(?:100|[0-9]{1,2})%"), "0% to 100% is allowed")]
AttachMode = Annotated[str, one_of("rw", "ro")]
MetadataValue = Annotated[str, text(0, 255)]
Metadata = Annotated[dict[str, str], mapping(_METADATA_KEY, METADATA_KEY_RULE)]
ExtraSpecs = Annotated[dict[str, str | None], mapping(_SPEC_KEY, SPEC_KEY_RULE, null=True)]
ImageMetadata = Annotated[
    dict[str, str],
    mapping(re.compile(r".{1,255}", re.DOTALL), "1 to 255 characters are allowed", longest=65535, in_bytes=True),
]
