"""Run the notebooks and store their outputs: `python notebooks/refresh.py [NUMBER …]`."""

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))
# Kernel and time of the run are not stored.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


class Client(NotebookClient):
    """Notebook client that polls for replies that its event loop has missed.

    While a slider draws its first picture, widget states are sent on the socket that receives
    the reply. A message that arrives meanwhile raises no event, and nbclient would wait for it
    until its timeout.
    """

    async def async_start_new_kernel_client(self) -> Any:
        kernel = await super().async_start_new_kernel_client()
        once = kernel.shell_channel.get_msg

        async def again(timeout: float | None = None) -> Any:
            end = time.monotonic() + (float("inf") if timeout is None else timeout)
            while True:
                try:
                    return await once(timeout=1.0)
                except Empty:
                    if time.monotonic() > end:
                        raise

        kernel.shell_channel.get_msg = again
        return kernel


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook and return it with new, tidied outputs."""
    client = Client(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": FOLDER}},
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute()
    return tidy(notebook)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Remove metadata that readers do not need; replace a widget by its first output."""
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = _joined(
                still for output in cell.outputs for still in _still(output, widgets)
            )
    return notebook


def _joined(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs with consecutive printed text merged."""
    found: list[NotebookNode] = []
    for output in outputs:
        printed = output.output_type == "stream"
        if printed and found and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


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
