"""Makes metadata checksums right again, so that damage gets past them.

No knowledge of the structures is needed: our own error says where a block begins, which checksum it
stores and which its bytes give. `python testing/hostile/checksums.py FILE` mends a file in place.
"""

from __future__ import annotations

import pathlib
import re
import sys

import hyperslab as hs

WRONG = re.compile(r"checksum(?: of [^(]*?)? is 0x([0-9a-f]{8}), its bytes give 0x([0-9a-f]{8})")


def mend(data: bytearray, errors: list[hs.Error]) -> bool:
    """Corrects the checksums that `errors` complain about; whether there were any."""
    mended = False
    for error in errors:
        found = WRONG.search(error.message)
        if found is None:
            continue
        stored, computed = (int(text, 16).to_bytes(4, "little") for text in found.groups())
        at = data.find(stored, error.offset or 0)
        if at < 0:
            at = data.find(stored)
        if at >= 0:
            data[at : at + 4] = computed
            mended = True
    return mended


if __name__ == "__main__":
    from reading import read_everything

    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        for _ in range(50):
            content = bytearray(path.read_bytes())
            if not mend(content, read_everything(path).errors):
                break
            path.write_bytes(content)
