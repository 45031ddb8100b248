"""The simulation: its queues against closed forms, what it conserves, and what wrong machines and scenarios get."""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import hyperslab as hs
import pytest
from hyperslab.simulation import KINDS, Machine, Scenario, load_machine, load_scenario, make_scenario, names, parameters, simulate
from hyperslab.simulation.queueing import Barrier, Engine, Queue
from hyperslab.simulation.storage import FileSystem, ReadCache

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"
GIB = 2.0**30


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load_machine("lustre-248")


def arrivals(engine: Engine, queue: Queue, gaps: list[float], services: list[float]) -> None:
    def source() -> Any:
        for gap, service in zip(gaps, services, strict=True):
            yield engine.wait(gap)
            queue.serve(service)

    engine.env.run(engine.start(source()))


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_queue_waits_as_m_m_1_does(load: float) -> None:
    engine = Engine(7)
    queue = Queue(engine)
    random = engine.random("m/m/1")
    count = 100_000
    arrivals(engine, queue, [random.expovariate(load) for _ in range(count)], [random.expovariate(1.0) for _ in range(count)])
    assert queue.waited_seconds / count == pytest.approx(load / (1 - load), rel=0.08)
    assert queue.busy_seconds / engine.now == pytest.approx(load, rel=0.02)


def test_a_queue_of_several_servers_waits_as_m_m_c_does() -> None:
    engine, servers, load = Engine(3), 4, 0.75
    queue = Queue(engine, servers)
    random = engine.random("m/m/c")
    count = 100_000
    arrivals(engine, queue, [random.expovariate(load * servers) for _ in range(count)], [random.expovariate(1.0) for _ in range(count)])
    offered = load * servers
    below = sum(offered**k / math.factorial(k) for k in range(servers))
    full = offered**servers / math.factorial(servers) / (1 - load)
    erlang = full / (below + full)  # Erlang's C formula: the probability of waiting
    assert queue.waited_seconds / count == pytest.approx(erlang / (servers * (1 - load)), rel=0.08)


def test_a_queue_waits_as_d_d_1_and_m_d_1_do() -> None:
    engine = Engine(1)
    queue = Queue(engine)
    arrivals(engine, queue, [1.0] * 1000, [0.9] * 1000)
    assert queue.waited_seconds == 0
    engine = Engine(1)
    queue = Queue(engine)
    arrivals(engine, queue, [1.0] * 1000, [1.5] * 1000)
    assert queue.waited_seconds == pytest.approx(sum(0.5 * n for n in range(1000)))
    engine = Engine(1)
    queue = Queue(engine)
    random = engine.random("m/d/1")
    arrivals(engine, queue, [random.expovariate(0.8) for _ in range(100_000)], [1.0] * 100_000)
    assert queue.waited_seconds / 100_000 == pytest.approx(0.8 / (2 * 0.2), rel=0.08)  # Pollaczek and Khinchine


@pytest.mark.parametrize("flows", [1, 2, 7])
def test_flows_share_a_link(machine: Machine, flows: int) -> None:
    """Each of n flows gets an n-th of the link; all of them end when the link has carried all bytes."""
    engine = Engine(1)
    system = FileSystem(engine, machine, 1)
    piece, pieces = 64e6, 50
    ends: list[float] = []

    def flow(number: int) -> Any:
        for index in range(pieces):
            yield from system.write(0, number * pieces + index, piece, number)
        ends.append(engine.now)

    engine.env.run(engine.env.all_of([engine.start(flow(number)) for number in range(flows)]))
    whole = flows * pieces * piece / machine.nodes.link_bytes_per_second
    if flows > 1:
        assert max(ends) == pytest.approx(whole, rel=0.02)
        assert min(ends) == pytest.approx(whole, rel=0.05)
    else:
        assert max(ends) > whole  # alone it waits for the target, too


def test_targets_saturate(machine: Machine) -> None:
    quiet = machine.with_changes(targets__noise=0, network__path_bytes_per_second=1e15, nodes__link_bytes_per_second=1e15)
    for count in (1, 4, 16):
        found = simulate(make_scenario("read", way="mpi", nodes=20, total_bytes=1e12, stripe_count=count), quiet)
        assert found.bytes_per_second == pytest.approx(count * machine.targets.read_bytes_per_second, rel=0.03)
        assert found.utilization["busiest target"] > 0.96


def test_tasks_that_begin_on_one_target_use_all(machine: Machine) -> None:
    """64 stripes on 16 targets: each task begins on the first one, and reads from all of them."""
    found = simulate(make_scenario("read", nodes=100, total_bytes="1TiB", stripe_count=16), machine.with_changes(targets__noise=0, spark__late_fraction=0))
    assert found.utilization["targets used"] == 16 / 248
    assert found.bytes_per_second == pytest.approx(16 * machine.targets.read_bytes_per_second, rel=0.05)


def test_a_barrier_waits_for_the_last_again_and_again() -> None:
    engine = Engine(1)
    barrier = Barrier(engine, 3)
    left: list[tuple[int, float]] = []

    def process(number: int) -> Any:
        for turn in range(2):
            yield engine.wait(number + 1)
            yield barrier.arrive()
            left.append((turn, engine.now))

    engine.env.run(engine.env.all_of([engine.start(process(number)) for number in range(3)]))
    assert left == [(0, 3.0)] * 3 + [(1, 6.0)] * 3


def test_a_cache_keeps_what_was_used_last() -> None:
    cache = ReadCache(100)
    assert [cache.holds(key, 40) for key in "aab"] == [False, True, False]
    assert not cache.holds("c", 40)  # a leaves: b and c stay
    assert cache.holds("b", 40) and not cache.holds("a", 40)
    assert not cache.holds("huge", 200) and not cache.holds("huge", 200)
    assert cache.hits == 2


def test_a_lock_moves_when_another_client_writes(machine: Machine) -> None:
    quiet = machine.with_changes(targets__noise=0, targets__lock_move_seconds=0.5)
    seconds = []
    for clients in (["a", "a", "a"], ["a", "b", "a"]):
        engine = Engine(1)
        system = FileSystem(engine, quiet, 1)

        def job(system: FileSystem = system, clients: list[str] = clients) -> Any:
            for client in clients:
                yield from system.write(0, 0, 1e6, "stream", ("object", client))

        engine.env.run(engine.start(job()))
        assert system.targets[0].lock_moves == len(set(clients)) * (len(set(clients)) - 1)
        seconds.append(engine.now)
    assert seconds[1] - seconds[0] == pytest.approx(1.0)


SMALL: dict[str, dict[str, Any]] = {
    "read": {"nodes": 4, "total_bytes": 1e11, "partitions": 300},
    "write": {"nodes": 4, "process_bytes": 1e8},
    "metadata": {"processes": 300, "operations": 3},
    "open": {"files": 500},
    "query": {"nodes": 4, "total_bytes": 1e11},
    "transfer": {"client_bytes": 1e9, "clients": 4},
}
WAYS = [(kind, way) for kind in KINDS for field in parameters(kind) if field.name == "way" for way in field.metadata["names"]]


def small(kind: str, way: str) -> Scenario:
    return make_scenario(kind, way=way, **SMALL[kind])


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_each_way_runs_and_repeats_with_its_seed(kind: str, way: str) -> None:
    first, again, other = (simulate(small(kind, way), seed=seed) for seed in (1, 1, 2))
    assert first == again and first.seconds > 0 and first.failed is None
    if kind in ("read", "write", "transfer"):
        assert first.seconds != other.seconds
    facts = first.to_dict()
    assert facts["simulated"] is True and json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(("kind", "way"), [pair for pair in WAYS if pair[0] in ("read", "write", "transfer")])
def test_bytes_moved_are_the_bytes_asked_for(kind: str, way: str) -> None:
    found = simulate(small(kind, way))
    asked = {"read": 1e11, "write": 4 * 32 * 1e8, "transfer": 4e9}[kind]
    assert found.moved_bytes == pytest.approx(asked, rel=1e-9)


@pytest.mark.parametrize("way", ["spark", "hyperslab", "mpi"])
@pytest.mark.parametrize(
    ("key", "values"), [("targets__read_bytes_per_second", (0.1e9, 0.4e9, 1.6e9)), ("nodes__link_bytes_per_second", (0.1e9, 0.4e9, 1.6e9))]
)
def test_faster_parts_never_make_a_read_slower(machine: Machine, way: str, key: str, values: tuple[float, ...]) -> None:
    quiet = machine.with_changes(targets__noise=0, spark__noise=0, spark__late_fraction=0)
    seconds = [simulate(small("read", way), quiet.with_changes(**{key: value})).seconds for value in values]
    assert seconds == sorted(seconds, reverse=True)


def test_more_work_takes_longer(machine: Machine) -> None:
    for kind, key, values in (
        ("read", "total_bytes", (1e10, 1e11, 1e12)),
        ("write", "process_bytes", (1e7, 1e8, 1e9)),
        ("metadata", "operations", (1, 10, 100)),
        ("metadata", "processes", (10, 100, 10_000)),
        ("open", "files", (10, 100, 1000)),
        ("query", "total_bytes", (1e10, 1e11, 1e12)),
    ):
        for way in [way for name, way in WAYS if name == kind]:
            seconds = [simulate(small(kind, way).with_changes(**{key: value}), machine).seconds for value in values]
            assert seconds == sorted(seconds) and seconds[0] < seconds[-1], (kind, way)


def test_groups_of_processes_act_as_single_ones_do() -> None:
    for way in ("server", "locks"):
        seconds = [simulate(make_scenario("metadata", way=way, processes=2000, operations=4, max_actors=actors)).seconds for actors in (100, 2000)]
        assert seconds[0] == pytest.approx(seconds[1], rel=0.01)


def test_a_metadata_server_takes_the_time_of_all_requests(machine: Machine) -> None:
    found = simulate(make_scenario("metadata", way="server", processes=500, operations=20))
    objects = machine.objects
    assert found.seconds == pytest.approx(500 * (objects.server_first_seconds + 20 * objects.server_seconds), rel=0.01)


def test_spark_fails_as_h5spark_did() -> None:
    failed = simulate(make_scenario("read", way="spark", nodes=45, partitions=1000, total_bytes="2210GiB", caches=True))
    assert failed.failed is not None and "cannot be cached" in failed.failed and failed.bytes_per_second == 0
    blocked = simulate(make_scenario("read", way="spark", nodes=45, partitions=3000, total_bytes="2210GiB", caches=True, stripe_count=1))
    assert blocked.failed is not None and "more than 120 s, 4 times" in blocked.failed


def test_the_driver_launches_no_faster_than_it_can(machine: Machine) -> None:
    found = simulate(make_scenario("read", way="hyperslab", nodes=100, total_bytes=1e9, partitions=6000), machine)
    assert found.seconds >= 6000 / machine.spark.tasks_per_second


def test_every_parameter_of_every_machine_has_a_source() -> None:
    assert {"lustre-248", "hopper", "edison-scratch3", "lustre-10"} <= set(names())
    for name in names():
        made = load_machine(name)
        sections = {field for field in Machine.__dataclass_fields__ if field not in ("name", "sources")}
        figures = {f"{section}.{key}" for section in sections for key in getattr(made, section).__dataclass_fields__}
        assert set(made.sources) == figures, name
        for key, source in made.sources.items():
            assert not source.endswith(".toml") and len(source) > 5, f"{name}: {key} has no source"


def test_a_machine_may_build_on_another(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.toml").write_text('base = "lustre-248"\n[targets]\ncount = 7\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\nname = "mine"\n[nodes]\ncount = 3\n')
    made = load_machine(str(tmp_path / "b.toml"))
    assert (made.name, made.targets.count, made.nodes.count, made.nodes.cores) == ("mine", 7, 3, 32)
    (tmp_path / "s.toml").write_text('kind = "read"\nmachine = "b.toml"\nnodes = 2\ntotal_bytes = "1 GiB"\n')
    assert simulate(str(tmp_path / "s.toml")).machine == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[targets]\ncount = 0\n", "'targets.count' is 0; give a whole number of at least 1"),
        ("[targets]\ncount = 1.5\n", "'targets.count' is 1.5; give a whole number"),
        ("[targets]\nread_bytes_per_second = -5\n", "'targets.read_bytes_per_second' is -5; give a number above 0"),
        ("[targets]\nread_bytes_per_second = nan\n", "'targets.read_bytes_per_second' is nan; give a number above 0"),
        ("[targets]\nread_bytes_per_second = inf\n", "'targets.read_bytes_per_second' is inf; give a number above 0"),
        ("[targets]\nread_bytes_per_second = true\n", "'targets.read_bytes_per_second' is True; give a number"),
        ("[targets]\nspeed = 1\n", "unknown key 'targets.speed'"),
        ("[spark]\nlate_fraction = 2\n", "'spark.late_fraction' is 2; give a number of at most 1"),
        ("[spork]\nnoise = 1\n", "unknown key 'spork'; did you mean 'spark'?"),
        ("targets = 3\n", "'targets' is not a table of keys"),
        ("base = 3\n", "'base' is 3; give the name of a machine"),
        ("sources = 3\n", "'sources' is not a table"),
        ("[sources.targets]\ncuont = 'x'\n", "'sources.targets.cuont' belongs to no figure"),
        ("[targets\n", "is not TOML"),
        ('base = "m.toml"\n', "'base' leads back to the file itself"),
    ],
)
def test_a_wrong_machine_is_an_error_with_file_and_key(tmp_path: pathlib.Path, text: str, message: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text if "base" in text else f'base = "lustre-248"\n{text}')
    with pytest.raises(hs.InvalidInputError) as caught:
        load_machine(str(path))
    assert str(caught.value).startswith(f"{path}") and message in str(caught.value)


def test_a_machine_of_its_own_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.toml").write_text("[targets]\ncount = 3\n")
    with pytest.raises(hs.InvalidInputError, match=r"m\.toml: key 'targets\.read_bytes_per_second' is missing: of one target"):
        load_machine(str(tmp_path / "m.toml"))
    with pytest.raises(hs.InvalidInputError, match="there is no machine 'nowhere'; known: cori-2017"):
        load_machine("nowhere")
    with pytest.raises(hs.InvalidInputError, match="there is no machine '_defaults'"):
        load_machine("_defaults")
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_machine(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "read"\nstripe_bytes = 0\n', "'stripe_bytes' is 0; give a number above 0"),
        ('kind = "read"\nstripe_bytes = "4 parsecs"\n', "'stripe_bytes' is '4 parsecs'; give bytes, as in 64MiB or 2.2TB"),
        ('kind = "read"\nstripe_byte = 1\n', "unknown key 'stripe_byte'; did you mean 'stripe_bytes'?"),
        ('kind = "read"\nway = "sparks"\n', "unknown way 'sparks'; expected 'spark', 'pyspark', 'hyperslab' or 'mpi'"),
        ('kind = "read"\ncaches = 1\n', "'caches' is 1; give true or false"),
        ('kind = "reads"\n', "unknown kind 'reads'; expected 'read', 'write'"),
        ('way = "mpi"\n', "key 'kind' is missing"),
        ('kind = "read"\nmachine = 3\n', "'machine' is 3"),
        ('kind = "write"\nfactor = 0\n', "'factor' is 0; give a whole number of at least 1"),
    ],
)
def test_a_wrong_scenario_is_an_error_with_file_and_key(tmp_path: pathlib.Path, text: str, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(hs.InvalidInputError) as caught:
        load_scenario(str(path))
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_a_scenario_must_fit_on_the_machine() -> None:
    with pytest.raises(hs.InvalidInputError, match="9999 nodes: lustre-248 has 1600"):
        simulate(make_scenario("read", nodes=9999))
    for kind in ("read", "write"):
        with pytest.raises(hs.InvalidInputError, match="a file of 500 stripes does not fit on lustre-248, which has 248 targets"):
            simulate(make_scenario(kind, stripe_count=500))


def run(*words: str, status: int = 0, columns: int = 80) -> str:
    done = subprocess.run([COMMAND, "simulate", *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stdout + done.stderr


def test_the_command_says_that_it_simulates(tmp_path: pathlib.Path) -> None:
    words = ("--nodes", "4", "--way", "spark", "--bytes", "100GB", "--partitions", "200", "--stripes", "16", "--set", "stripe_bytes=4MiB")
    text = run(*words)
    assert text.startswith("SIMULATED read by spark on lustre-248: nothing was measured")
    facts = json.loads(run(*words, "--json"))
    assert facts["simulated"] is True and facts["moved_bytes"] == pytest.approx(1e11)
    assert facts != json.loads(run(*words, "--json", "--seed", "2"))
    (tmp_path / "s.toml").write_text('kind = "metadata"\nmachine = "hopper"\nway = "locks"\n')
    assert json.loads(run(str(tmp_path / "s.toml"), "--json", "--set", "operations=2"))["machine"] == "hopper"


@pytest.mark.slow
def test_the_command_in_a_narrow_terminal() -> None:
    assert "seconds" in run("--nodes", "2", "--bytes", "1GB", columns=20)
    assert "--machine" in run("--help", columns=40)
    assert "lustre-248" in run("--list", columns=30).replace("\n", "")
    assert set(json.loads(run("--list", "--json"))["kinds"]) == set(KINDS)


@pytest.mark.slow
def test_errors_of_the_command_are_one_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "s.toml").write_text('kind = "read"\nstripe_bytes = 0\n')
    assert run(str(tmp_path / "s.toml"), status=1) == f"hyperslab: {tmp_path}/s.toml: 'stripe_bytes' is 0; give a number above 0\n"
    assert run("--set", "strip_bytes=1", status=1) == "hyperslab: command line: unknown key 'strip_bytes'; did you mean 'stripe_bytes'?\n"
    assert "stripe_bytes=4MiB" in run("--set", "nothing", status=2).replace("\n", " ").replace("│", "")
    assert "the job fails" in run("--way", "spark", "--nodes", "45", "--partitions", "1000", "--bytes", "2210GiB", "--set", "caches=true", status=1)


def test_ten_thousand_tasks_take_seconds() -> None:
    begun = time.process_time()
    found = simulate(make_scenario("read", way="spark", nodes=300, partitions=10_000, total_bytes=3 * 2.0**40))
    assert found.details["tasks"] == 10_000 and time.process_time() - begun < 20
