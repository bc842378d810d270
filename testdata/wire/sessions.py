"""The sessions of sessions.txt, from firmware/PROTOCOL.md; vectors.py writes them."""

import struct

OK, SEQ, LENGTH, UNKNOWN, VALUE, LOOSER, UNCONFIGURED, DISABLED, FAULTED, BUSY, STOPPED = range(11)
OVERRUN, LIMIT, SPEED, NO_ROOM, UNREFERENCED, STALE, ESTOP, VERSION, NO_HELLO, NOT_BEGUN = range(11, 21)
IDLE, HOLD, LOADED, MOVING, BRAKING, FAULT = range(6)
POWERED, ENABLED, INPUT, REFERENCED, FOUND, ESTOPPED = 1, 2, 4, 8, 16, 32
READY = POWERED | ENABLED | REFERENCED

MAXQ = 2**30 - 1
SERVO = (1, 0, 255, 128000, 640000)
RELAY, LAMP = (16, 0, 255, 0, 1), (17, 0, 255, 0, 255)
SERVOS = [SERVO, SERVO, RELAY, LAMP]
STEPPERS = [(2, 2, 0, -MAXQ, MAXQ), (2, 2, 255, -MAXQ, MAXQ)]

# A joint that the sessions use: 200 units a ms, 2 units a ms² built up in 50 ms.
V, A, RAMP = 51200, 131072, 50


def le(fmt, *values):
    return struct.pack("<" + fmt, *values)


def profile(t):
    """A way of 20,000 units in 300 ms with A and RAMP: q and v at t ms, exactly."""
    if t <= 50:
        return 0.04 * t**3 / 6, 0.02 * t * t
    if t <= 100:
        u = 100 - t
        return 5000 - (100 * u - 0.04 * u**3 / 6), 100 - 0.02 * u * u
    if t <= 200:
        return 5000 + 100 * (t - 100), 100.0
    q, v = profile(300 - t)
    return 20000 - q, v


class Session:
    def __init__(self, name, channels, *why):
        self.lines = ["", *("# " + w for w in why), "session " + name]
        self.lines += ["channel %d %d %d %d %d" % c for c in channels]
        self.lines.append("boot 16909060 256 10")
        self.joints = sum(c[0] < 16 for c in channels)
        self.outputs = len(channels) - self.joints
        self.channels = channels
        self.seq, self.stops, self.reports, self.configured = 0, 0, 0, False
        self.sent, self.silent = None, 0

    def say(self, line, why=""):
        self.lines.append(line + ("  # " + why if why else ""))
        return self

    def send(self, t, payload=b"", why="", seq=None):
        seq = self.seq if seq is None else seq
        self.sent, self.seq, self.silent = (seq, t), (seq + 1) & 0xFF, 0
        return self.say("> %02X %02X %s" % (t, seq, payload.hex().upper() or "-"), why)

    def get(self, t, payload, why=""):
        text = payload if isinstance(payload, str) else payload.hex().upper()
        return self.say("< %02X %s" % (t, text), why)

    def ack(self, code=OK, why=""):
        return self.get(0x84, le("BBBH", *self.sent, code, self.stops), why or CODES[code])

    def hello(self, version=1, seq=None):
        self.send(0x01, b"tau" + le("BI", version, 0x12345678), "HELLO", seq)
        flags = 1 if self.configured else 0
        head = b"tau\1" + le("IIHBB", 0x12345678, 0x01020304, 256, self.joints, self.outputs)
        return self.get(0x81, head.hex().upper() + "????0A%02X" % flags, "HELLO_REPLY")

    def configure(self, channel=0, flags=0, lower=None, upper=None, v=V, a=A, ramp=RAMP, code=OK, why=""):
        c = self.channels[channel] if channel < self.joints else (0, 0, 0, 0, 0)
        lower, upper = c[3] if lower is None else lower, c[4] if upper is None else upper
        self.send(0x03, le("BBiiIIH", channel, flags, lower, upper, v, a, ramp), "CONFIGURE")
        self.configured |= code == OK
        return self.ack(code, why)

    def configure_output(self, output, on_stop, on_lost, off, most, code=OK):
        self.send(0x04, le("BBBHH", output, on_stop, on_lost, off, most), "CONFIGURE_OUTPUT")
        return self.ack(code)

    def report(self, *joints):
        """joints: (known, q) each; q None: any."""
        self.reports += 1
        self.send(0x05, why="REPORT")
        text = le("H", self.reports).hex().upper()
        for known, q in joints:
            text += "%02X" % known + ("????????" if q is None else le("i", q).hex().upper()) + "FFFF"
        return self.get(0x83, text, "POSITIONS")

    def enable(self, *q, report=None, code=OK, why=""):
        self.send(0x06, le("H%di" % len(q), self.reports if report is None else report, *q), "ENABLE")
        return self.ack(code, why)

    def heartbeat(self):
        self.send(0x0E, le("I", 77), "HEARTBEAT")
        return self.get(0x87, le("I", 77).hex().upper() + "????????", "ECHO")

    def begin(self, motion=1, stops=None, seek=255, code=OK, why=""):
        self.send(0x08, le("HHB", motion, self.stops if stops is None else stops, seek), "BEGIN")
        return self.ack(code, why)

    def segment(self, index, ticks, knots, last=False, first=0, code=None, why=""):
        payload = le("BBB", index & 0xFF, ticks, first | (0x80 if last else 0))
        payload += b"".join(le("i", q) + le("i", v)[:3] for q, v in knots)
        self.send(0x09, payload, "SEGMENT")
        return self if code is None else self.ack(code, why)

    def go(self, motion=1, code=OK):
        self.send(0x0A, le("H", motion), "GO")
        return self.ack(code)

    def stop(self, kind=0):
        self.stops += 1
        self.send(0x0B, bytes([kind]), "STOP")
        return self.ack()

    def clear(self, fault, code=OK):
        self.send(0x0C, bytes([fault]), "CLEAR")
        return self.ack(code)

    def disable(self, code=OK):
        self.send(0x07, why="DISABLE")
        return self.ack(code)

    def set(self, output, value, code=OK):
        self.send(0x0D, le("BH", output, value), "OUTPUT")
        return self.ack(code)

    def reference(self, channel, q, code=OK):
        self.send(0x0F, le("Bi", channel, q), "REFERENCE")
        return self.ack(code)

    def tick(self, n, quiet=False):
        """Passes time, with a heartbeat where the watchdog would act unless quiet."""
        while not quiet and self.silent + n > 180:
            part = 180 - self.silent
            n -= part
            if part:
                self.say("tick %d" % part)
            self.heartbeat()
        self.silent += n
        return self.say("tick %d" % n) if n else self

    def until(self, state, most):
        if self.silent + most > 180:
            self.heartbeat()
        assert most <= 180
        return self.say("until %d %d" % (state, most))

    def status(self, state, flags, fault=0, channel=255):
        return self.say("status %d %d %d %d" % (state, flags, fault, channel))

    def ready(self, *q, flags=0):
        """Up to HOLD at q."""
        self.hello()
        for j in range(self.joints):
            self.configure(j, flags)
        servo = self.channels[0][0] == 1
        self.report(*[(0, None if servo else 0)] * self.joints)
        self.enable(*q)
        return self.tick(10)

    def way(self, frm, to, signs=(1, -0.5), step=25, base=384000):
        """The pieces of profile from `frm` to `to` ms, joint j times signs[j]."""
        for t in range(frm + step, to + step, step):
            q, v = profile(t)
            knots = [(base + round(s * q), round(s * v * 256)) for s in signs]
            self.segment(t // step - 1, step, knots, last=t == 300)
        return self

    def running(self, flags=0, until=120, sent=200):
        """Moving for `until` ms along profile, with `sent` ms of it sent."""
        self.ready(384000, 384000, flags=flags).begin()
        return self.way(0, sent).go().tick(until)


CODES = ["OK", "BAD_SEQUENCE", "BAD_LENGTH", "UNKNOWN_TYPE", "BAD_VALUE", "LOOSER", "NOT_CONFIGURED", "NOT_ENABLED",
         "FAULT", "BUSY", "STOPPED", "OVERRUN", "LIMIT", "SPEED", "NO_ROOM", "NOT_REFERENCED", "STALE_REPORT",
         "ESTOP_ACTIVE", "VERSION", "NO_HELLO", "NOT_BEGUN"]


def hello():
    s = Session("hello", SERVOS, "Nothing but HELLO and STOP is listened to before HELLO.")
    s.tick(20).send(0x02, b"\0", "DESCRIBE").ack(NO_HELLO)
    s.send(0x7F, b"", "a type that isn't").ack(NO_HELLO)
    s.stop().hello().tick(10).status(IDLE, REFERENCED).say("power 0").say("stops 1")
    for i, c in enumerate(SERVOS):
        s.send(0x02, bytes([i]), "DESCRIBE").get(0x82, le("BBBBii", i, *c), "CHANNEL")
    s.send(0x02, b"\4", "DESCRIBE").ack(VALUE, "BAD_VALUE: there are 4 channels")
    s.send(0x02, b"", "DESCRIBE").ack(LENGTH)
    s.send(0x7F, b"", "a type that isn't").ack(UNKNOWN)
    s.send(0x81, b"", "the board's own").ack(UNKNOWN)
    s.send(0x01, b"tao\1" + le("I", 1), "HELLO").ack(VALUE)
    s.heartbeat().hello(seq=200).heartbeat()
    yield s
    s = Session("version", SERVOS, "A host of another version is told so, and may stop.")
    s.hello(version=2).send(0x05, why="REPORT").ack(VERSION)
    s.stop().send(0x7F).ack(VERSION).hello().heartbeat()
    yield s
    s = Session("noise", SERVOS, "Noise and half frames cost what they hit.")
    s.say("raw 00FF0102030405FFFF00").say("raw 0201").say("raw 00")
    s.hello().say("raw 0201033E2F00", "a wrong check").say("raw 0102030405")
    s.say("raw 00").heartbeat()
    s.say("raw " + "07" * 300 + "00").heartbeat()
    yield s
    s = Session("sequence at rest", SERVOS, "A gap costs the frame that shows it.")
    s.ready(384000, 384000).send(0x0E, le("I", 1), "HEARTBEAT", seq=100).ack(SEQ)
    s.heartbeat()
    s.send(0x0E, le("I", 1), "HEARTBEAT: the same again", seq=s.seq - 1).ack(SEQ)
    s.heartbeat().tick(10).status(HOLD, READY)
    s.begin().way(0, 50)
    s.send(0x0E, le("I", 1), "HEARTBEAT", seq=7).ack(SEQ, "BAD_SEQUENCE: the motion is forgotten, without a fault")
    s.tick(10).status(HOLD, READY).go(code=NOT_BEGUN)
    yield s


def configure():
    s = Session("configure", SERVOS, "Limits are set once a boot and then only made tighter.")
    s.hello().configure(4, code=VALUE, why="BAD_VALUE: no joint").configure(2, code=VALUE, why="BAD_VALUE: an output")
    s.configure(lower=127999, code=VALUE).configure(upper=640001, code=VALUE).configure(lower=5, upper=4, code=VALUE)
    s.configure(v=0, code=VALUE).configure(v=2**23, a=2**31 - 1, code=VALUE).configure(a=0, code=VALUE)
    s.configure(a=2**31, code=VALUE).configure(v=8001, a=256, code=VALUE).configure(ramp=0, code=VALUE)
    s.configure(ramp=1001, code=VALUE).configure(flags=4, code=VALUE)
    s.configure(lower=200000, upper=600000, flags=1).configure(lower=200000, upper=600000, flags=1)
    for loose in (dict(lower=199999), dict(upper=600001), dict(v=V + 1), dict(a=A + 1), dict(ramp=RAMP + 1),
                  dict(flags=3), dict(flags=0)):
        s.configure(code=LOOSER, **{**dict(lower=200000, upper=600000, flags=1), **loose})
    s.configure(lower=250000, upper=500000, flags=1, v=V - 1, a=A - 1, ramp=RAMP - 1)
    s.configure(lower=200000, upper=600000, flags=1, code=LOOSER)
    s.hello()
    s.configure(lower=200000, upper=600000, flags=1, v=V - 1, a=A - 1, ramp=RAMP - 1, code=LOOSER)
    yield s


def enable():
    s = Session("enable", SERVOS, "Enabling cites a fresh report and moves nothing that is powered.")
    s.hello().report((0, None), (0, None)).enable(384000, 384000, code=UNCONFIGURED)
    s.configure(0, lower=200000).configure(1)
    s.begin(code=DISABLED).send(0x06, le("Hi", 1, 384000), "ENABLE").ack(LENGTH)
    s.enable(384000, 384000, report=7, code=STALE).enable(199999, 384000, code=LIMIT).enable(384000, 640001, code=LIMIT)
    s.report((0, None), (0, None)).enable(384000, 384000, report=1, code=STALE)
    s.tick(2000, quiet=True).enable(384000, 384000, code=STALE)
    s.report((0, None), (0, None)).stop().enable(384000, 384000, code=STALE)
    s.report((0, None), (0, None)).hello().enable(384000, 384000, code=STALE)
    s.say("power 0").report((0, None), (0, None)).tick(1999, quiet=True).enable(384000, 384001).tick(10)
    s.say("power 1").say("setpoint 0 384000 0").say("setpoint 1 384001 0").status(HOLD, READY)
    s.enable(384000, 384001, code=BUSY).configure(0, lower=200000, code=BUSY)
    s.report((1, 384000), (1, 384001)).disable().tick(10).say("power 0").status(IDLE, REFERENCED)
    s.enable(384000, 384001, code=STALE).report((1, 384000), (1, 384001)).enable(500000, 384001)
    s.tick(2).say("power 1").say("setpoint 0 500000 0")
    s.stop(1).tick(20).status(FAULT, POWERED | REFERENCED | ESTOPPED, 2)
    s.report((1, 500000), (1, 384001)).enable(500000, 384001, code=FAULTED).clear(2).tick(10)
    s.status(IDLE, POWERED | REFERENCED)
    s.enable(500000, 384001, code=OK)
    s.disable().report((1, 500000), (1, 384001)).enable(500000, 384001)
    s.stop(1).tick(10).clear(2).report((1, 500000), (1, 384001))
    s.enable(500001, 384001, code=VALUE, why="BAD_VALUE: it is powered, at 500000").enable(500000, 384001)
    yield s


def again():
    s = Session("another host", SERVOS, "HELLO ends what is enabled; the power stays, and so does what is configured.")
    s.ready(384000, 384000).begin().way(0, 50).hello().tick(2).status(IDLE, POWERED | REFERENCED).say("power 1")
    s.go(code=NOT_BEGUN).begin(code=DISABLED).report((1, 384000), (1, 384000)).enable(384000, 384000).tick(2)
    s.status(HOLD, READY).stop(1).tick(2).hello().tick(2).status(FAULT, POWERED | REFERENCED | ESTOPPED, 2)
    yield s


def all_sessions():
    import motions
    for make in (hello, configure, enable, again, *motions.ALL):
        yield from make()


def text():
    return "\n".join(line for s in all_sessions() for line in s.lines) + "\n"
