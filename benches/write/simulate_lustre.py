"""A SIMULATION, not a measurement: the effect of subfiling on Lustre, which one disk cannot show.

Model: a file with a stripe count of `stripes` uses that many object storage targets (OSTs). Each writes `OST_BYTES` per
second. A stripe's extent lock belongs to one client at a time; when another client writes to the same object of an OST,
the lock moves, which costs `LOCK_SECONDS` and flushes the data that the first client wrote to it (Lustre Operations Manual, chapter
on the distributed lock manager; the netCDF-4/Lustre study, 2015, names the same effect). Creating a file costs the single
metadata server `CREATE_SECONDS`. The targets, the stripes and the peak of Edison's scratch3 are from the subfiling
study (2017): 36 OSTs, 32 MiB, 75 GB/s. **The costs of moving a lock and of creating a file are assumptions**, not measured here
or there; so the table compares subfiling factors under the model and is not a statement about any machine.

    simulate_lustre.py [--writers 4096] [--mebibytes 256]"""

from __future__ import annotations

import argparse

OSTS = 36
OST_BYTES = 75e9 / OSTS
LOCK_SECONDS = 2e-3  # assumed
CREATE_SECONDS = 5e-4  # assumed
STRIPE_BYTES = 32 << 20
TRANSFER_BYTES = 4 << 20


def seconds(writers: int, bytes_each: int, factor: int, stripes: int, aligned: bool, create_seconds: float = CREATE_SECONDS) -> float:
    """Seconds until the last of `writers` has written its part, `factor` of them per subfile."""
    files = -(-writers // factor)
    stripes = min(stripes, OSTS)
    # Objects of all files are distributed over the OSTs in turn.
    objects = files * stripes
    busiest = -(-objects // OSTS)
    bytes_of_object = factor * bytes_each / stripes
    # Clients that contend for an object: those of its file that write at the same time, unless each has its own stripes.
    transfers = bytes_of_object / TRANSFER_BYTES
    sharers = min(factor, max(1, factor * bytes_each // (stripes * STRIPE_BYTES)))
    moves = transfers * (1 - 1 / sharers) if sharers > 1 else 0.0
    if not aligned:
        # Each part begins and ends inside a stripe that it shares with its neighbor.
        moves += 2 * factor * max(1.0, STRIPE_BYTES / TRANSFER_BYTES / 2) / stripes * (factor > 1)
    return files * create_seconds + busiest * (bytes_of_object / OST_BYTES + moves * LOCK_SECONDS)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--writers", type=int, default=4096)
    arguments.add_argument("--mebibytes", type=int, default=256)
    given = arguments.parse_args()
    each = given.mebibytes << 20
    print(f"SIMULATED: {given.writers} writers, {given.mebibytes} MiB each, {OSTS} OSTs, stripes of {STRIPE_BYTES >> 20} MiB\n")
    print("| writers of a subfile | subfiles | GB/s aligned | GB/s not aligned |\n|---:|---:|---:|---:|")
    factor = 1
    while factor <= given.writers:
        rates = [
            given.writers * each / seconds(given.writers, each, factor, 1 if factor == 1 else 8 if factor < given.writers else OSTS, aligned) / 1e9
            for aligned in (True, False)
        ]
        print(f"| {factor} | {-(-given.writers // factor)} | {rates[0]:.1f} | {rates[1]:.1f} |")
        factor *= 4 if factor >= 32 else 2
    print("\nThe best factor follows from what making a file costs, which is assumed:\n")
    print("| ms to make a file | best factor | GB/s there | GB/s with a file each |\n|---:|---:|---:|---:|")
    factors = [2**n for n in range(given.writers.bit_length()) if 2**n <= given.writers]
    for create in (0.5e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3):
        rate = {
            f: given.writers * each / seconds(given.writers, each, f, 1 if f == 1 else 8 if f < given.writers else OSTS, True, create) / 1e9 for f in factors
        }
        best = max(rate, key=lambda f: rate[f])
        print(f"| {create * 1e3:g} | {best} | {rate[best]:.1f} | {rate[1]:.1f} |")


if __name__ == "__main__":
    main()
