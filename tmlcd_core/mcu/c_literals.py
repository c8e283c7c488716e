"""C99 literals: arrays, floats and strings as text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def c_array(declaration: str, values: NDArray, floating: bool = True) -> str:
    """Return the definition of an array with the values, of any shape such as (n, d), as floats or integers."""
    return f"{declaration} = {_braces(np.asarray(values), floating)};\n"


def _braces(values: NDArray, floating: bool) -> str:
    if values.ndim > 1:
        return "{\n" + ",\n".join(_braces(part, floating) for part in values) + "}"
    numbers = (c_float(v) if floating else str(int(v)) for v in values.tolist())
    return "{\n" + wrap(", ".join(numbers)) + "}"


def c_float(value: float) -> str:
    """Return the C99 hexadecimal constant of a float32: exact with every compiler."""
    mantissa, exponent = float(np.float32(value)).hex().split("p")
    whole, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    return f"{whole}{'.' + digits if digits else ''}p{exponent}f"


def wrap(text: str, width: int = 118) -> str:
    """Return a text with line breaks at spaces, no line longer than `width` characters."""
    lines, line = [], ""
    for item in text.split(" "):
        if len(line) + len(item) + 1 > width:
            lines.append(line)
            line = ""
        line += " " + item if line else item
    return "\n".join([*lines, line])


def c_string(text: str) -> str:
    """Return a C string literal: printable ASCII, and octal escapes of the other UTF-8 bytes."""
    safe = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{safe}"'
