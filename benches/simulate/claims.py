"""What the papers say in words about figures whose values they do not print: each claim with the simulated figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hyperslab.simulation import Machine, load_machine
from observations import run


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper; `found` gives the simulated figures and whether they agree."""

    paper: str
    place: str
    text: str
    found: Callable[[], tuple[str, bool]]


FACTORS = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096]


def factors(machine: str, nodes: int, per_node: int, stripes: int, way: str = "subfiles") -> dict[int, float]:
    """GB/s by subfiling factor, of 4K processes."""
    about = load_machine(machine)
    scenario = {"kind": "write", "way": way, "nodes": nodes, "processes_per_node": per_node, "stripe_count": stripes}
    return {factor: run(about, {**scenario, "factor": factor}).bytes_per_second / 1e9 for factor in FACTORS}


def stripes(nodes: int, factor: int, counts: list[int]) -> dict[str, float]:
    """GB/s by stripe count on Cori with stripes of 32 MiB, and with the default of one stripe of 1 MiB."""
    about = load_machine("cori-2017")
    scenario = {"kind": "write", "way": "subfiles", "nodes": nodes, "processes_per_node": 32, "factor": factor}
    found = {str(count): run(about, {**scenario, "stripe_count": count}).bytes_per_second / 1e9 for count in counts}
    if nodes < 512:
        found["1 of 1 MiB"] = run(about, {**scenario, "stripe_count": 1, "stripe_bytes": 1 << 20, "aggregators_per_target": 1}).bytes_per_second / 1e9
    return found


def shown(rates: dict[Any, float], unit: str = "GB/s") -> str:
    return ", ".join(f"{key}: {f'{rate:,.0f}' if rate >= 1000 else f'{rate:.3g}'}" for key, rate in rates.items()) + f" {unit}"


def best_factors(machine: str, nodes: int, per_node: int, stripe_count: int) -> tuple[str, bool]:
    rates = factors(machine, nodes, per_node, stripe_count)
    best = max(rates.values())
    return shown(rates), max(rates[8], rates[16], rates[32]) >= 0.95 * best and rates[4096] < 0.8 * best


def poor_ends() -> tuple[str, bool]:
    rates = factors("edison-scratch3", 171, 24, 36)
    mean = sum(rates.values()) / len(rates)
    return f"mean {mean:.3g} GB/s; {shown(rates)}", rates[1] < mean and rates[4096] < mean and all(rates[f] > mean for f in (8, 16, 32, 64, 256, 1024))


def many_files() -> tuple[str, bool]:
    rates = factors("cori-2017", 128, 32, 128)
    return shown({1: rates[1], 32: rates[32], 4096: rates[4096]}), rates[1] > 0.9 * rates[32] and rates[4096] < 0.9 * rates[32]


def similar_stripes() -> tuple[str, bool]:
    rates = stripes(128, 128, [8, 16, 32, 64, 128])
    middle = [rates[str(count)] for count in (8, 16, 32, 64)]
    return shown(rates), max(middle) < 1.25 * min(middle) and rates["1 of 1 MiB"] < 0.5 * min(middle)


def many_stripes() -> tuple[str, bool]:
    rates = stripes(512, 64, [1, 8, 64, 128])
    return shown(rates), max(rates["64"], rates["128"]) >= 0.98 * max(rates.values()) and rates["1"] < 0.9 * rates["64"]


def reading_scales() -> tuple[str, bool]:
    about = load_machine("edison-cscratch")
    rates = {
        nodes * 24: run(about, {"kind": "read", "way": "mpi", "nodes": nodes, "total_bytes": nodes * 24 * 2.0**28, "stripe_count": 128}).bytes_per_second / 1e9
        for nodes in (43, 86, 171)
    }
    values = list(rates.values())
    return shown(rates), values == sorted(values) and values[-1] > 1.5 * values[0]


def pattern(machine: Machine | None = None, **changes: Any) -> float:
    """MiB/s of the Lustre study's cluster."""
    return run(machine or load_machine("lustre-10"), {"kind": "transfer", "simulated_transfers": 512, **changes}).bytes_per_second / 2**20


def disjoint_is_slow() -> tuple[str, bool]:
    rates = {does: pattern(way="disjoint", does=does) for does in ("read", "write")}
    return shown(rates, "MiB/s of 1,125"), all(rate < 0.8 * 1125 for rate in rates.values())


def one_target_is_fast() -> tuple[str, bool]:
    rates = {does: pattern(way="one-target", does=does) for does in ("read", "write")}
    return shown(rates, "MiB/s of 1,125"), all(rate > 0.85 * 1125 for rate in rates.values())


def unaligned_is_slow() -> tuple[str, bool]:
    rates = {"aligned": pattern(way="one-target", does="write"), "not aligned": pattern(way="one-target", does="write", is_aligned=False)}
    return shown(rates, "MiB/s"), rates["not aligned"] < 0.7 * rates["aligned"]


def large_transfers() -> tuple[str, bool]:
    rates = {f"{size} MiB": pattern(way="disjoint", does="read", transfer_bytes=size * 2.0**20, stripe_bytes=size * 2.0**20) for size in (1, 4, 16, 64)}
    values = list(rates.values())
    return shown(rates, "MiB/s"), values[-1] > 1.3 * values[0]


def delays_shrink() -> tuple[str, bool]:
    about = load_machine("lustre-248")
    scenario = {"kind": "read", "way": "spark", "nodes": 45, "partitions": 3000, "total_bytes": "2210GiB", "caches": True}
    delays = {count: run(about, {**scenario, "stripe_count": count}).details["launch delay, longest seconds"] for count in (8, 24, 72, 248)}
    values = list(delays.values())
    return shown(delays, "s"), values == sorted(values, reverse=True)


def server_beats_locks() -> tuple[str, bool]:
    about = load_machine("hopper")
    seconds = {way: run(about, {"kind": "metadata", "way": way, "processes": 1024, "operations": 100}).seconds for way in ("server", "locks")}
    return shown(seconds, "s"), seconds["locks"] > 10 * seconds["server"]


SUBFILING, LUSTRE = "Subfiling 2017", "Lustre study 2015"
CLAIMS = (
    Claim("H5Spark 2016", "V.D", "Launching delays shrink with more targets (45 nodes; longest delay by targets)", delays_shrink),
    Claim(SUBFILING, "V.B.1", "scratch3, 4K processes: factors of 8 to 1,024 are above average, 1 and 4,096 below", poor_ends),
    Claim(SUBFILING, "V.B.1", "scratch3, 4K processes: 8, 16 or 32 are best, one file is poor", lambda: best_factors("edison-scratch3", 171, 24, 36)),
    Claim(SUBFILING, "V.B.1", "cscratch from Cori, 4K processes: 8 to 32 are best, few files are poor", lambda: best_factors("cori-2017", 128, 32, 128)),
    Claim(SUBFILING, "V.B.1", "cscratch from Cori: many subfiles cost little, few cost much", many_files),
    Claim(SUBFILING, "V.B.2", "32 subfiles, 4K processes: 8 to 64 stripes are alike; the default, one stripe of 1 MiB, is poor", similar_stripes),
    Claim(SUBFILING, "V.B.2", "factor 64, 16K processes: 64 and 128 stripes are best", many_stripes),
    Claim(SUBFILING, "V.A.2", "BD-CATS-IO: the read rate grows with the processes (Edison, cscratch)", reading_scales),
    Claim("ExaHDF5 2012", "2.1.2", "A metadata server clearly outperforms a lock manager (1,024 processes, 100 operations)", server_beats_locks),
    Claim(LUSTRE, "disjoint pattern", "Much lower than the practical maximum", disjoint_is_slow),
    Claim(LUSTRE, "1-OST pattern", "Almost the practical maximum with POSIX and MPI-IO", one_target_is_fast),
    Claim(LUSTRE, "1-OST pattern", "Without alignment much worse", unaligned_is_slow),
    Claim(LUSTRE, "transfer size", "Large transfers are fastest", large_transfers),
)
