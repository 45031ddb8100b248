"""The viewer in a real browser: clicks through H5Web. Pictures go to the folder of HYPERSLAB_PICTURES, to be looked at."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect, sync_playwright

PYTHON = os.environ["HYPERSLAB_PYTHON"]
HERE = pathlib.Path(__file__).parent
expect.set_options(timeout=60_000)
CHROMIUM = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("shown")
    subprocess.run([PYTHON, HERE / "make_files.py", folder], check=True)
    return folder


def started(*places: pathlib.Path) -> tuple[subprocess.Popen[str], str]:
    """A server, and its address."""
    server = subprocess.Popen(
        [PYTHON, "-m", "hyperslab", "view", "--no-browser", *places], stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert server.stdout is not None
    return server, server.stdout.readline().split()[0]


@pytest.fixture(scope="session")
def address(folder: pathlib.Path) -> Iterator[str]:
    server, address = started(folder)
    yield address
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


@pytest.fixture
def dark(pages: object) -> Iterator[Page]:
    page = pages.new_page(viewport={"width": 1300, "height": 800}, color_scheme="dark")  # type: ignore[attr-defined]
    page.set_default_timeout(60_000)
    yield page
    page.close()


def picture(page: Page, name: str) -> None:
    if kept := os.environ.get("HYPERSLAB_PICTURES"):
        page.wait_for_timeout(1500)
        page.screenshot(path=pathlib.Path(kept) / f"{name}.png")


def opened(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}#{name}")
    expect(page.locator("[role=treeitem]").first).to_be_attached()


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
    expect(page.get_by_text("0.019999").first).to_be_visible()
    page.get_by_role("treeitem", name="table").click()
    expect(page.get_by_text("value").first).to_be_visible()
    picture(page, "viewer-table")
    # A number that is cut would be another one.
    page.get_by_role("treeitem", name="long").click()
    cell = page.get_by_text("1704067202000000000")
    expect(cell).to_be_visible()
    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
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


def test_a_long_line_is_thinned_out_and_its_spike_is_seen(page: Page, address: str) -> None:
    opened(page, address, "long.h5")
    page.get_by_role("treeitem", name="signal").click()
    # H5Web cannot draw so many values: the overview opens by itself, and H5Web says why.
    overview = page.get_by_role("complementary", name="Overview")
    expect(overview.get_by_text("10,000,000 values, thinned out: each pixel has the minimum and maximum of 10000 values")).to_be_visible()
    expect(page.get_by_text("these are 10,000,000 values").filter(visible=True).first).to_be_visible()
    # The axis reaches to the one sample that stands out.
    expect(overview.get_by_text("100", exact=True).first).to_be_visible()
    picture(page, "viewer-overview")
    overview.get_by_label("Selection").fill("7654300:7654340")
    overview.get_by_role("button", name="Show").click()
    expect(overview.get_by_text("All 40 values are drawn one by one.")).to_be_visible()
    with page.expect_request("**/data?**") as asked:
        overview.get_by_role("link", name="JSON").evaluate("link => fetch(link.href)")
    assert "selection=7654300%3A7654340" in asked.value.url
    picture(page, "viewer-overview-exact")
    overview.get_by_role("button", name="Zoom out").click()
    expect(overview.get_by_text("All 120 values are drawn one by one.")).to_be_visible()


def test_dragging_over_a_part_shows_it_in_more_detail(page: Page, address: str) -> None:
    opened(page, address, "long.h5")
    page.get_by_role("treeitem", name="wide").click()
    overview = page.get_by_role("complementary", name="Overview")
    expect(overview.get_by_text("10,000,000 values, thinned out: each pixel has the minimum and maximum of")).to_be_visible()
    canvas = overview.locator("canvas").first
    expect(canvas).to_be_visible()
    page.wait_for_timeout(1500)
    picture(page, "viewer-overview-image")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6, steps=5)
    page.mouse.up()
    expect(overview.get_by_text("10,000,000 values")).to_be_hidden()
    expect(overview.get_by_label("Selection")).not_to_have_value("0:4000,0:2500")
    rows, columns = (tuple(map(int, part.split(":"))) for part in overview.get_by_label("Selection").input_value().split(","))
    assert 1000 < rows[0] < rows[1] < 3000 and 600 < columns[0] < columns[1] < 1900, (rows, columns)
    assert rows[1] - rows[0] < 1500 and columns[1] - columns[0] < 1000, (rows, columns)


def test_a_histogram_comes_from_the_index(page: Page, address: str) -> None:
    opened(page, address, "long.h5")
    page.get_by_role("treeitem", name="signal").click()
    page.get_by_role("button", name="Histogram").click()
    panel = page.get_by_role("complementary", name="Histogram")
    expect(panel.get_by_text("From index X on signal; no values were read.")).to_be_visible()
    panel.get_by_label("Range").fill("-4,4")
    panel.get_by_role("button", name="Count").click()
    expect(panel.get_by_text("-4.0000", exact=True)).to_be_visible()
    picture(page, "viewer-histogram")
    page.get_by_role("treeitem", name="wide").click()
    expect(panel.get_by_text("All values were read.")).to_be_visible()


def test_conditions_and_sql_find_the_spike(page: Page, address: str) -> None:
    opened(page, address, "long.h5")
    page.get_by_role("treeitem", name="signal").click()
    page.keyboard.press("c")
    panel = page.get_by_role("complementary", name="Condition")
    panel.get_by_label("Where").fill("signal > 50")
    panel.get_by_label("Where").press("Enter")
    expect(panel.get_by_text("1 rows match")).to_be_visible()
    expect(panel.get_by_role("cell", name="7654321")).to_be_visible()
    picture(page, "viewer-condition")
    panel.get_by_label("Where").fill("nothing > 50")
    panel.get_by_label("Where").press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("nothing")
    panel.get_by_label("Where").press("Escape")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("s")
    panel = page.get_by_role("complementary", name="SQL")
    box = panel.get_by_role("textbox", name="SQL")
    expect(box).to_have_value('select * from "signal" limit 100')
    box.fill("select dim_0, signal from signal order by signal desc limit 3")
    box.press("Control+Enter")
    expect(panel.get_by_role("cell", name="7654321")).to_be_visible()
    expect(panel.get_by_text("3 rows")).to_be_visible()
    picture(page, "viewer-sql")
    box.fill("select count(*) from range(1000000000000) a")
    box.press("Control+Enter")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("button", name="Cancel")).to_be_hidden()
    box.fill("select * from read_text('/etc/passwd')")
    box.press("Control+Enter")
    expect(panel.get_by_role("alert")).to_contain_text("read_text is not available")


def test_damaged_chunks_are_gaps_and_fields_are_chosen(page: Page, address: str) -> None:
    opened(page, address, "damaged.h5")
    page.get_by_role("treeitem", name="wave").click()
    # H5Web draws nothing of a damaged dataset: the overview opens by itself.
    expect(page.get_by_text("the compressed bytes are damaged").filter(visible=True).first).to_be_visible()
    overview = page.get_by_role("complementary", name="Overview")
    expect(overview.get_by_text("A part is missing: deflate (filter 0)")).to_be_visible()
    expect(overview.locator("canvas").first).to_be_visible()
    picture(page, "viewer-damaged")
    page.get_by_role("treeitem", name="hits").click()
    overview.get_by_label("Field").select_option("energy")
    expect(overview.get_by_text("energy").filter(visible=True).last).to_be_visible()
    expect(overview.get_by_text("A part is missing")).to_be_hidden()
    page.get_by_role("button", name="Histogram").click()
    panel = page.get_by_role("complementary", name="Histogram")
    panel.get_by_label("Field").select_option("energy")
    expect(panel.get_by_role("img", name="Histogram of energy")).to_be_visible()
    page.get_by_role("treeitem", name="lost").click()
    expect(page.get_by_role("alert").first).to_contain_text("expected an object header of version 1 or 2")


def test_a_file_that_is_replaced_vanishes_and_comes_back(page: Page, address: str, folder: pathlib.Path) -> None:
    live = folder / "live.h5"

    def write(name: str) -> None:
        code = "import h5py, os, sys; f = h5py.File(sys.argv[1] + '~', 'w'); f[sys.argv[2]] = 1; f.close(); os.replace(sys.argv[1] + '~', sys.argv[1])"
        subprocess.run([PYTHON, "-c", code, live, name], check=True)

    write("first")
    opened(page, address, "live.h5")
    expect(page.get_by_role("treeitem", name="first")).to_be_visible()
    write("second")
    page.keyboard.press("r")
    expect(page.get_by_role("treeitem", name="second")).to_be_visible()
    live.unlink()
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_text("no file 'live.h5' is shown here").last).to_be_visible()
    assert page.get_by_label("File").input_value() == "live.h5"
    live.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    page.keyboard.press("r")
    expect(page.get_by_text("offsets or lengths of 0 bytes")).to_be_visible()
    write("third")
    page.keyboard.press("r")
    expect(page.get_by_role("treeitem", name="third")).to_be_visible()
    live.unlink()


def test_a_server_that_has_ended_is_named(pages: object, folder: pathlib.Path) -> None:
    server, address = started(folder / "shown.h5")
    page = pages.new_page()  # type: ignore[attr-defined]
    try:
        opened(page, address, "shown.h5")
        server.send_signal(signal.SIGINT)  # the page is open: Ctrl-C does not wait for it
        assert server.wait(20) == 130
        page.get_by_role("treeitem", name="signal").click()
        page.keyboard.press("h")
        expect(page.get_by_role("complementary", name="Histogram").get_by_role("alert")).to_have_text("the server does not answer: does it still run?")
    finally:
        page.close()
        server.kill()


def test_narrow_windows_keep_the_tree_and_what_is_selected(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1100, "height": 800})
    opened(page, address, "shown.h5")
    page.get_by_role("treeitem", name="signal").click()
    page.keyboard.press("o")
    expect(page.get_by_role("complementary", name="Overview").get_by_text("All 1,000 values are drawn one by one.")).to_be_visible()
    expect(page.get_by_role("treeitem", name="signal")).to_be_visible()
    picture(page, "viewer-1100")
    # The key also works if the tree is hidden, and shows it again.
    page.get_by_role("button", name="Toggle sidebar").click()
    expect(page.get_by_role("treeitem", name="signal")).to_be_hidden()
    page.keyboard.press("h")
    expect(page.get_by_role("complementary", name="Histogram").get_by_role("img", name="Histogram of signal")).to_be_visible()
    page.keyboard.press("t")
    expect(page.get_by_role("treeitem", name="signal")).to_be_focused()


def box(found: Locator) -> FloatRect:
    measured = found.bounding_box()
    assert measured is not None
    return measured


def test_a_phone_shows_the_picture_first_and_the_tree_on_demand(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    opened(page, address, "packed.nc")
    canvas = page.locator(".picture-of canvas").first
    expect(canvas).to_be_visible()
    drawn = box(canvas)
    assert drawn["width"] > 250 and drawn["height"] > 100 and drawn["y"] + drawn["height"] < 800
    # The page's buttons stand in two rows, those of the picture in one, and nothing is wider than the window.
    assert box(page.locator("header"))["height"] < 80 and box(page.get_by_role("tablist", name="Visualization"))["height"] < 60
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    t, mean = page.get_by_role("treeitem", name="t", exact=True), page.get_by_role("treeitem", name="mean")
    expect(mean).to_be_hidden()
    page.get_by_role("button", name="Tree").click()
    expect(mean).to_be_visible()
    assert box(mean)["width"] > 250
    picture(page, "viewer-420-tree")
    mean.click()
    expect(mean).to_be_hidden()
    expect(page.get_by_text("2020-01-06")).to_be_visible()
    picture(page, "viewer-420")
    page.keyboard.press("t")
    expect(t).to_be_visible()
    t.click()
    expect(t).to_be_hidden()
    # A panel is below the picture, which keeps its size.
    page.get_by_role("button", name="Histogram").click()
    panel = page.get_by_role("complementary", name="Histogram")
    expect(panel.get_by_role("img", name="Histogram of air temperature [K]")).to_be_visible()
    assert box(panel)["width"] > 400 and box(canvas)["width"] == drawn["width"]


def test_the_first_file_is_opened_at_its_default_plot_with_decoded_values(pages: object, folder: pathlib.Path) -> None:
    server, address = started(folder / "packed.nc", folder / "fields.h5")
    page = pages.new_page(viewport={"width": 1400, "height": 800})  # type: ignore[attr-defined]
    try:
        page.goto(address)
        expect(page.get_by_label("File")).to_have_value("packed.nc")
        expect(page.get_by_role("treeitem", name="t", exact=True)).to_have_attribute("aria-selected", "true")
        bar = page.get_by_role("group", name="Values")
        expect(bar).to_contain_text("air temperature [K]")
        expect(bar).to_contain_text("decoded values")
        expect(bar).to_contain_text("stored as int16, _FillValue -32767, scale_factor 0.002, add_offset 250.0")
        # 240 K is at the north, where values are missing in a corner only.
        colors = page.get_by_role("img", name="Colors from")
        expect(colors).to_have_attribute("aria-label", "Colors from 240 to 290")
        upright = page.locator("svg[data-type=ordinate]")
        assert box(upright.get_by_text("50", exact=True))["y"] < box(upright.get_by_text("−50", exact=True))["y"]
        expect(upright).to_contain_text("latitude [degrees_north]")
        expect(page.locator("svg[data-type=abscissa]")).to_contain_text("longitude [degrees_east]")
        picture(page, "viewer-packed")
        place = page.get_by_label("Index of time")
        with page.expect_request("**/data?**") as asked:
            place.fill("4")
        assert "selection=4%2C%3A%2C%3A" in asked.value.url and "values=decoded" in asked.value.url
        expect(page.get_by_role("group", name="Dimensions")).to_contain_text("2020-01-03")
        with page.expect_request("**/data?**") as asked:
            bar.get_by_label("stored values").check()
        assert "values=stored" in asked.value.url
        expect(bar).to_contain_text("stored values, not decoded")
        expect(page.get_by_role("treeitem", name="t", exact=True)).to_have_attribute("aria-selected", "true")
        expect(colors).to_have_attribute("aria-label", "Colors from −32767 to 20000")
        picture(page, "viewer-stored")
    finally:
        page.close()
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 130


def test_lines_have_dates_and_gaps_and_flags_have_names(page: Page, address: str) -> None:
    opened(page, address, "packed.nc")
    page.get_by_role("treeitem", name="mean").click()
    across = page.locator("svg[data-type=abscissa]")
    expect(across).to_contain_text("2020-01-11")
    expect(across).to_contain_text("time")
    expect(page.locator("svg[data-type=ordinate]")).to_contain_text("mean [K]")
    picture(page, "viewer-dates")
    page.get_by_role("treeitem", name="quality").click()
    expect(page.get_by_role("list", name="Names of values").get_by_role("listitem")).to_have_text(["good", "suspect", "bad"])
    picture(page, "viewer-flags")
    page.get_by_role("tab", name="Matrix").click()
    expect(page.get_by_text("good", exact=True).filter(visible=True).first).to_be_visible()
    page.get_by_role("treeitem", name="time").click()
    expect(page.get_by_text("2020-01-01T12:00:00")).to_be_visible()


def test_a_swath_is_drawn_on_its_coordinates(page: Page, address: str) -> None:
    opened(page, address, "swath.nc")
    panel = page.get_by_role("complementary", name="Pictures")
    expect(panel.get_by_role("img", name="brightness temperature [K] (bt)")).to_be_visible()
    picture(page, "viewer-swath")
    page.get_by_role("treeitem", name="lat", exact=True).click()
    expect(panel).to_be_hidden()
    page.keyboard.press("s")
    panel = page.get_by_role("complementary", name="SQL")
    panel.get_by_role("group", name="Tables of data models").get_by_role("button", name="y_x").click()
    expect(panel.get_by_role("textbox", name="SQL")).to_have_value('select * from "y_x" limit 100')
    panel.get_by_role("button", name="Run").click()
    expect(panel.get_by_text("100 rows")).to_be_visible()
    expect(panel.locator("th")).to_have_text(["y", "x", "lat", "lon", "bt"])


def test_maps_have_their_coordinates(page: Page, address: str) -> None:
    opened(page, address, "map.nc")
    page.keyboard.press("p")
    panel = page.get_by_role("complementary", name="Pictures")
    expect(panel.get_by_role("img", name="temperature [K] (t2m)")).to_be_visible()
    picture(page, "viewer-pictures")
    page.get_by_role("treeitem", name="t2m").click()
    page.keyboard.press("p")
    names = page.get_by_role("list", name="Dimensions of /t2m").get_by_role("listitem")
    expect(names).to_have_text(["lat [degrees_north]: 33 values, -80 to 80", "lon [degrees_east]: 36 values, 0 to 350"])
    picture(page, "viewer-dimensions")
    page.keyboard.press("o")
    overview = page.get_by_role("complementary", name="Overview")
    expect(overview.get_by_text("lat [degrees_north]").first).to_be_visible()
    expect(overview.get_by_text("lon [degrees_east]").first).to_be_visible()


def test_fields_of_simulations_are_drawn_at_a_step_and_a_plane(page: Page, address: str) -> None:
    opened(page, address, "fields.h5")
    page.keyboard.press("p")
    panel = page.get_by_role("complementary", name="Pictures")
    expect(panel.get_by_role("img", name="E_0: j over i")).to_be_visible()
    expect(panel.get_by_label("Index (0 to 39)")).to_have_value("20")
    with page.expect_request("**/picture?**") as asked:
        panel.get_by_label("Index (0 to 2)").fill("2")
    assert "index=2%2C20" in asked.value.url
    picture(page, "viewer-h5block")
    page.get_by_label("File").select_option("laser.h5")
    expect(panel.get_by_role("img", name="E_x: y over x")).to_be_visible()
    panel.get_by_role("combobox").select_option("openpmd:cells_E/E_y")
    expect(panel.get_by_role("img", name="E_y: y over x")).to_be_visible()
    picture(page, "viewer-openpmd")


def test_keys_are_listed_and_the_page_is_dark_if_wanted(dark: Page, address: str) -> None:
    opened(dark, address, "map.nc")
    dark.keyboard.press("?")
    expect(dark.get_by_role("complementary", name="?").get_by_text("choose a file")).to_be_visible()
    dark.get_by_role("treeitem", name="t2m").click()
    dark.keyboard.press("o")
    expect(dark.get_by_role("complementary", name="Overview").locator("canvas").first).to_be_visible()
    dark.keyboard.press("f")
    assert dark.evaluate("document.activeElement.tagName") == "SELECT"
    dark.keyboard.press("Escape")
    dark.keyboard.press("t")
    assert dark.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
    # H5Web inverts itself, once.
    filters = dark.evaluate(
        "[...document.querySelectorAll('#root, .h5web, .h5web > *')].map(one => getComputedStyle(one).filter).filter(one => one !== 'none')"
    )
    assert filters == ["invert(1)"]
    assert dark.evaluate("getComputedStyle(document.querySelector('#root')).backgroundColor") == "rgb(20, 23, 26)"
    picture(dark, "viewer-dark")
