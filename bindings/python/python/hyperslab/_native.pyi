from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, final, overload

__version__: str
__all__ = [
    "AttributeValue",
    "ColumnIndex",
    "Committed",
    "Counters",
    "DatasetReader",
    "Definition",
    "Dereferenced",
    "File",
    "Files",
    "Fused",
    "Gathered",
    "Heap",
    "IndexPlan",
    "Indexed",
    "Links",
    "Member",
    "NamedArray",
    "ObjectInfo",
    "PartFile",
    "Plan",
    "PlannedIndex",
    "Query",
    "Reader",
    "Recognition",
    "ReferenceTarget",
    "RegionSelection",
    "Session",
    "Step",
    "StorageLayout",
    "Subfile",
    "Summary",
    "VacuumResult",
    "ValueCounts",
    "Verification",
    "Visit",
    "WritePlan",
    "Writer",
    "WrittenDataset",
    "__version__",
    "address",
    "counters",
    "default_profile_path",
    "external_files",
    "fill_heap",
    "fuse",
    "gather",
    "index_commit",
    "index_embed",
    "index_remarks",
    "index_stage",
    "index_task",
    "index_unstage",
    "index_vacuum",
    "index_verify",
    "is_address",
    "is_tracked",
    "link",
    "list_names",
    "machine",
    "model_arrays",
    "model_facts",
    "model_omitted",
    "model_problems",
    "model_tables",
    "parse_cell_methods",
    "parse_layout",
    "path_stamp",
    "profile",
    "recognize_models",
    "reference_targets",
    "register_filter",
    "repack",
    "shown_address",
    "storage_layout",
    "stored_chunks",
    "unregister_filter",
    "user_block_bytes",
    "vacuum",
    "value_bytes",
    "verify",
    "virtual_mappings",
    "without_queries",
    "written_datasets",
]

def register_filter(id: int, function: Callable[[bytes, list[int], int], bytes]) -> None: ...
def unregister_filter(id: int) -> bool: ...
def counters() -> Counters: ...
def reference_targets(kind: str, elements: bytes, width: int) -> list[str | None]: ...
def gather(file: File, objects: bytes, attributes: list[str]) -> list[Gathered]: ...
def fuse(master: str, target: str, replace: bool, progress: Callable[[int, int], object] | None = None) -> Fused: ...
def repack(
    source: str,
    target: str,
    datasets: Sequence[tuple[str, Sequence[int] | None, Sequence[tuple[int, str | None, bool, Sequence[int]]]]],
    check: Callable[[object], object],
    alignment: int | None = None,
    page_bytes: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Fused: ...
def storage_layout(path: str) -> StorageLayout: ...
def parse_layout(said: bytes) -> StorageLayout: ...
def profile(path: str | None = None) -> tuple[str | None, bool, str | None, list[tuple[str, int]]]: ...
def machine() -> str: ...
def default_profile_path() -> str | None: ...
def vacuum(path: str, seconds: float, orphans: bool, dry_run: bool) -> VacuumResult: ...
def verify(path: str, values: bool = False) -> Verification: ...
def written_datasets(fragment: bytes) -> tuple[int, list[WrittenDataset]]: ...
def index_task(task: bytes, threads: int | None = None) -> bytes: ...
def index_commit(fragments: Sequence[bytes]) -> Indexed: ...
def index_verify(file: File) -> list[str]: ...
def list_names(text: str) -> list[str]: ...
def index_embed(path: str) -> None: ...
def index_stage(path: str) -> bool: ...
def index_unstage(path: str) -> None: ...
def index_vacuum(path: str, seconds: float, index_folder: str | None = None, dry_run: bool = False) -> list[str]: ...
def is_address(path: str) -> bool: ...
def shown_address(path: str) -> str: ...
def without_queries(text: str) -> str: ...
def link(file: File, group: int, name: str) -> tuple[str, str | None, str | None] | None: ...
def address(file: File, object: int) -> int | None: ...
def is_tracked(file: File, object: int) -> tuple[bool, bool]: ...
def user_block_bytes(file: File) -> int: ...
def stored_chunks(file: File, dataset: int) -> list[tuple[list[int], int, int, int]]: ...
def value_bytes(file: File, dataset: int) -> tuple[int, int, int]: ...
def fill_heap(file: File, dataset: int) -> Heap: ...
def external_files(file: File, dataset: int) -> list[tuple[str, int, int | None]]: ...
def virtual_mappings(file: File, dataset: int) -> list[tuple[str, str, tuple[str, list[list[list[int]]]], tuple[str, list[list[list[int]]]]]]: ...
def recognize_models(file: File) -> list[Recognition]: ...
def model_tables(file: File, model: str) -> list[str]: ...
def model_arrays(file: File, model: str) -> list[NamedArray]: ...
def model_problems(file: File, model: str) -> list[tuple[str, str]]: ...
def model_facts(file: File, model: str) -> str: ...
def model_omitted(file: File, model: str) -> list[tuple[str, str]]: ...
def parse_cell_methods(text: str) -> str: ...
def path_stamp(path: str) -> tuple[int, int] | None: ...
def index_remarks(file: File) -> list[str]: ...

@final
class StorageLayout:
    file_system: str
    block_bytes: int
    device: tuple[int, int] | None
    parts: list[tuple[int, int | None, int, int | None, list[int], str | None]]
    warning: str | None
    def target(self, offset: int) -> int | None: ...

@final
class IndexPlan:
    value_bytes: int
    def __new__(
        cls, files: Files | list[File], datasets: Sequence[str], level: str | None = None, raw: bool = False, together: bool = False, rebuild: bool = False
    ) -> IndexPlan: ...
    def datasets(self) -> list[PlannedIndex]: ...
    def run(self, progress: Callable[[int], object] | None = None) -> int: ...
    def tasks(self, count: int) -> list[bytes]: ...

@final
class ColumnIndex:
    level: str
    @staticmethod
    def find(file: File, dataset: int, raw: bool = False) -> ColumnIndex | None: ...
    def rows(self, condition: str, axes: list[Any] | None = None) -> list[tuple[object, object]]: ...
    def bitmap(self, condition: str, axes: list[Any] | None = None) -> tuple[int, int]: ...
    def count(self, condition: str, axes: list[Any] | None = None) -> tuple[int, int]: ...
    def below(self, edges: Sequence[float]) -> list[tuple[int, int]] | None: ...
    def ranked(self, number: int) -> float | None: ...
    def counts(self) -> ValueCounts | None: ...
    def values(self, condition: str, axes: list[Any] | None = None) -> tuple[object, object] | None: ...
    def blocks(self, condition: str) -> tuple[int, int]: ...

@final
class Session:
    def __new__(
        cls,
        threads: int | None = None,
        format: str | None = None,
        paths: str | None = None,
        missing_sources: str | None = None,
        limits: Sequence[tuple[str, int]] = ...,
        index_folder: str | None = None,
        chunk_cache_bytes: int | None = None,
        indexes: str | None = None,
        storage_options: Sequence[tuple[str, str]] = ...,
    ) -> Session: ...
    def open(self, paths: Sequence[str]) -> Files: ...
    def open_content(self, name: str, content: bytes) -> File: ...
    def open_reader(self, name: str, reader: object, length: int, version: str | None = None) -> File: ...
    def list_objects(self, folder: str) -> list[str]: ...
    def open_matching(self, folder: str, pattern: str) -> Files | None: ...
    def read_split(self, split: bytes) -> Reader: ...
    def arrays(
        self,
        name: str,
        arrays: Sequence[tuple[str, dict[str, Any], Sequence[int], Sequence[int], bytes | None, Callable[[list[int], list[int]], bytes], int]],
        stamp: tuple[int, int] | None = None,
    ) -> File: ...

@final
class File:
    path: str
    format: str
    root: int
    closed: bool
    def close(self) -> None: ...
    def origin(self) -> tuple[str, tuple[Any, ...], int, int | None, str | None]: ...
    def reader(self) -> object | None: ...
    def __copy__(self) -> File: ...
    def __deepcopy__(self, _memo: object, /) -> File: ...
    def reopen(self) -> File: ...
    def find(self, path: str) -> tuple[File, int]: ...
    def exists(self, path: str) -> bool: ...
    def kind(self, object: int) -> str: ...
    def names(self, group: int) -> list[str]: ...
    def link_count(self, group: int) -> int: ...
    def links(self, group: int) -> Links: ...
    def object_path(self, object: int) -> str: ...
    def describe(self, object: int, path: str) -> dict[str, Any]: ...
    def dimensions(self, dataset: int) -> list[tuple[str | None, int | None]]: ...
    def declared_dimensions(self, group: int) -> list[tuple[str, int, bool]]: ...
    def check(self, object: int) -> None: ...
    def attribute_names(self, object: int) -> list[str]: ...
    def attribute(self, object: int, name: str) -> AttributeValue | None: ...
    def dereference(self, kind: str, element: bytes) -> Dereferenced | None: ...
    def stored_bytes(self, dataset: int) -> int: ...
    def read_into(self, dataset: int, axes: list[Any], address: int, length: int) -> Heap: ...

@final
class DatasetReader:
    def __new__(cls, file: File, dataset: int, dtype: object | None, inner: Sequence[int]) -> DatasetReader: ...
    def get(self, key: object) -> Any | None: ...
    def get_text(self, key: object) -> Any | None: ...
    def get_bytes(self, key: object) -> tuple[Any, tuple[int, ...], Heap] | None: ...
    def get_into(self, key: object, shape: Sequence[int], address: int, length: int) -> bool: ...
    def get_unpacked(
        self,
        key: object,
        shape: Sequence[int],
        unpacking: tuple[bool, Sequence[float], float | None, float | None],
        address: int,
        length: int,
    ) -> bool: ...

@final
class Files:
    def __new__(cls, files: list[File]) -> Files: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> File: ...
    @overload
    def __getitem__(self, key: slice, /) -> Files: ...
    def __iter__(self) -> Iterator[File]: ...
    def __reduce__(self) -> tuple[type[Files], tuple[list[File]]]: ...
    def paths(self) -> list[str]: ...
    def formats(self) -> list[str]: ...
    def reopen(self) -> Files: ...
    closed: bool
    def close(self) -> None: ...

@final
class Visit:
    def __new__(cls, file: File, group: int, path: str) -> Visit: ...
    def paths(self) -> list[str]: ...
    def objects(self) -> list[tuple[str, int, dict[str, Any]]]: ...

@final
class Heap:
    def __new__(cls) -> Heap: ...
    def values(self, elements: bytes, width: int, base_size: int) -> list[bytes]: ...

@final
class Reader:
    def next_batch(self) -> tuple[object, object] | None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def check(self) -> None: ...
    def cancel(self) -> None: ...

@final
class PartFile:
    def __new__(cls, path: str) -> PartFile: ...
    def descriptor(self) -> int: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...

@final
class Plan:
    def __new__(
        cls,
        files: Files | list[File],
        path: str,
        *,
        file_pattern: str | None = None,
        model: str | None = None,
        layout: str | None = None,
        columns: list[str] | None = None,
        where_text: str | None = None,
        lists: Sequence[tuple[str, str, bytes | list[str]]] = ...,
        substrait: bytes | None = None,
        limit: int | None = None,
        batch_rows: int = 65536,
        decode: bool = True,
    ) -> Plan: ...
    def __arrow_c_schema__(self) -> object: ...
    def count(self) -> int: ...
    def summary(self, column: str) -> Summary: ...
    def histogram(self, column: str, edges: Sequence[float]) -> list[int]: ...
    def omitted(self) -> list[tuple[str, str]]: ...
    def explain(self) -> str: ...
    def split(self, count: int | None = None, target_bytes: int | None = None) -> list[bytes]: ...
    def split_placed(
        self, count: int | None = None, target_bytes: int | None = None, layout: StorageLayout | None = None
    ) -> list[tuple[bytes, list[tuple[int, int]]]]: ...
    def read(self) -> Reader: ...

@final
class Query:
    def __new__(
        cls,
        files: Files | Sequence[File],
        group: str,
        text: str | None = None,
        *,
        rows: str | None = None,
        variables: Sequence[tuple[str, File, str]] = ...,
        lists: Sequence[tuple[str, str, bytes | list[str]]] = ...,
        file_pattern: str | None = None,
        file_captures: Sequence[tuple[str, Sequence[str]]] = ...,
        decode: bool = True,
    ) -> Query: ...
    def steps(self) -> list[Step]: ...
    def step(self, number: int) -> Query: ...
    def and_also(self, text: str, lists: Sequence[tuple[str, str, bytes | list[str]]] = ...) -> Query: ...
    def names(self) -> list[str]: ...
    def count(self) -> int: ...
    def bounds(self) -> tuple[int, int]: ...
    def histogram_bounds(self, variable: str, edges: Sequence[float]) -> list[tuple[int, int]] | None: ...
    def counts(self) -> list[int]: ...
    def positions(self) -> list[tuple[object, object]]: ...
    def values(self, variables: Sequence[str]) -> list[tuple[object, object]] | None: ...
    def table(self, columns: Sequence[str], batch_rows: int = 65536) -> Plan: ...
    def summary(self, variable: str) -> Summary: ...
    def extremes(self, variable: str) -> tuple[object, object]: ...
    def histogram(self, axes: Sequence[tuple[str, Sequence[float]]], weights: str | None = None) -> bytes: ...
    def order_statistics(self, variable: str, fractions: Sequence[float]) -> tuple[int, tuple[object, object]]: ...
    def explain(self) -> str: ...

@final
class Writer:
    def __new__(
        cls,
        path: str,
        alignment: int | None = None,
        threads: int | None = None,
        track_order: bool = False,
        durable: bool = True,
        replace: bool = True,
        continued: bool = False,
        user_block: int = 0,
        page_bytes: int | None = None,
        user_block_bytes: bytes | None = None,
    ) -> Writer: ...
    def create_group(self, path: str) -> None: ...
    def create_dataset(
        self,
        path: str,
        datatype: dict[str, Any],
        shape: Sequence[int] | None,
        maxshape: Sequence[int | None] | None = None,
        chunks: Sequence[int] | None = None,
        filters: Sequence[tuple[int, str | None, bool, Sequence[int]]] = ...,
        fill: bytes | None = None,
        region: tuple[Sequence[int], Sequence[int]] | None = None,
        rows: bool = False,
        committed: str | None = None,
        fill_time: str | None = None,
    ) -> list[int] | None: ...
    def create_virtual(
        self,
        path: str,
        datatype: dict[str, Any],
        shape: Sequence[int],
        maxshape: Sequence[int | None] | None,
        fill: bytes | None,
        mappings: Sequence[tuple[str, str, list[list[int]] | None, list[list[int]] | None]],
    ) -> None: ...
    def create_datatype(self, path: str, datatype: dict[str, Any]) -> None: ...
    def look_up(self, path: str) -> ObjectInfo | None: ...
    def path_of(self, number: int) -> str | None: ...
    def members(self, path: str) -> list[Member]: ...
    def member(self, path: str, name: str) -> Member | None: ...
    def remove(self, path: str) -> None: ...
    def rename(self, path: str, to: str) -> None: ...
    def shape(self, path: str) -> list[int] | None: ...
    def describe(self, path: str) -> dict[str, Any]: ...
    def read_into(self, path: str, start: Sequence[int], count: Sequence[int], address: int, length: int) -> Heap: ...
    def target(self, number: int) -> ReferenceTarget | None: ...
    def attribute_names(self, path: str) -> list[str]: ...
    def attribute(self, path: str, name: str) -> AttributeValue | None: ...
    def remove_attribute(self, path: str, name: str) -> None: ...
    def copy_attributes(self, path: str, to: str) -> None: ...
    def definition(self, path: str) -> Definition: ...
    def create_link(self, path: str, target: str, file: str | None = None, hard: bool = False) -> None: ...
    def open_dataset(self, path: str, region: tuple[Sequence[int], Sequence[int]] | None = None) -> None: ...
    def is_planned(self, path: str) -> bool: ...
    def set_attribute(self, path: str, name: str, shape: Sequence[int] | None, datatype: dict[str, Any], value: bytes, heap: list[bytes]) -> None: ...
    def set_references(self, path: str, name: str | None, shape: Sequence[int], targets: Sequence[str | None]) -> None: ...
    def attach_scale(self, path: str, dimension: int, scale: str) -> None: ...
    def set_tracked(self, path: str, tracked: bool) -> None: ...
    def resize(self, path: str, shape: Sequence[int]) -> None: ...
    def write(
        self,
        path: str,
        start: Sequence[int],
        count: Sequence[int],
        address: int,
        length: int,
        heap: list[bytes],
        step: Sequence[int] | None = None,
        parts: Sequence[tuple[int, int]] | None = None,
        elements: Sequence[int] | None = None,
    ) -> None: ...
    def write_text(self, path: str, first: int, count: int, offsets: int, width: int, data: int, length: int) -> None: ...
    def finish(self, replace: bool = False) -> int | bytes: ...
    def abort(self) -> None: ...

@final
class WritePlan:
    path: str
    id: str
    factor: int
    def __new__(
        cls,
        path: str,
        mode: str,
        alignment: int | None = None,
        writers: int | None = None,
        factor: int | None = None,
        durable: bool = True,
        checksums: bool = False,
        track_order: bool = False,
    ) -> WritePlan: ...
    @staticmethod
    def decode(bytes: bytes) -> WritePlan: ...
    def encode(self) -> bytes: ...
    def create_dataset(
        self,
        path: str,
        datatype: dict[str, Any],
        shape: Sequence[int],
        chunks: Sequence[int] | None = None,
        filters: Sequence[tuple[int, str | None, bool, Sequence[int]]] = ...,
        fill: bytes | None = None,
        regions: Sequence[tuple[Sequence[int], Sequence[int]]] | None = None,
        fill_time: str | None = None,
    ) -> None: ...
    def region(self, path: str, task: int) -> tuple[list[int], list[int]]: ...
    note: str
    def set_note(self, note: str) -> None: ...
    def define_group(self, path: str) -> None: ...
    def define_dataset(
        self,
        path: str,
        datatype: dict[str, Any],
        shape: Sequence[int],
        maxshape: Sequence[int | None] | None = None,
        chunks: Sequence[int] | None = None,
        filters: Sequence[tuple[int, str | None, bool, Sequence[int]]] = ...,
        fill: bytes | None = None,
        rows: bool = False,
        value: tuple[bytes, list[bytes]] | None = None,
        committed: str | None = None,
    ) -> None: ...
    def define_link(self, path: str, target: str, file: str | None = None, hard: bool = False) -> None: ...
    def define_datatype(self, path: str, datatype: dict[str, Any]) -> None: ...
    def set_attribute(self, path: str, name: str, shape: Sequence[int] | None, datatype: dict[str, Any], value: bytes, heap: list[bytes]) -> None: ...
    def set_references(self, path: str, name: str | None, shape: Sequence[int], targets: Sequence[str | None]) -> None: ...
    def attach_scale(self, path: str, dimension: int, scale: str) -> None: ...
    def task(self, number: int, threads: int | None = None) -> Writer: ...
    def set_tracked(self, path: str, tracked: bool) -> None: ...
    def commit(self, fragments: Sequence[bytes]) -> Committed: ...
    def begin(self) -> None: ...
    def abort(self) -> None: ...

@final
class AttributeValue:
    shape: Final[list[int] | None]
    datatype: Final[dict[str, Any]]
    data: Final[bytes]
    heap: Final[Heap]

@final
class Committed:
    subfiles: Final[list[Subfile]]
    repeated: Final[bool]
    left: Final[list[str]]
    remarks: Final[list[str]]

@final
class Counters:
    bytes_read: Final[int]
    chunks_decoded: Final[int]
    chunks_skipped: Final[int]
    decode_nanoseconds: Final[int]
    index_blocks: Final[int]
    index_blocks_pruned: Final[int]
    requests: Final[int]
    request_rounds: Final[int]
    remote_bytes_wanted: Final[int]
    remote_bytes_fetched: Final[int]
    remote_cache_hits: Final[int]

@final
class Definition:
    shape: Final[list[int]]
    datatype: Final[dict[str, Any]]
    chunks: Final[list[int] | None]
    region: Final[tuple[list[int], list[int]] | None]

@final
class Dereferenced:
    file: Final[File]
    object: Final[int]
    path: Final[str]
    selection: Final[RegionSelection | None]
    attribute: Final[str | None]

@final
class Fused:
    bytes: Final[int]
    copied_chunks: Final[int]
    reencoded_bytes: Final[int]

@final
class Indexed:
    datasets: Final[int]
    built_blocks: Final[int]
    kept_blocks: Final[int]

@final
class Links:
    names: Final[list[str]]
    kinds: Final[list[str]]
    objects: Final[list[int | None]]
    targets: Final[list[str]]

@final
class Member:
    name: Final[str]
    kind: Final[str]
    target: Final[str]
    file: Final[str | None]
    def __new__(cls, name: str) -> Member: ...

@final
class NamedArray:
    name: Final[str]
    step: Final[int | None]
    path: Final[str]
    shape: Final[list[int]]

@final
class ObjectInfo:
    kind: Final[str]
    id: Final[int]
    path: Final[str]
    def __new__(cls, kind: str, id: int, path: str) -> ObjectInfo: ...

@final
class PlannedIndex:
    file: Final[str]
    path: Final[str]
    level: Final[str]
    reason: Final[str]
    elements: Final[int]
    value_bytes: Final[int]
    index_bytes: Final[int]
    needed: Final[bool]

@final
class Recognition:
    model: Final[str]
    certainty: Final[str]
    reason: Final[str]

@final
class ReferenceTarget:
    path: Final[str]
    region: Final[list[list[int]] | None]

@final
class Gathered:
    kind: str
    datatype: dict[str, Any] | None
    shape: list[int] | None
    attributes: list[tuple[str, AttributeValue]]
    names: list[str]
    positions: bytes
    members: bytes
    values: bytearray | None

@final
class RegionSelection:
    kind: Final[str]
    parts: Final[list[list[list[int]]]]

@final
class Step:
    file: Final[str]
    group: Final[str]
    shape: Final[list[int]]

@final
class Subfile:
    name: Final[str]
    bytes: Final[int]
    task: Final[int]

@final
class WrittenDataset:
    path: Final[str]
    has_rows: Final[bool]
    shape: Final[list[int]]
    regions: Final[list[tuple[list[int], list[int]]]]

@final
class Summary:
    count: Final[int]
    nulls: Final[int]
    nans: Final[int]
    minimum: Final[int | float | None]
    maximum: Final[int | float | None]
    sum: Final[int | float | None]

@final
class VacuumResult:
    removed: Final[list[str]]
    young: Final[list[str]]
    orphans: Final[list[str]]
    files: Final[list[str]]

@final
class ValueCounts:
    values: Final[int]
    nans: Final[int]
    nulls: Final[int]

@final
class Verification:
    problems: Final[list[str]]
    commits: Final[int]
    subfiles: Final[int]
    subfile_bytes: Final[int]
    remarks: Final[list[str]]
