"""Names: as h5py gives them: text, or the bytes of what is not UTF-8."""

from __future__ import annotations

from ..base.visible import ADDRESS, visible
from ..objects.node import Node


def stored(name: str) -> bytes:
    """The bytes of a name in its file.

    Args:
        name: The name as a file of Hyperslab has it.

    Returns:
        The bytes.
    """
    return name.encode("utf-8", "surrogateescape")


def shown(name: str) -> str | bytes:
    """A name as h5py shows it.

    Args:
        name: The name as a file of Hyperslab has it.

    Returns:
        The name; its bytes if they are not UTF-8.
    """
    if name.isascii():
        return name
    try:
        name.encode()
    except UnicodeEncodeError:
        return stored(name)
    return name


def path_of(node: Node) -> bytes | None:
    """The path of an object, as the low-level functions give it.

    Args:
        node: The object.

    Returns:
        The bytes of the path; `None` of an object that only references lead to, and of what is in it.
    """
    return None if ADDRESS in node.path else stored(node.path)


def name_of(node: Node) -> str | bytes | None:
    """What `name` of an object is.

    Args:
        node: The object.

    Returns:
        The path; its bytes if they are not UTF-8; `None` of an object that only references lead to, and of what is in it.
    """
    return None if ADDRESS in node.path else shown(node.path)


def quoted(node: Node, whole: bool = False) -> str:
    """The name of an object in its repr.

    Args:
        node: The object.
        whole: Show the path, not only its last part.

    Returns:
        The name in quotes, or `(anonymous)`.
    """
    if ADDRESS in node.path:
        return "(anonymous)"
    return f'"{visible(node.path if whole else node.path.rpartition("/")[2])}"'


def text_of(name: bytes | str) -> str:
    """A name as a file of Hyperslab has it.

    Args:
        name: The bytes in the file, or text.

    Returns:
        The name.
    """
    return name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
