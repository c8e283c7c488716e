"""Run the notebooks and store what they show: `python notebooks/refresh.py [NUMBER …]`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))
# Whose kernel ran it, and when, is no part of a notebook.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def execute(notebook: NotebookNode) -> NotebookNode:
    """The notebook with fresh outputs, tidied."""
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": FOLDER}},
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute()
    return tidy(notebook)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Only what a reader needs; a widget gives way to what it shows first."""
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = [
                still for output in cell.outputs for still in _still(output, widgets)
            ]
    return notebook


def _still(output: NotebookNode, widgets: NotebookNode) -> Iterator[NotebookNode]:
    view = output.get("data", {}).get(WIDGET)
    if view is None:
        output.get("metadata", {}).clear()
        yield output
        return
    for child in widgets[view["model_id"]]["state"]["children"]:
        for first in widgets[child.removeprefix("IPY_MODEL_")]["state"].get("outputs", ()):
            yield from _still(nbformat.from_dict(first), widgets)


if __name__ == "__main__":
    for path in NOTEBOOKS:
        if not sys.argv[1:] or path.name[0] in sys.argv[1:]:
            nbformat.write(execute(nbformat.read(path, as_version=4)), path)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
