"""Notebooks in a real Jupyter kernel: what cells show, and the examples that are notebooks."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "examples" / "data"
SETUP = f"import hyperslab as hs\nf = hs.open({str(DATA / 'atlantic_profiles.nc')!r})\n%load_ext hyperslab"


def run(*cells: str, folder: pathlib.Path = ROOT) -> list[list[Any]]:
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def test_objects_are_shown_as_html_and_as_text() -> None:
    names = ["f", "f['theta']", "f.table('/theta')", "f.table('/theta', 'theta > 299')", "hs.query(f, '/', 'theta > 280')", "hs.query(f, '/', 'theta > 280').histogram('theta', 9)", "hs.indexes.plan(f, ['/theta'])"]  # fmt: skip
    outputs = run(SETUP, *names)
    for name, (output,) in zip(names, outputs[1:], strict=True):
        assert output["output_type"] == "execute_result", name
        assert "class='hyperslab'" in output["data"]["text/html"] and output["data"]["text/plain"], name


def test_a_plot_is_a_picture() -> None:
    (output,) = run(SETUP, "f['theta'].plot()")[1]
    assert base64.b64decode(output["data"]["image/png"])[:8] == b"\x89PNG\r\n\x1a\n"
    (output,) = run(SETUP, "hs.query(f, '/', 'theta > 280').plot(names='theta')")[1]
    assert base64.b64decode(output["data"]["image/png"])[:8] == b"\x89PNG\r\n\x1a\n"


def test_sql_cells() -> None:
    outputs = run(
        SETUP,
        "%%sql\nselect depth, avg(theta) as mean from theta group by depth order by depth",
        "%%sql f -o warm\nfrom theta where theta > 299",
        "warm.num_rows",
        "%sql f select count(*) as n from theta",
    )
    shown = outputs[1][0]["data"]["text/html"]
    assert "class='hyperslab'" in shown and "and there are more" in shown and ">mean<" in shown
    assert outputs[2] == [] and outputs[3][0]["data"]["text/plain"] == "195"
    assert "1920" in outputs[4][0]["data"]["text/plain"]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="nothing"):
        run(SETUP, "%%sql f\nselect nothing from theta")


def test_progress_is_a_bar_that_goes_away() -> None:
    cell = (
        "import time, hyperslab.base.progress as p\np.PATIENCE_SECONDS = p.INTERVAL_SECONDS = 0\n"
        "with hs.Progress('fuse') as progress:\n    progress(500, 1000)\n    time.sleep(0.3)\n    progress(1000, 1000)\n    {}"
    )
    (output,) = run(SETUP, cell.format("pass"))[1]
    assert output["data"]["text/html"] == ""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (SETUP, cell.format("raise SystemError"))])
    seen: list[str] = []
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    process = client.process_message

    def watch(message: Any, *words: Any) -> Any:
        if message["msg_type"] in ("display_data", "update_display_data"):
            seen.append(message["content"]["data"]["text/html"])
        return process(message, *words)

    client.process_message = watch  # type: ignore[method-assign]
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        client.execute()
    assert "<progress value='0.500'" in seen[0] and "500 bytes of 1 kB" in seen[0] and seen[-1] == ""


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_an_example_is_a_notebook_that_runs(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import shutil

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = nbformat.read(path, as_version=4)
    try:
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path / "examples")}}).execute()
    except nbclient.exceptions.CellExecutionError as error:
        if error.ename == "ModuleNotFoundError":
            pytest.skip(error.evalue)
        raise
