"""Lines between a client and a server on the loopback: one that a test can hold, cut and restore, and one that speaks TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

LARGEST = 65536


class Valve:
    """Listens on a port of its own and passes everything on to another."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self.target, self.host = target, host
        self.held = threading.Event()  # since `hold_at`, the marker has passed by
        self._marker: bytes | None = None
        self._open = threading.Event()
        self._open.set()
        self._lock, self._lines = threading.Lock(), set[socket.socket]()
        self.port = 0
        self._listening = self._listen()
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
        self._listening = self._listen()
        self._accept_in_background()

    def _listen(self) -> socket.socket:
        return socket.create_server((self.host, self.port), family=socket.AF_INET6 if ":" in self.host else socket.AF_INET)

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
        with suppress(OSError):
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


@contextmanager
def tls_before(target: int, certificate: Path, key: Path) -> Iterator[int]:
    """The port of a proxy that speaks TLS and HTTP/2 with clients and passes on what they say to another port, as it is."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.set_alpn_protocols(["h2"])
    ready, port, ending = threading.Event(), list[int](), list[Callable[[], object]]()

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(LARGEST):
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            further, back = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(passed(reader, back), passed(further, writer))

    async def listen() -> None:
        loop, end = asyncio.get_running_loop(), asyncio.Event()
        ending.append(lambda: loop.call_soon_threadsafe(end.set))
        listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
        port.append(listening.sockets[0].getsockname()[1])
        ready.set()
        await end.wait()
        listening.close()

    thread = threading.Thread(target=lambda: asyncio.run(listen()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield port[0]
    finally:
        ending[0]()
        thread.join()
