"""What a test wants to happen, and a record of what did."""

import json
import os
import signal
import sys
import time
from pathlib import Path

SCENARIO = json.loads(Path(os.environ["ANEDSL_FAKE_COREML"]).read_text(encoding="utf-8"))


def enter(stage, **details):
    """Notes the call, writes what the stage writes to stderr, and then does what the scenario has for it."""
    with open(SCENARIO["calls"], "a", encoding="utf-8") as calls:
        calls.write(json.dumps({"stage": stage, "process": os.getpid(), **details}) + "\n")
    sys.stderr.write(SCENARIO["stderr"].get(stage, ""))
    sys.stderr.flush()
    happens = SCENARIO["happens"].get(stage)
    if happens is None:
        return
    if happens == "hang":
        time.sleep(600)
    elif happens == "exit":
        os._exit(7)
    elif happens.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, happens))
    else:
        raise RuntimeError(happens)
