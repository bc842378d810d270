"""What both scripts need of a port: how long the SDK waits, and results as JSON."""

import json
import sys
import time

PATIENCE_MS = 60_000


class Results:
    """Collects what each step gave; print() writes it as one JSON object."""

    def __init__(self):
        self.steps = {}

    def add(self, name, value):
        self.steps.setdefault(name, []).append(value)

    def print(self):
        json.dump(self.steps, sys.stdout)
        sys.stdout.write("\n")


def be_patient(port):
    """Makes the SDK wait for an answer that has to come, whatever the machine is doing."""
    brief = type(port).setPacketTimeout
    port.setPacketTimeout = lambda length: port.setPacketTimeoutMillis(PATIENCE_MS)
    return lambda: setattr(port, "setPacketTimeout", lambda length: brief(port, length))


def until(done, seconds=60):
    """Calls done until it returns something true, and returns that; None when time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = done()
        if value:
            return value
    return None
