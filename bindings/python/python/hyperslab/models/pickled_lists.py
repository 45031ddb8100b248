"""Pickled lists: attributes in which PyTables keeps Python lists. They are parsed, never unpickled: nothing is imported or called.

Only numbers, texts, `None`, booleans, lists, tuples and dictionaries of these are values. What else a pickle makes is an
`Unpicklable` in their midst. Of these, `object_array` knows numpy's arrays of objects, which pandas writes for columns of texts."""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray

#: Opcodes that push their argument.
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT", "BINFLOAT",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
#: Opcodes that make objects, with the number of values that they take from the stack.
_OBJECTS = {"GLOBAL": 0, "PERSID": 0, "STACK_GLOBAL": 2, "REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3, "BUILD": 2, "BINPERSID": 1, "EXT1": 0, "EXT2": 0, "EXT4": 0}
#: A value in a pickle: a number, a text, bytes, `None`, a list, tuple or dictionary of these, or an `Unpicklable`.
Parsed = Any
_MARK = object()
#: How numpy's pickles make arrays and scalars, by its versions.
_ARRAYS = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_SCALARS = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
_NUMBERS = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
_MAX_NDIM = 32
#: Elements of arrays of objects that are read.
_ELEMENTS = (str, bytes, int, float, complex, bool, type(None), np.generic)


class Unpicklable:
    """An object in a pickle, which is not made.

    Attributes:
        name: The class or function that would make it.
        arguments: What it would be called with.
        state: What it would be given afterwards.
    """

    def __init__(self, name: str, arguments: Parsed = ()) -> None:
        self.name, self.arguments = name, arguments
        self.state: Parsed = None

    def __repr__(self) -> str:
        return f"<pickled {self.name}, not unpickled>"


def parsed(pickled: bytes) -> Parsed:
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


def object_array(pickled: bytes, known: Callable[[Parsed], Parsed] | None = None) -> AnyArray:
    """The array of objects in a pickle that numpy made. Its elements are texts, numbers, bytes, booleans and `None`.

    Args:
        pickled: The bytes.
        known: Makes values of objects in the array, and returns those that it does not know; by default makes numpy's scalars.

    Returns:
        An array of objects.

    Raises:
        CorruptError: The bytes are not a pickle, or its parts contradict each other.
        UnsupportedError: The pickle is not one of an array of such elements; the message names what it holds.

    Example:
        >>> object_array(pickle.dumps(np.array(["a", None], object))).tolist()
        ['a', None]
    """
    found = parsed(pickled)
    if not isinstance(found, Unpicklable) or found.name not in _ARRAYS or not isinstance(found.state, tuple) or len(found.state) != 5:
        raise UnsupportedError(f"a pickle of {found!r}, not of an array of objects")
    # Elements are in the order of C, however the array lay in memory.
    _, shape, dtype, _, elements = found.state
    kind = dtype.arguments[0] if isinstance(dtype, Unpicklable) and isinstance(dtype.arguments, tuple) and dtype.arguments else None
    if kind not in ("O8", "O4", "O") or not isinstance(elements, list):
        raise UnsupportedError(f"a pickled array of {kind!r}, not of objects")
    elements = [(known or number)(element) if isinstance(element, (Unpicklable, tuple, list, dict)) else element for element in elements]
    for element in elements:
        if not isinstance(element, _ELEMENTS) and (known is None or _is_unknown(element)):
            raise UnsupportedError(f"a pickled array with {element!r} in it: only texts, numbers, bytes and None are read")
    if (
        not isinstance(shape, tuple)
        or len(shape) > _MAX_NDIM
        or not all(isinstance(extent, int) and extent >= 0 for extent in shape)
        or math.prod(shape) != len(elements)
    ):
        raise CorruptError(f"a pickled array of shape {shape} with {len(elements)} elements")
    return np.fromiter(elements, object, len(elements)).reshape(shape)


def _is_unknown(value: Parsed) -> bool:
    """Whether an object that was not made is in a value."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_unknown, value))
    return isinstance(value, Unpicklable) or (isinstance(value, dict) and any(map(_is_unknown, (*value, *value.values()))))


def number(element: Parsed) -> Parsed:
    """A scalar of numpy, which is its dtype with its bytes, or bytes; else the element as it is."""
    if not isinstance(element, Unpicklable):
        return element
    arguments = element.arguments
    if element.name == "_codecs.encode":
        return encoded_bytes(element)
    if element.name in ("__builtin__.bytes", "builtins.bytes") and arguments == ():
        return b""
    if element.name not in _SCALARS or not isinstance(arguments, tuple) or len(arguments) != 2 or not isinstance(arguments[0], Unpicklable):
        return element
    kind = arguments[0].arguments[0] if isinstance(arguments[0].arguments, tuple) and arguments[0].arguments else None
    raw = encoded_bytes(arguments[1])
    if isinstance(kind, str) and kind[:1] == "U" and isinstance(raw, bytes) and len(raw) % 4 == 0:
        order = arguments[0].state[1] if isinstance(arguments[0].state, tuple) and len(arguments[0].state) > 1 else "<"
        return np.str_(raw.decode("utf-32-be" if order == ">" else "utf-32-le", "surrogatepass").rstrip("\0"))
    if kind not in _NUMBERS or not isinstance(raw, bytes) or len(raw) != np.dtype(kind).itemsize:
        return element
    return np.frombuffer(raw, np.dtype(kind).newbyteorder("<"))[0]


def encoded_bytes(value: Parsed) -> Parsed:
    """Bytes, which protocols before 3 keep as text, with a call or without."""
    if isinstance(value, Unpicklable) and value.name == "_codecs.encode" and isinstance(value.arguments, tuple) and len(value.arguments) == 2:
        value = value.arguments[0] if value.arguments[1] in ("latin1", "latin-1") else value
    return value.encode("latin-1") if isinstance(value, str) and all(ord(c) < 256 for c in value) else value


def _run(pickled: bytes) -> Parsed:
    stack: list[Parsed] = []
    memo: dict[Parsed, Parsed] = {}

    def to_mark() -> list[Parsed]:
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
        elif name == "BUILD" and isinstance(stack[-2], Unpicklable):
            # The object stays the same one, also where it was remembered.
            stack[-2].state = stack[-1]
            stack.pop()
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
