"""A process that does not outlive the one that started it."""

from __future__ import annotations

import os
import threading
import time


def follow_parent(parent: int, interval: float = 0.5) -> None:
    """Ends this process soon after its parent: nobody would read its reply, and what it occupies stays occupied."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(interval)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
