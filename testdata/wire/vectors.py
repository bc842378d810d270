"""Writes the vectors beside it, from firmware/PROTOCOL.md and nothing else."""

import math
import struct
import sys

sys.dont_write_bytecode = True


def crc(data):
    c = 0xFFFF
    for b in data:
        c ^= b << 8
        for _ in range(8):
            c = ((c << 1) ^ 0x1021 if c & 0x8000 else c << 1) & 0xFFFF
    return c


def cobs(body):
    """Blocks between zeros, each behind its length plus one (Cheshire and Baker)."""
    return b"".join(bytes([len(block) + 1]) + block for block in body.split(b"\0"))


def body(t, seq, payload=b""):
    head = bytes([t, seq & 0xFF]) + payload
    return head + struct.pack("<H", crc(head))


def coded(b):
    return cobs(b) + b"\0"


def hx(b):
    return b.hex().upper() or "-"


def i24(v):
    return struct.pack("<i", v)[:3]


HEAD = "# %s\n# From firmware/PROTOCOL.md by vectors.py; README.md has the format.\n"


# frames.txt

def frames():
    out = [HEAD % "Frames: bodies as they go over the wire, and what is dropped."]
    out.append("# CRC-16/CCITT-FALSE of \"123456789\" is %04X; the check sequence as a frame of type 31:" % crc(b"123456789"))
    good = [body(0x31, 0x32, b"3456789"), body(1, 0), body(0, 0), body(0xFF, 0xFF)]
    assert crc(b"123456789") == 0x29B1 and coded(good[1]).hex() == "020103" + "3e2e00"
    good += [body(0x0B, 7, b"\0"), body(0x0B, 7, b"\1"), body(0x0E, 9, bytes(4)), body(0x85, 1, bytes(52))]
    good += [body(0x55, 3, bytes(range(1, 65))), body(0x55, 3, bytes(64)), body(0x55, 3, b"\xFF" * 64)]
    for b in good:
        out.append("frame %s %s" % (hx(b), hx(coded(b))))
    ok = body(0x0B, 7, b"\1")
    w = coded(ok)
    out.append("\n# Noise before a frame ends with a zero; empty frames are nothing.")
    for n in (b"\0", b"\0\0\0", b"\xFF\0", b"\1\0", b"\5\1\2\0", bytes(range(1, 256)) + b"\0", b"\7" * 300 + b"\0",
              coded(body(1, 0))[:-2] + b"\0", cobs(body(1, 0))[:-1] + b"\x2F\0"):
        out.append("noise %s %s" % (hx(ok), hx(n + w)))
    out.append("\n# Dropped.")
    for reason, n in (("short", cobs(b"") + b"\0"), ("short", cobs(b"\1") + b"\0"), ("short", cobs(b"\1\2\3") + b"\0"),
                      ("short", cobs(bytes(3)) + b"\0"), ("coding", b"\2\0"), ("coding", b"\xFF\1\2\3\4\0"),
                      ("coding", coded(ok)[:-2] + b"\0"), ("coding", b"\6\1\2\3\4\0"),
                      ("check", cobs(ok[:-1] + bytes([ok[-1] ^ 1])) + b"\0"), ("check", cobs(ok[:-2] + ok[-1:] + ok[-2:-1]) + b"\0"),
                      ("check", cobs(bytes([ok[0] ^ 0x80]) + ok[1:]) + b"\0"), ("check", cobs(bytes(4)) + b"\0"),
                      ("check", cobs(b"\xFF" * 4) + b"\0"),
                      ("long", coded(body(0x55, 3, bytes(range(1, 66))))), ("long", coded(body(0x55, 3, bytes(65)))),
                      ("long", b"\1" * 70 + b"\0")):
        out.append("drop %s %s" % (reason, hx(n)))
    return "\n".join(out) + "\n"


# pieces.txt

def piece(q0, v0, q1, v1, T):
    d0, d1, D = v0 * T >> 8, v1 * T >> 8, q1 - q0
    c2, c3 = 3 * D - 2 * d0 - d1, d0 + d1 - 2 * D
    q = []
    for t in range(1, T):
        u = t * 65536 // T
        q.append(q0 + (u * (d0 + (u * (c2 + (u * c3 >> 16)) >> 16)) >> 16))
    return q + [q1]


def accel(q0, v0, q1, v1, T, t):
    """Velocity and acceleration of a piece's cubic at tick t, 1/256 and 1/65536 units."""
    d0, d1, D = v0 * T / 256, v1 * T / 256, q1 - q0
    c2, c3, s = 3 * D - 2 * d0 - d1, d0 + d1 - 2 * D, t / T
    return (d0 + 2 * c2 * s + 3 * c3 * s * s) / T * 256, (2 * c2 + 6 * c3 * s) / T / T * 65536


SAMPLES = [
    ("rest", (0, 0, 0, 0, 1)), ("one tick", (0, 0, 1, 0, 1)), ("one tick back", (5, 0, -5, 0, 1)),
    ("2 ticks, by hand: u = 32768, c2 = 300, c3 = -200; -200 halves to -100, 200 to 100, 100 to 50", (0, 0, 100, 0, 2)),
    ("4 ticks, by hand: u = 16384, 32768, 49152 give 10, 32, 54 of 64", (0, 0, 64, 0, 4)),
    ("the same downwards: floors are towards minus infinity", (0, 0, -64, 0, 4)),
    ("steady", (384000, 25600, 384000 + 2000, 25600, 20)), ("steady back", (384000, -25600, 384000 - 2000, -25600, 20)),
    ("a velocity that isn't whole", (384000, 333, 384026, 333, 20)),
    ("speeding up", (384000, 0, 384500, 25600, 10)), ("slowing down", (384500, 25600, 385000, 0, 10)),
    ("turning round", (0, 2560, 0, -2560, 16)), ("u isn't a whole fraction", (1000, 100, 1100, 7000, 7)),
    ("3 ticks", (-7, -300, 12, 900, 3)), ("the longest", (128000, 0, 134400, 12800, 100)),
    ("as fast as it goes", (-(2**30 - 1), 2**23 - 1, -(2**30 - 1) + 3686400, 2**23 - 1, 100)),
    ("as fast, back", (2**30 - 1, -(2**23 - 1), 2**30 - 1 - 3686400, -(2**23 - 1), 100)),
    ("against its velocities", (0, -(2**23 - 1), 3600000, -(2**23 - 1), 100)),
]


def pieces():
    out = [HEAD % "Pieces: Q0 V0 Q1 V1 T, then the position at each tick."]
    for why, p in SAMPLES:
        out.append("# " + why)
        out.append("piece %s  %s" % (" ".join(map(str, p)), " ".join(map(str, piece(*p)))))
    assert piece(0, 0, 100, 0, 2) == [50, 100] and piece(0, 0, 64, 0, 4) == [10, 32, 54, 64]
    return "\n".join(out) + "\n"


# brakes.txt

def brake(joints):
    """joints: (q, v, a, A, ramp) in the wire's units. Returns (Ra, C, Rb) and (q1, q2, q3) of each."""
    js = [(q, v / 256, max(-A, min(A, a)) / 65536, A / 65536) for q, v, a, A, _ in joints]
    lead = max(range(len(js)), key=lambda j: abs(js[j][1]) / js[j][3])
    _, v, a, A = js[lead]
    r = joints[lead][4]
    if v:
        r = max([r] + [joints[j][4] * (abs(js[j][1]) / js[j][3]) / (abs(v) / A) for j in range(len(js))])
    x, beta = abs(v) * r / A, abs(a) * r / A * (-1 if a * v < 0 else 1)
    rho = min(r, max(math.sqrt(x + beta * beta / 2), -beta))
    Ra, Rb = max(1, math.floor(rho + beta)), max(1, math.floor(rho))
    C = max(0, math.ceil(max(abs(v + a * Ra / 2) / A for _, v, a, A in js) - (Ra + Rb) / 2))
    ends = []
    for q, v, a, _ in js:
        p = (v + a * Ra / 2) / (Ra / 2 + C + Rb / 2)
        v1 = v + (a - p) * Ra / 2
        v2 = v1 - p * C
        q1 = q + v * Ra + a * Ra * Ra / 3 - p * Ra * Ra / 6
        q2 = q1 + v1 * C - p * C * C / 2
        ends.append((q1, q2, q2 + v2 * Rb - p * Rb * Rb / 3))
    return (Ra, C, Rb), ends


def tolerance(joint, Ra, ends):
    """Roundings, and a tick more or less in each stretch."""
    q, v, a = joint[:3]
    return 16 + int(max(abs(e - q) for e in ends) / 2048 + abs(v) / 256 + abs(a) * Ra / 131072)


BRAKES = [
    ("at rest", [(384000, 0, 0, 65536, 50)]),
    ("at rest, speeding up", [(384000, 0, 65536, 65536, 50)]),
    ("by hand: v 100, A 1, ramp 50: rho = 50, C = 100 - 50, p = 1, way 7500", [(384000, 25600, 0, 65536, 50)]),
    ("back", [(384000, -25600, 0, 65536, 50)]),
    ("slow, by hand: v 32, A 1, ramp 50: rho = sqrt(1600) = 40, p = 32/40, way 1280", [(0, 8192, 0, 65536, 50)]),
    ("slower than a tick", [(0, 3, 0, 65536, 50)]),
    ("speeding up", [(0, 25600, 65536, 65536, 50)]),
    ("speeding up slowly", [(0, 2560, 13107, 65536, 50)]),
    ("slowing down at its limit: it goes on, by hand: Ra = 1, Rb = 50, C = 99.5 - 25.5", [(0, 25600, -65536, 65536, 50)]),
    ("slowing down, half way to its limit: 25 ticks are left of the ramp", [(0, 25600, -32768, 65536, 50)]),
    ("at its own end, by hand: jerk 1/50, 30 ticks left: v = 9, a = -0.6; a tick and the same 30", [(0, 2304, -39322, 65536, 50)]),
    ("nearly at its own end", [(0, 3, -1311, 65536, 50)]),
    ("it would turn round: from its v, -a asks for more way", [(0, 256, -65536, 65536, 50)]),
    ("more than its limit: held to it", [(0, 25600, 655360, 65536, 50)]),
    ("the shortest ramp", [(0, 25600, 0, 65536, 1)]), ("the longest", [(0, 256000, 0, 65536, 1000)]),
    ("the longest way: 8 s from the largest velocity", [(-(2**29), 2**23 - 1, 0, 268436, 1000)]),
    ("two on a line", [(384000, 25600, 6554, 65536, 50), (300000, -12800, -3277, 65536, 50)]),
    ("two on a line, with limits of their own", [(0, 25600, 0, 65536, 50), (0, 12800, 0, 16384, 80)]),
    ("a longer ramp counts in proportion, by hand: 80 of half the |v|/A is 40", [(0, 25600, 0, 65536, 30), (0, 12800, 0, 65536, 80)]),
    ("and that of a joint at rest doesn't", [(0, 25600, 0, 65536, 50), (0, 0, 0, 65536, 1000)]),
    ("not on a line: one turns round, the other leads", [(0, 25600, 0, 65536, 50), (0, 26, -32768, 65536, 50)]),
    ("eight", [(1000 * j, 4096 * (j - 3), 1000 * (j - 3), 65536 * (1 + j % 3), 20 + 10 * (j % 2)) for j in range(8)]),
]


def brakes():
    out = [HEAD % "Brakes: from q, v and a to rest. Positions are rounded to whole units."]
    for why, js in BRAKES:
        ticks, ends = brake(js)
        out.append("# " + why)
        out.append("brake %d %d %d %d" % (len(js), *ticks))
        for j, e in zip(js, ends):
            out.append("joint %s  %s  %d" % (" ".join(map(str, j)), " ".join(str(round(x)) for x in e), tolerance(j, ticks[0], e)))
    return "\n".join(out) + "\n"


# messages.txt

def le(fmt, *values):
    return struct.pack("<" + fmt, *values)


def messages():
    out = [HEAD % "Messages: payloads and what they say. Lists are in the order of joints, with commas."]
    host = "\n# From the host."
    g = []

    def good(t, payload, text=""):
        assert len(payload) <= 64
        g.append(("good %02X %s %s" % (t, hx(payload), text)).rstrip())

    def bad(t, payload, code, field):
        g.append("bad %02X %s %s %s" % (t, hx(payload), code, field))

    g.append(host)
    hello = b"tau\1" + le("I", 0x12345678)
    good(0x01, hello, "version=1 nonce=305419896")
    good(0x01, b"tau\7" + le("I", 0), "version=7 nonce=0")
    bad(0x01, hello[:-1], "BAD_LENGTH", "-")
    bad(0x01, hello + b"\0", "BAD_LENGTH", "-")
    bad(0x01, b"Tau" + hello[3:], "BAD_VALUE", "-")
    good(0x02, b"\0", "channel=0")
    good(0x02, b"\x0F", "channel=15")
    bad(0x02, b"", "BAD_LENGTH", "-")
    bad(0x02, b"\x10", "BAD_VALUE", "channel")
    conf = lambda ch=0, fl=0, lo=128000, up=640000, v=200000, a=655360, r=50: le("BBiiIIH", ch, fl, lo, up, v, a, r)
    good(0x03, conf(), "channel=0 flags=0 lower=128000 upper=640000 v=200000 a=655360 ramp=50")
    good(0x03, conf(7, 3, -(2**30 - 1), 2**30 - 1, 2**23 - 1, 2**31 - 1, 1000),
         "channel=7 flags=3 lower=-1073741823 upper=1073741823 v=8388607 a=2147483647 ramp=1000")
    good(0x03, conf(1, 1, 5, 5, 1, 1, 1), "channel=1 flags=1 lower=5 upper=5 v=1 a=1 ramp=1")
    good(0x03, conf(v=8000, a=256), "channel=0 flags=0 lower=128000 upper=640000 v=8000 a=256 ramp=50")
    bad(0x03, conf()[:-1], "BAD_LENGTH", "-")
    bad(0x03, conf(8), "BAD_VALUE", "channel")
    bad(0x03, conf(fl=4), "BAD_VALUE", "flags")
    bad(0x03, conf(fl=128), "BAD_VALUE", "flags")
    bad(0x03, conf(lo=-(2**30)), "BAD_VALUE", "lower")
    bad(0x03, conf(up=2**30), "BAD_VALUE", "upper")
    bad(0x03, conf(lo=640001), "BAD_VALUE", "lower")
    bad(0x03, conf(v=0), "BAD_VALUE", "v")
    bad(0x03, conf(v=2**23, a=2**31 - 1), "BAD_VALUE", "v")
    bad(0x03, conf(a=0), "BAD_VALUE", "a")
    bad(0x03, conf(a=2**31), "BAD_VALUE", "a")
    bad(0x03, conf(v=8001, a=256), "BAD_VALUE", "a")
    bad(0x03, conf(r=0), "BAD_VALUE", "ramp")
    bad(0x03, conf(r=1001), "BAD_VALUE", "ramp")
    good(0x04, le("BBBHH", 0, 1, 0, 0, 255), "output=0 on_stop=1 on_lost=0 off=0 max=255")
    good(0x04, le("BBBHH", 7, 0, 1, 9, 9), "output=7 on_stop=0 on_lost=1 off=9 max=9")
    bad(0x04, le("BBBH", 0, 1, 0, 0), "BAD_LENGTH", "-")
    bad(0x04, le("BBBHH", 8, 1, 0, 0, 255), "BAD_VALUE", "output")
    bad(0x04, le("BBBHH", 0, 2, 0, 0, 255), "BAD_VALUE", "on_stop")
    bad(0x04, le("BBBHH", 0, 0, 2, 0, 255), "BAD_VALUE", "on_lost")
    bad(0x04, le("BBBHH", 0, 0, 1, 256, 255), "BAD_VALUE", "off")
    good(0x05, b"")
    bad(0x05, b"\0", "BAD_LENGTH", "-")
    good(0x06, le("Hi", 1, 384000), "report=1 q=384000")
    good(0x06, le("H8i", 65535, *range(-4, 4)), "report=65535 q=-4,-3,-2,-1,0,1,2,3")
    bad(0x06, le("H", 1), "BAD_LENGTH", "-")
    bad(0x06, le("Hib", 1, 5, 5), "BAD_LENGTH", "-")
    bad(0x06, le("H9i", 1, *range(9)), "BAD_LENGTH", "-")
    bad(0x06, le("Hi", 1, 2**30), "BAD_VALUE", "q")
    good(0x07, b"")
    bad(0x07, b"\0", "BAD_LENGTH", "-")
    good(0x08, le("HHB", 1, 0, 255), "motion=1 stops=0 seek=255")
    good(0x08, le("HHB", 65535, 65535, 7), "motion=65535 stops=65535 seek=7")
    bad(0x08, le("HH", 1, 0), "BAD_LENGTH", "-")
    bad(0x08, le("HHB", 1, 0, 8), "BAD_VALUE", "seek")
    seg = lambda i, t, p, *k: le("BBB", i, t, p) + b"".join(le("i", q) + i24(v) for q, v in k)
    good(0x09, seg(0, 20, 0, (384500, 25600)), "index=0 ticks=20 first=0 last=0 q=384500 v=25600")
    good(0x09, seg(255, 100, 0x80, (-1, 0), (2, 0)), "index=255 ticks=100 first=0 last=1 q=-1,2 v=0,0")
    good(0x09, seg(3, 1, 4, (1, -1), (2, 8388607), (3, -8388607), (4, 0)),
         "index=3 ticks=1 first=4 last=0 q=1,2,3,4 v=-1,8388607,-8388607,0")
    bad(0x09, seg(0, 20, 0), "BAD_LENGTH", "-")
    bad(0x09, seg(0, 20, 0, (1, 2))[:-1], "BAD_LENGTH", "-")
    bad(0x09, seg(0, 20, 0, *[(1, 2)] * 5), "BAD_LENGTH", "-")
    bad(0x09, seg(0, 0, 0, (1, 2)), "BAD_VALUE", "ticks")
    bad(0x09, seg(0, 101, 0, (1, 2)), "BAD_VALUE", "ticks")
    bad(0x09, seg(0, 20, 0x10, (1, 2)), "BAD_VALUE", "part")
    bad(0x09, seg(0, 20, 8, (1, 2)), "BAD_VALUE", "part")
    bad(0x09, seg(0, 20, 7, (1, 2), (3, 4)), "BAD_VALUE", "part")
    bad(0x09, seg(0, 20, 0x80, (1, 0), (2, 1)), "BAD_VALUE", "v")
    good(0x0A, le("H", 513), "motion=513")
    bad(0x0A, b"\1", "BAD_LENGTH", "-")
    good(0x0B, b"\0", "kind=0")
    good(0x0B, b"\1", "kind=1")
    g.append("# A board takes any other STOP for one of kind 1.")
    good(0x0C, b"\1", "fault=1")
    good(0x0C, b"\x0D", "fault=13")
    bad(0x0C, b"", "BAD_LENGTH", "-")
    bad(0x0C, b"\0", "BAD_VALUE", "fault")
    bad(0x0C, b"\x0E", "BAD_VALUE", "fault")
    good(0x0D, le("BH", 1, 128), "output=1 value=128")
    bad(0x0D, le("BHB", 1, 128, 0), "BAD_LENGTH", "-")
    bad(0x0D, le("BH", 8, 128), "BAD_VALUE", "output")
    good(0x0E, le("I", 2**32 - 1), "host_ms=4294967295")
    bad(0x0E, le("H", 5), "BAD_LENGTH", "-")
    good(0x0F, le("Bi", 2, -256), "channel=2 q=-256")
    bad(0x0F, le("B", 2), "BAD_LENGTH", "-")
    bad(0x0F, le("Bi", 8, 0), "BAD_VALUE", "channel")
    bad(0x0F, le("Bi", 0, -(2**30)), "BAD_VALUE", "q")

    g.append("\n# From the board.")
    reply = lambda j=3, o=1, qu=920, ms=10, fl=0: b"tau\1" + le("IIHBBHBB", 0x12345678, 0x01020304, 256, j, o, qu, ms, fl)
    good(0x81, reply(), "version=1 nonce=305419896 boot=16909060 firmware=256 joints=3 outputs=1 queue=920 status_ms=10 flags=0")
    good(0x81, reply(8, 8, 65535, 20, 7),
         "version=1 nonce=305419896 boot=16909060 firmware=256 joints=8 outputs=8 queue=65535 status_ms=20 flags=7")
    bad(0x81, reply()[:-1], "BAD_LENGTH", "-")
    bad(0x81, b"tao" + reply()[3:], "BAD_VALUE", "-")
    bad(0x81, b"tau\2" + reply()[4:], "BAD_VALUE", "version")
    bad(0x81, reply(j=0), "BAD_VALUE", "joints")
    bad(0x81, reply(j=9), "BAD_VALUE", "joints")
    bad(0x81, reply(o=9), "BAD_VALUE", "outputs")
    bad(0x81, reply(qu=22), "BAD_VALUE", "queue")
    bad(0x81, reply(ms=4), "BAD_VALUE", "status_ms")
    bad(0x81, reply(ms=21), "BAD_VALUE", "status_ms")
    bad(0x81, reply(fl=8), "BAD_VALUE", "flags")
    chan = lambda c=0, k=1, f=0, s=255, lo=128000, up=640000: le("BBBBii", c, k, f, s, lo, up)
    good(0x82, chan(), "channel=0 kind=1 feedback=0 switch=255 lower=128000 upper=640000")
    good(0x82, chan(2, 2, 2, 1, -(2**30 - 1), 2**30 - 1), "channel=2 kind=2 feedback=2 switch=1 lower=-1073741823 upper=1073741823")
    good(0x82, chan(9, 17, 0, 255, 0, 255), "channel=9 kind=17 feedback=0 switch=255 lower=0 upper=255")
    bad(0x82, chan()[1:], "BAD_LENGTH", "-")
    bad(0x82, chan(16), "BAD_VALUE", "channel")
    bad(0x82, chan(k=3), "BAD_VALUE", "kind")
    bad(0x82, chan(f=3), "BAD_VALUE", "feedback")
    bad(0x82, chan(s=8), "BAD_VALUE", "switch")
    bad(0x82, chan(lo=640001), "BAD_VALUE", "upper")
    bad(0x82, chan(9, 16, 0, 255, 0, 65536), "BAD_VALUE", "upper")
    good(0x83, le("HBiH", 1, 0, 384000, 65535), "report=1 known=0 q=384000 raw=65535")
    good(0x83, le("HBiHBiH", 7, 1, 384000, 65535, 2, -5, 1023), "report=7 known=1,2 q=384000,-5 raw=65535,1023")
    bad(0x83, le("H", 1), "BAD_LENGTH", "-")
    bad(0x83, le("HBi", 1, 0, 384000), "BAD_LENGTH", "-")
    bad(0x83, le("HBiH", 1, 3, 384000, 65535), "BAD_VALUE", "known")
    bad(0x83, le("HBiH", 1, 0, 384000, 1024), "BAD_VALUE", "raw")
    good(0x84, le("BBBH", 5, 0x0B, 0, 3), "seq=5 type=11 code=0 stops=3")
    good(0x84, le("BBBH", 255, 0x7F, 20, 65535), "seq=255 type=127 code=20 stops=65535")
    bad(0x84, le("BBBB", 5, 0x0B, 0, 3), "BAD_LENGTH", "-")
    bad(0x84, le("BBBH", 5, 0x0B, 21, 3), "BAD_VALUE", "code")
    stat = lambda n=2, st=3, fl=11, fa=0, ch=255: le("IBBBBHHIHBB%di" % n, 123456, st, fl, fa, ch, 3, 17, 850, 46, 9, 2, *[384000 + i for i in range(n)])
    good(0x85, stat(), "board_ms=123456 state=3 flags=11 fault=0 fault_channel=255 stops=3 motion=17 motion_ms=850 free=46 accepted=9 inputs=2 setpoints=384000,384001")
    good(0x85, stat(8, 5, 63, 13, 7), "board_ms=123456 state=5 flags=63 fault=13 fault_channel=7 stops=3 motion=17 motion_ms=850 free=46 accepted=9 inputs=2 setpoints=384000,384001,384002,384003,384004,384005,384006,384007")
    bad(0x85, stat(0), "BAD_LENGTH", "-")
    bad(0x85, stat()[:-1], "BAD_LENGTH", "-")
    bad(0x85, stat(9), "BAD_LENGTH", "-")
    bad(0x85, stat(st=6), "BAD_VALUE", "state")
    bad(0x85, stat(fl=64), "BAD_VALUE", "flags")
    bad(0x85, stat(fa=14), "BAD_VALUE", "fault")
    bad(0x85, stat(ch=2), "BAD_VALUE", "fault_channel")
    good(0x86, le("Iii", 123456, 512, 2**31 - 1), "board_ms=123456 values=512,2147483647")
    bad(0x86, le("I", 123456), "BAD_LENGTH", "-")
    good(0x87, le("II", 1, 2), "host_ms=1 board_ms=2")
    bad(0x87, le("I", 1), "BAD_LENGTH", "-")
    return "\n".join(out + g) + "\n"


def files():
    yield "frames.txt", frames()
    yield "messages.txt", messages()
    yield "pieces.txt", pieces()
    yield "brakes.txt", brakes()
    import sessions
    yield "sessions.txt", HEAD % "Sessions: what a board answers, and what it does." + sessions.text()


def main():
    wrong = 0
    for name, text in files():
        if "--check" not in sys.argv:
            open(name, "w", newline="\n").write(text)
        elif open(name, newline="\n").read() != text:
            wrong = 1
            print(name, "isn't what vectors.py writes")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
