"""HTTP as uvicorn speaks it with httptools, which takes less time than reading it in Python; but a head has an end."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 2**16  # bytes of a head, about; a client that goes on and on would fill the memory


class Protocol(HttpToolsProtocol):
    """One connection. What is larger than a read of the socket and still not a whole head is refused."""

    _is_in_head = True
    _head = 0  # bytes of it so far

    def on_message_begin(self) -> None:
        """A request begins."""
        self._is_in_head, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._is_in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        super().data_received(data)
        if self._is_in_head and not self.transport.is_closing():
            self._head += len(data)
            if self._head > MOST:
                self.send_400_response(f"The head of a request is larger than {MOST} bytes.")
