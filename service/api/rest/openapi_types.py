"""The type of a JSON Schema, and of any other part of an OpenAPI document."""

from typing import TypeAlias, Union

__all__ = ["Schema", "Value"]

Value: TypeAlias = Union[bool, int, float, str, list["Value"], "Schema", None]
Schema: TypeAlias = dict[str, Value]
