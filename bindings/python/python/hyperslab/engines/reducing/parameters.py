"""Parameters: their values as constants, since what is reduced depends on them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence

import numpy as np

from ...base.type_aliases import JsonObject
from .tree import NotReduced, nodes


def with_constants(statement: JsonObject, parameters: Sequence[object] | Mapping[str, object] | None) -> JsonObject:
    """A copy of a statement with the values of its parameters. `NotReduced` if one has no constant of the same type."""
    statement = json.loads(json.dumps(statement))  # faster than `deepcopy`
    for node in nodes(statement):
        if node.get("class") == "PARAMETER":
            value = _value(node["identifier"], parameters)
            alias = node["alias"]
            node.clear()
            node.update(_constant(value), alias=alias)
    statement["named_param_map"] = []
    return statement


def _value(name: str, parameters: Sequence[object] | Mapping[str, object] | None) -> object:
    try:
        if isinstance(parameters, Mapping):
            return parameters[name]
        if parameters is not None:
            return parameters[int(name) - 1]
    except (KeyError, IndexError, ValueError):
        pass
    raise NotReduced(f"the parameter {name}")


def _constant(value: object) -> JsonObject:
    if isinstance(value, bool):
        return _literal("BOOLEAN", str(value).lower())
    if isinstance(value, (int, np.integer)):
        return _literal("INTEGER", str(int(value)))
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        text = repr(float(value))
        # With an exponent it is a double, as a parameter is.
        return _literal("NUMERIC", text if "e" in text else f"{text}e0")
    if isinstance(value, str):
        return _literal("STRING", value)
    if type(value) is datetime.datetime and value.tzinfo is None:
        return _cast(str(value), "TIMESTAMP")
    if type(value) is datetime.date:
        return _cast(str(value), "DATE")
    raise NotReduced(f"a parameter of the type {type(value).__name__}")


def _literal(kind: str, text: str) -> JsonObject:
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": kind, "text": text}}


def _cast(text: str, type: str) -> JsonObject:
    name = {"class": "TYPE", "type": "TYPE", "alias": "", "type_name": type, "qualified_name": {"path": [type]}, "schema": "", "catalog": "", "children": []}
    return {"class": "CAST", "type": "OPERATOR_CAST", "child": {**_literal("STRING", text), "alias": ""}, "type_expr": name, "try_cast": False}
