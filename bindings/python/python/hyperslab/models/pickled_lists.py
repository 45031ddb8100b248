"""Pickled lists: attributes in which PyTables keeps Python lists. They are parsed, never unpickled: nothing is imported or called.

Only numbers, texts, `None`, booleans, lists, tuples and dictionaries of these are values. What else a pickle makes is an
`Unpicklable` in their midst."""

from __future__ import annotations

import pickletools
from typing import Any

from ..errors import CorruptError

#: Opcodes that push their argument.
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT", "BINFLOAT",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
#: Opcodes that make objects, with the number of values that they take from the stack.
_OBJECTS = {"GLOBAL": 0, "PERSID": 0, "STACK_GLOBAL": 2, "REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3, "BUILD": 2, "BINPERSID": 1, "EXT1": 0, "EXT2": 0, "EXT4": 0}
_MARK = object()


class Unpicklable:
    """An object in a pickle, which is not made.

    Attributes:
        name: The class or function that would make it.
        arguments: What it would be called with.
    """

    def __init__(self, name: str, arguments: Any = ()) -> None:
        self.name, self.arguments = name, arguments

    def __repr__(self) -> str:
        return f"<pickled {self.name}, not unpickled>"


def parsed(pickled: bytes) -> Any:
    """The value of a pickle of lists, texts and numbers.

    Args:
        pickled: The bytes.

    Returns:
        The value, with an `Unpicklable` for each object in it.

    Raises:
        CorruptError: The bytes are not a pickle.

    Example:
        >>> parsed(b"(lp0\\nVa\\np1\\na.")
        ['a']
    """
    try:
        return _run(pickled)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptError(f"a pickled attribute that cannot be parsed: {error}") from None


def _run(pickled: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[Any, Any] = {}

    def to_mark() -> list[Any]:
        items = []
        while (item := stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    for opcode, argument, _ in pickletools.genops(pickled):
        name = opcode.name
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
            stack.append({"EMPTY_LIST": [], "EMPTY_DICT": {}, "EMPTY_TUPLE": ()}[name])
        elif name in ("LIST", "TUPLE"):
            items = to_mark()
            stack.append(items if name == "LIST" else tuple(items))
        elif name in _TUPLES:
            count = _TUPLES[name]
            stack[-count:] = [tuple(stack[-count:])]
        elif name == "DICT":
            items = to_mark()
            stack.append(dict(zip(items[::2], items[1::2], strict=True)))
        elif name in ("APPEND", "APPENDS"):
            items = [stack.pop()] if name == "APPEND" else to_mark()
            stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else to_mark()
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in _OBJECTS:
            taken = [stack.pop() for _ in range(_OBJECTS[name])]
            known = taken[-1] if taken and isinstance(taken[-1], Unpicklable) else None
            if known is not None:
                stack.append(Unpicklable(known.name, taken[0] if name == "REDUCE" else known.arguments))
            else:
                of_stack = ".".join(map(str, taken[::-1])) if name == "STACK_GLOBAL" else str(argument or "object")
                stack.append(Unpicklable(of_stack.replace(" ", ".")))
        elif name in ("OBJ", "INST"):
            to_mark()
            stack.append(Unpicklable(str(argument or "object")))
        elif name == "POP":
            stack.pop()
        elif name == "POP_MARK":
            to_mark()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise ValueError(f"the opcode {name}")
    return stack.pop()
