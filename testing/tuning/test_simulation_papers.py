"""benches/simulate/results.md shows what the simulation gives today. Runs that take more than a few seconds are left to `make simulate-papers`."""

from __future__ import annotations

import pathlib
import sys

import pytest
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "simulate"))

import claims  # noqa: E402
import designs  # noqa: E402
import fit  # noqa: E402
import observations  # noqa: E402
import page  # noqa: E402
import pictures  # noqa: E402

TEXT = page.PAGE.read_text(encoding="utf-8")
OBSERVATIONS = observations.load()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("observation", [o for o in OBSERVATIONS if o.id not in page.SLOW], ids=lambda o: o.id)
def test_the_page_has_what_is_simulated(observation: observations.Observation) -> None:
    ours = observation.ours()
    assert page.row(observation, ours) in TEXT, "make simulate-papers"
    if observation.use == "fit" and not observation.id.startswith("metadata-"):
        assert abs(observation.error(ours)) < 0.06, "a figure that a parameter was fitted to"


def test_every_figure_has_its_table_and_its_picture() -> None:
    for figure in observations.figures():
        assert f"]({page.PICTURES}/{pictures.path(figure).name})" in TEXT
        assert pictures.path(figure).read_bytes().startswith(b"\x89PNG")
        assert any(o.figure == figure and o.use == "test" for o in OBSERVATIONS)
    for o in OBSERVATIONS:
        assert any(TEXT.count(f"| {o.place} | {o.setting}{end}") == 1 for end in (" |", f" ({o.note}) |")), o.id


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", [i for i, claim in enumerate(claims.CLAIMS) if claim.text not in page.SLOW_CLAIMS])
def test_the_page_has_the_claims(index: int) -> None:
    assert page.claim_row(index) in TEXT, "make simulate-papers"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [make for make in reversed(designs.TABLES) if make.__name__ not in designs.SLOW], ids=lambda make: make.__name__)
def test_the_page_has_the_tables_of_designs(make: object) -> None:
    assert page.design(make) in TEXT, "make simulate-papers"


def test_the_page_has_the_machine() -> None:
    assert page.machine_table("lustre-248") in TEXT
    guide = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    for name in page.names():
        assert f"`{name}`" in TEXT and f"`{name}`" in guide


def test_the_papers_are_named_and_fits_are_of_observations() -> None:
    tables = tomllib.loads(observations.FILE.read_text(encoding="utf-8"))
    assert len(tables["observation"]) + 9 * len(tables["metadata"]["rows"]) == len(OBSERVATIONS) == len({o.id for o in OBSERVATIONS})
    fitted = {o.id for o in OBSERVATIONS if o.use == "fit" and not o.id.startswith("metadata-")}
    assert {observation for _, _, observation, *_ in fit.FITTED} == fitted
    for name, key, *_ in fit.FITTED:
        assert "fitted" in fit.load_machine(name).sources[key]
