"""The fields of every kind, read from the OpenAPI documents of a real API server and written as the playground's table.

Run by `make playground-fields` when the Kubernetes version moves on.
Not here: what the playground does with them (`bayplan/playground/fields.py`).
"""

import tempfile
from pathlib import Path
from typing import Any

from bayplan.playground import fields
from bayplan.playground.kinds import Kinds
from tests.cluster.control_plane import Api, control_plane

HEAD = "# The fields of each kind that is served; written by `make playground-fields`.\n"


def table(api: Api) -> str:
    """Write the table: the kinds and their schemas first, then each schema's fields."""
    kinds, lines, schemas = Kinds(), list[str](), dict[str, Any]()
    for group, versions in kinds.groups().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            code, document = api.ask("GET", f"/openapi/v3/{path}")
            schemas.update(document["components"]["schemas"] if code == 200 else {})
    served = {(kind.group, kind.version, kind.name) for kind in kinds}
    wanted = []
    for name, schema in sorted(schemas.items()):
        for own in schema.get("x-kubernetes-group-version-kind", ()):
            if (own["group"], own["version"], own["kind"]) in served:
                api_version = f"{own['group']}/{own['version']}" if own["group"] else own["version"]
                lines.append(f"= {api_version} {own['kind']} {short(name)}")
                wanted.append(name)
    seen: dict[str, None] = {}
    while wanted:
        name = wanted.pop(0)
        if name in seen or "properties" not in schemas[name]:
            continue
        seen[name] = None
        wanted.extend(ref for field in schemas[name]["properties"].values() if (ref := below(field)[1]))
    for name in sorted(seen):
        lines.append(" ".join([short(name), *map(told(schemas), schemas[name]["properties"].items())]))
    return HEAD + "\n".join(lines) + "\n"


def told(schemas: dict[str, Any]) -> Any:  # noqa: ANN401  # a function of a field
    """Give what writes a field: its name, and its schema where that has fields of its own."""

    def write(item: tuple[str, Any]) -> str:
        mark, ref = below(item[1])
        return f"{item[0]}:{mark}{short(ref)}" if ref and "properties" in schemas[ref] else item[0]

    return write


def below(field: dict[str, Any]) -> tuple[str, str]:
    """Give the schema below a field, itself or through lists; marked where it is that of a map's values."""
    if field.get("type") == "array":
        return below(field["items"])
    if isinstance(field.get("additionalProperties"), dict):
        return "{", below(field["additionalProperties"])[1]
    ref = field.get("$ref") or next((one["$ref"] for one in field.get("allOf", ()) if "$ref" in one), "")
    return "", ref.rpartition("/")[2]


def short(name: str) -> str:
    """Give a schema's name without where it comes from."""
    return ".".join(name.split(".")[-3:])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, control_plane(Path(scratch)) as real:
        fields.TABLE.write_text(table(real.api), encoding="utf-8")
