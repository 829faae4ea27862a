"""Names: which label keys, label values and object names Kubernetes accepts, and in which words it refuses others.

The words are the API server's own, because kube-scheduler repeats them in conditions and events.
Not here: where in an object a name stands (`api/validate.py`, `api/selectors.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253

_KEY_FORM: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORM: Final = f"({_KEY_FORM})?"
_DNS_LABEL_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM: Final = rf"{_DNS_LABEL_FORM}(\.{_DNS_LABEL_FORM})*"

# Patterns that accept the same texts in linear time; the forms above are what messages quote.
_KEY: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_DNS_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)

_KEY_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_KEY_REFUSAL: Final = (
    f"{_KEY_WORDS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_FORM}')"
)
_VALUE_REFUSAL: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE_FORM}')"
)
_SUBDOMAIN_REFUSAL: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)


def key_faults(key: str) -> list[str]:
    """List what is wrong with a label key, as the API server puts it."""
    parts = key.split("/", 2)
    if len(parts) > 2:
        optional = "an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_REFUSAL} with {optional}"]
    faults = []
    if len(parts) == 2:
        faults = [
            f"prefix part {fault}" for fault in (subdomain_faults(parts[0]) if parts[0] else ["must be non-empty"])
        ]
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    elif _bytes(name) > LABEL_MAX:
        faults.append(f"name part must be no more than {LABEL_MAX} bytes")
    if not _KEY.fullmatch(name):
        faults.append(f"name part {_KEY_REFUSAL}")
    return faults


def value_faults(value: str) -> list[str]:
    """List what is wrong with a label value, as the API server puts it."""
    faults = [f"must be no more than {LABEL_MAX} bytes"] if _bytes(value) > LABEL_MAX else []
    if value and not _KEY.fullmatch(value):
        faults.append(_VALUE_REFUSAL)
    return faults


def subdomain_faults(name: str) -> list[str]:
    """List what is wrong with an object's name, as the API server puts it."""
    faults = [f"must be no more than {SUBDOMAIN_MAX} bytes"] if _bytes(name) > SUBDOMAIN_MAX else []
    if not all(_DNS_LABEL.fullmatch(part) for part in name.split(".")):
        faults.append(_SUBDOMAIN_REFUSAL)
    return faults


def go_quoted(text: str) -> str:
    r"""Quote a text as Go's %q does.

    >>> print(go_quoted('a "b"\n'))
    "a \"b\"\n"
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def go_json(values: Sequence[str] | None) -> str:
    """Write a list of texts as Go's JSON does; None is Go's nil slice."""
    if values is None:
        return "null"
    written = json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
