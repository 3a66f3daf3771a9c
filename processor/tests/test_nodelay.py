"""What the Frontend's listening socket accepts sends small writes at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from sglang_parity.host.nodelay import send_at_once


def delays(connection: socket.socket) -> bool:
    return not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_accepted_connections_no_longer_delay() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as other:
        assert send_at_once(listener.getsockname()[1]) == 1
        with socket.create_connection(listener.getsockname()) as _client, listener.accept()[0] as accepted:
            assert not delays(accepted)
        assert delays(other)


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert send_at_once(port) == 0


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Else a frontend whose worker comes back some times has none left."""
    reading, writing = os.pipe()
    with (tmp_path / "file").open("wb"), socket.create_server(("127.0.0.1", 0)) as listener:
        before = len(list(Path("/proc/self/fd").iterdir()))
        send_at_once(listener.getsockname()[1])
        after = len(list(Path("/proc/self/fd").iterdir()))
    os.close(reading)
    os.close(writing)
    assert after == before
