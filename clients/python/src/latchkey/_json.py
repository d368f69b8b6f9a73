"""JSON that keeps all numbers.

Numbers that `int` and `float` do not take become `decimal.Decimal`: integers with more digits than
`sys.get_int_max_str_digits()` allows, 4,300, and fractions beyond the range of a float.
"""

from __future__ import annotations

import decimal
import json
import math
from typing import Any, TypeAlias

from ._errors import InvalidValue

Json: TypeAlias = Any
"""A JSON value: what `json.loads` returns and `json.dumps` takes."""


def to_json(value: Json) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)
    raise InvalidValue(f"JSON cannot keep this value: {reason}")


def from_json(text: str | bytes) -> Json:
    """Raises ValueError if this is not JSON."""
    try:
        return json.loads(
            text.decode() if isinstance(text, bytes) else text, parse_int=_integer,
            parse_float=_fraction, parse_constant=_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _integer(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        return decimal.Decimal(text)


def _fraction(text: str) -> Json:
    number = float(text)
    try:
        return number if math.isfinite(number) else decimal.Decimal(text)
    except decimal.InvalidOperation:
        return number


def _constant(text: str) -> Json:
    raise ValueError(f"{text} is not JSON")
