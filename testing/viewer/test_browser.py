"""The viewer in a real browser: clicks through H5Web. Pictures go to the folder of HYPERSLAB_PICTURES, to be looked at."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

PYTHON = os.environ["HYPERSLAB_PYTHON"]
HERE = pathlib.Path(__file__).parent
expect.set_options(timeout=60_000)
CHROMIUM = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("shown")
    subprocess.run([PYTHON, HERE / "make_files.py", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def address(folder: pathlib.Path) -> Iterator[str]:
    server = subprocess.Popen(
        [PYTHON, "-m", "hyperslab", "view", "--no-browser", folder], stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert server.stdout is not None
    yield server.stdout.readline().split()[0]
    server.send_signal(signal.SIGINT)
    assert server.wait(20) == 130


@pytest.fixture(scope="session")
def pages() -> Iterator[object]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def page(pages: object, address: str) -> Iterator[Page]:
    page = pages.new_page(viewport={"width": 1300, "height": 800})  # type: ignore[attr-defined]
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    elsewhere: list[str] = []
    page.on("request", lambda request: None if request.url.startswith((address, "data:", "blob:")) else elsewhere.append(request.url))
    page.set_default_timeout(60_000)
    yield page
    page.close()
    assert problems == [] and elsewhere == []


def picture(page: Page, name: str) -> None:
    if kept := os.environ.get("HYPERSLAB_PICTURES"):
        page.wait_for_timeout(1500)
        page.screenshot(path=pathlib.Path(kept) / f"{name}.png")


def opened(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}#{name}")
    expect(page.get_by_role("treeitem").first).to_be_visible()


def test_the_default_plot_is_drawn_and_everything_can_be_clicked(page: Page, address: str) -> None:
    opened(page, address, "shown.h5")
    assert "shown.h5" in page.title()
    # NeXus names the plot that is shown first.
    expect(page.get_by_role("tab", name="NX Line")).to_be_visible()
    expect(page.get_by_text("angle").first).to_be_visible()
    picture(page, "viewer-nexus")
    page.get_by_role("treeitem", name="signal").click()
    expect(page.get_by_role("tab", name="Line")).to_be_visible()
    page.get_by_role("tab", name="Matrix").click()
    expect(page.get_by_text("2.000e-2").first).to_be_visible()
    page.get_by_role("treeitem", name="table").click()
    expect(page.get_by_text("value").first).to_be_visible()
    picture(page, "viewer-table")
    page.get_by_role("treeitem", name="maps").click()
    page.get_by_role("treeitem", name="temperature").click()
    page.get_by_role("tab", name="Heatmap").click()
    expect(page.locator("canvas").first).to_be_visible()
    picture(page, "viewer-heatmap")
    page.get_by_role("tab", name="Inspect").click()
    expect(page.get_by_text("units").filter(visible=True).first).to_be_visible()
    expect(page.get_by_text("deflate").filter(visible=True).first).to_be_visible()
    picture(page, "viewer-inspect")
    page.get_by_role("treeitem", name="text").click()
    page.get_by_role("tab", name="Display").click()
    expect(page.get_by_text("some words")).to_be_visible()


def test_a_file_of_10_gb_is_shown_slice_by_slice(page: Page, address: str) -> None:
    opened(page, address, "sparse.h5")
    page.get_by_role("treeitem", name="cube").click()
    expect(page.get_by_role("tab", name="Heatmap")).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    picture(page, "viewer-sparse")


def test_a_file_of_100_000_datasets(page: Page, address: str) -> None:
    opened(page, address, "many.h5")
    page.get_by_role("treeitem").filter(has_text="0 to 1999: d000000").click()
    page.get_by_role("treeitem", name="d000003", exact=True).click()
    expect(page.get_by_role("tab", name="Scalar")).to_be_visible()
    picture(page, "viewer-many")


def test_files_are_chosen_in_the_page(page: Page, address: str) -> None:
    opened(page, address, "shown.h5")
    page.get_by_label("File").select_option("sparse.h5")
    expect(page.get_by_role("treeitem", name="cube")).to_be_visible()
    assert "sparse.h5" in page.title()
