"""Health of a Dynamo worker: it answers, and the frontends can still find it.

A worker that was paused for longer than its discovery record lives (a suspended machine, a migrated VM) stays up, but
Dynamo never writes the record again. Such a worker is ended here, and the restart policy brings it back.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import urllib.request
from pathlib import Path

INSTANCES = Path(os.environ["DYN_FILE_KV"]) / "v1" / "instances"
HEALTH = f"http://127.0.0.1:{os.environ['DYN_SYSTEM_PORT']}/health"
# Registration follows the first 200 by a moment.
SECOND_LOOK_AFTER_S = 5


def registered() -> bool:
    """Whether an instance record carries this container's address."""
    address = f"{socket.gethostbyname(socket.gethostname())}:".encode()
    return any(address in record.read_bytes() for record in INSTANCES.glob("*"))


def main() -> None:
    urllib.request.urlopen(HEALTH, timeout=4)
    if registered():
        return
    time.sleep(SECOND_LOOK_AFTER_S)
    if not registered():
        os.kill(1, signal.SIGTERM)
        sys.exit("the discovery record is gone: restarting")


if __name__ == "__main__":
    main()
