"""SQL info: what the server says of itself and of its SQL, by the numbers of Flight SQL's `SqlInfo`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .. import _native
from .limits import Limits
from .statements import CATALOG, MAX_CHARS

_TEXT, _TRUTH, _LONG, _INT, _TEXTS, _MAP = range(6)
_VALUE = pa.dense_union(
    [
        pa.field("string_value", pa.utf8()),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(pa.field("string_data", pa.utf8()))),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.field("$data$", pa.int32())))),
    ]
)
SCHEMA = pa.schema([pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", _VALUE)])

_NO = (
    5, 500, 501, 502, 519, 524, 527, 536, 537, 556, 563, 565, 566, 572, 573, 574, 575, 576,
)  # fmt: skip
_YES = (3, 4, 9, 506, 515, 516, 518, 520, 521, 523, 532, 539)
#: Numbers without a limit.
_UNLIMITED = (541, 542, 543, 544, 545, 546, 547, 548, 549, 550, 551, 552, 553, 554, 555, 558, 559, 560, 561)
_NUMBERS = {
    8: 0,  # no transactions
    100: 0,  # statements do not time out; the oldest go when there are many
    101: 0,
    503: 1,  # names: upper and lower case are the same
    505: 1,
    507: 3,  # nulls come last
    522: 0b11,
    525: 0b11,
    526: 0b1,
    528: 2,
    533: 0,
    534: 0,
    535: 0,
    538: 0b1111,
    540: 0b11,
    562: 0,
    564: 0b1,
    567: 0b10,  # forward only
    568: 0b10,
    569: 0b10,
    570: 0,
    571: 0,
}
_LISTS = {
    508: "ASOF QUALIFY SUMMARIZE DESCRIBE EXCLUDE REPLACE SAMPLE POSITIONAL SEMI ANTI LATERAL",
    509: "abs ceil cos degrees exp floor ln log10 mod pi power radians random round sign sin sqrt tan trunc",
    510: "ascii chr concat contains length lower lpad ltrim regexp_matches replace reverse rpad rtrim strpos substring trim upper",
    511: "coalesce ifnull nullif",
    512: "current_date date_diff date_part date_trunc dayname epoch extract make_date monthname strftime strptime",
}


def table(asked: Sequence[int], limits: Limits) -> pa.Table:
    """The values of some numbers, or of all that are known if none is asked for. Unknown ones are left out."""
    known: dict[int, tuple[int, object]] = {
        0: (_TEXT, "Hyperslab"),
        1: (_TEXT, _native.__version__),
        2: (_TEXT, pa.__version__),
        504: (_TEXT, '"'),
        513: (_TEXT, "\\"),
        514: (_TEXT, ""),
        517: (_MAP, []),
        529: (_TEXT, "file"),
        530: (_TEXT, ""),
        531: (_TEXT, CATALOG),
        557: (_LONG, MAX_CHARS),
    }
    known |= dict.fromkeys(_NO, (_TRUTH, False)) | dict.fromkeys(_YES, (_TRUTH, True))
    known |= dict.fromkeys(_UNLIMITED, (_LONG, 0)) | {number: (_INT, value) for number, value in _NUMBERS.items()}
    known |= {number: (_TEXTS, words.split()) for number, words in _LISTS.items()}
    known[549] = (_LONG, limits.queries)
    chosen = [(number, *known[number]) for number in (asked or sorted(known)) if number in known]
    children: list[list[object]] = [[] for _ in range(_VALUE.num_fields)]
    offsets = []
    for _, kind, value in chosen:
        offsets.append(len(children[kind]))
        children[kind].append(value)
    values = pa.UnionArray.from_dense(
        pa.array([kind for _, kind, _ in chosen], pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(child, _VALUE.field(place).type) for place, child in enumerate(children)],
        [_VALUE.field(place).name for place in range(_VALUE.num_fields)],
    )
    return pa.table([pa.array([number for number, _, _ in chosen], pa.uint32()), values], schema=SCHEMA)
