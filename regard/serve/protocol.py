"""HTTP as uvicorn speaks it with httptools, which takes less time than reading it in Python; but a head has an end."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 2**16  # bytes, about; a client that goes on and on with a head, or after a body, would fill the memory


class Protocol(HttpToolsProtocol):
    """One connection."""

    _unread = 0  # bytes that came since a head was whole or something of a body was there

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._unread = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Something of a body is there."""
        self._unread = 0
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MOST and not self.transport.is_closing():
            self.send_400_response(f"More than {MOST} bytes of a request are neither a whole head nor a body.")
