"""A visitor without a browser: a session over Streamlit's websocket, which uses protocol buffers."""

import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

LONGEST_ANSWER = 64 * 2**20  # bytes of one message
DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class Visitor:
    """One session: `open` a page, `choose` a widget's value, and look at what the server answered.

    `connection` are options of websockets' `connect`, such as `origin` and `additional_headers`.

    `seconds` is how long the last answer took, from the request to the message that the script has finished;
    `elements` are the elements of the page by their place, as a browser would hold them.
    """

    def __init__(self, address: str, **connection: Any) -> None:
        self.address = address.replace("http", "ws", 1) + "/_stcore/stream"
        self._connection = {"subprotocols": ["streamlit"], "max_size": LONGEST_ANSWER} | connection
        self.seconds = 0.0
        self.elements: dict[tuple[int, ...], Any] = {}
        self._pages: dict[str, str] = {}
        self._page = self._query = ""

    async def __aenter__(self) -> Self:
        self._socket = await connect(self.address, **self._connection)
        return self

    async def __aexit__(self, kind: type | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        await self._socket.close()

    async def open(self, page: str, **query: Any) -> None:
        """Go to a page: the first time by its address, later as a click in the menu does."""
        self.elements.clear()
        self._page, self._query = page, urlencode(query)
        await self._run(())

    async def choose(self, **values: Any) -> None:
        """Set widgets, found by their keys, as a browser does."""
        await self._run([self._state(key, value) for key, value in values.items()])

    def texts(self, kind: str) -> list[str]:
        """Texts of all elements of a kind: `code`, `markdown`, `heading`, `alert`, …"""
        return [getattr(one, "body", "") or getattr(one, "code_text", "") for one in self.all(kind)]

    def all(self, kind: str) -> list[Any]:
        """All elements of a kind on the page."""
        return [getattr(e, kind) for _, e in sorted(self.elements.items()) if e.WhichOneof("type") == kind]

    def player(self) -> Mapping[str, Any]:
        """The header of the run in the player."""
        packed = self.all("bidi_component")[0].bytes
        return json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])

    def _state(self, key: str, value: Any) -> WidgetState:
        known = [getattr(e, e.WhichOneof("type")) for e in self.elements.values() if e.WhichOneof("type")]
        found = next(e.id for e in known if getattr(e, "id", "").endswith(f"-{key}"))
        if isinstance(value, dict):
            return WidgetState(id=found, json_value=json.dumps(value))
        if isinstance(value, bool):
            return WidgetState(id=found, bool_value=value)
        if isinstance(value, str):
            return WidgetState(id=found, string_value=value)
        state = WidgetState(id=found)
        state.double_array_value.data.append(value)
        return state

    async def _run(self, states: Any) -> None:
        ask = BackMsg()
        ask.rerun_script.query_string = self._query
        ask.rerun_script.page_script_hash = self._pages.get(self._page, "")
        ask.rerun_script.page_name = "" if self._page in self._pages else self._page
        ask.rerun_script.widget_states.widgets.extend(states)
        began = time.perf_counter()
        await self._socket.send(ask.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(await self._socket.recv())  # type: ignore[arg-type]
            kind = answer.WhichOneof("type")
            if kind == "delta" and answer.delta.WhichOneof("type") == "new_element":
                self.elements[tuple(answer.metadata.delta_path)] = answer.delta.new_element
            elif kind == "navigation":
                self._pages = {page.url_pathname: page.page_script_hash for page in answer.navigation.app_pages}
            elif kind == "page_info_changed":
                self._query = answer.page_info_changed.query_string
            elif kind == "script_finished" and answer.script_finished in DONE:
                break
        self.seconds = time.perf_counter() - began
