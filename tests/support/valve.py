"""A line between a client and a server on the loopback that a test can hold, cut and restore: faults without a restart."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType

LARGEST = 65536


class Valve:
    """Listens on a port of its own and passes everything on to another; with `tls`, clients speak TLS to it."""

    def __init__(self, target: int, tls: ssl.SSLContext | None = None) -> None:
        self.target, self.tls = target, tls
        self.held = threading.Event()  # since `hold_at`, the marker has passed by
        self._marker: bytes | None = None
        self._open = threading.Event()
        self._open.set()
        self._lock, self._lines = threading.Lock(), set[socket.socket]()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._accept_in_background()

    def hold_at(self, marker: bytes) -> None:
        """From the next chunk of a client with the marker on, nothing passes."""
        self.held.clear()
        self._marker = marker

    def release(self) -> None:
        """Everything passes again."""
        self._marker = None
        self._open.set()

    def cut(self) -> None:
        """Nobody listens any more, and every connection ends."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # closed alone, it would go on while a thread accepts
        self._listening.close()
        with self._lock:
            for line in self._lines:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            self._lines.clear()
        self.release()

    def restore(self) -> None:
        """Listens again on the same port."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._accept_in_background()

    def __enter__(self) -> Valve:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.cut()

    def _accept_in_background(self) -> None:
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError):  # also a handshake that fails
            if self.tls is not None:
                client = self.tls.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.target))
            with self._lock:
                self._lines |= {client, server}
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()
            self._pump(client, server, True)

    def _pump(self, source: socket.socket, sink: socket.socket, of_client: bool) -> None:
        with suppress(OSError), source, sink:
            while chunk := source.recv(LARGEST):
                if of_client and self._marker is not None and self._marker in chunk:
                    self._open.clear()
                    self.held.set()
                self._open.wait()
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_RDWR)
