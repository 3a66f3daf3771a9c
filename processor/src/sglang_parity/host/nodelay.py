"""Small writes go out at once.

Dynamo's HTTP server leaves Nagle's algorithm on. A stream's first chunk, the role, then goes out alone, and the first
token waits until the client's kernel acknowledges it, 40 ms where acknowledgements are delayed. SGLang's server has it
off.
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path


def send_at_once(port: int) -> int:
    """Sets TCP_NODELAY on this process's sockets that listen on ``port``; what they accept inherits it (Linux).

    Returns:
        How many sockets there were.
    """
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        number = int(descriptor.name)
        if not _is_socket(number):
            continue
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as duplicate:
            listens = duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if listens and duplicate.family in (socket.AF_INET, socket.AF_INET6) and duplicate.getsockname()[1] == port:
                duplicate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found += 1
    return found


def _is_socket(descriptor: int) -> bool:
    """``socket.socket`` would refuse any other, and leave the duplicate open."""
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:  # closed since it was listed
        return False
