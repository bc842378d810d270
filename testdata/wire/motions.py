"""The sessions in which something moves; sessions.py has what they are made of."""

from sessions import *
from vectors import brake, piece, accel

FIVE = [SERVO] * 5


def knots(t, signs=(1, -0.5), base=384000):
    q, v = profile(t)
    return [(base + round(s * q), round(s * v * 256)) for s in signs]


def at(t, step=25):
    """What both joints were told at t ms of profile, exactly, and the brake from there."""
    k = (t - 1) // step
    told, state = [], []
    for (q0, v0), (q1, v1) in zip(knots(k * step), knots((k + 1) * step)):
        told.append(piece(q0, v0, q1, v1, step)[t - k * step - 1])
        state.append((told[-1], *accel(q0, v0, q1, v1, step, t - k * step), A, RAMP))
    return told, brake(state)


def rests(s, t, state, flags, fault=0, channel=255):
    """Braked from t ms of profile on; the ends have a tick's way and roundings of room."""
    _, (ticks, ends) = at(t)
    s.until(state, sum(ticks) + 12).status(state, flags, fault, channel)
    for j, e in enumerate(ends):
        s.say("setpoint %d %d 120" % (j, round(e[2])))
    return s.say("range 0 383996 404004")


def motion():
    s = Session("a motion", SERVOS, "Told to the tick; 12 pieces of 25 ms, 200 ms ahead at most.")
    s.ready(384000, 384000).begin(7).tick(10).status(LOADED, READY).way(0, 200).go(7)
    for t in (1, 2, 3, 10, 24, 25, 26, 49, 50, 51, 75, 100):
        told, _ = at(t)
        last = t if t == 1 else t - last_t
        s.tick(last)
        last_t = t
        for j, q in enumerate(told):
            s.say("setpoint %d %d 0" % (j, q))
    s.status(MOVING, READY).heartbeat().way(200, 300).begin(8, code=BUSY).hello_refused()
    for t in (101, 130, 199, 200, 201, 260, 299, 300):
        told, _ = at(t)
        s.tick(t - last_t)
        last_t = t
        for j, q in enumerate(told):
            s.say("setpoint %d %d 0" % (j, q))
    s.until(HOLD, 12).tick(10).status(HOLD, READY).say("motion 7 300 12")
    s.say("range 0 383996 404004").say("range 1 373996 384004")
    s.segment(12, 20, [(404000, 0), (374000, 0)], code=NOT_BEGUN)
    s.tick(10).status(HOLD, READY)
    yield s
    s = Session("begin and go", SERVOS, "What a motion needs before it starts.")
    s.ready(384000, 384000).go(code=NOT_BEGUN).segment(0, 25, knots(25), code=NOT_BEGUN)
    s.begin(stops=1, code=STOPPED).begin(seek=0, code=VALUE).begin(seek=2, code=VALUE).begin(1).go(2, code=NOT_BEGUN)
    s.go(code=BUSY).way(0, 25).go(code=BUSY).way(25, 50).go().tick(50)
    s.until(FAULT, 180).status(FAULT, POWERED | REFERENCED, 4)
    s.begin(2, code=FAULTED).segment(0, 25, knots(25), code=FAULTED).go(2, code=FAULTED)
    s.clear(5, code=VALUE).clear(0, code=VALUE).clear(4).clear(4, code=VALUE).begin(2, code=DISABLED)
    yield s
    s = Session("short", SERVOS, "One piece that is the last may be shorter than 50 ms.")
    s.ready(384000, 384000).begin(1).segment(0, 20, [(384100, 0), (384000, 0)], last=True).go()
    s.tick(10).say("setpoint 0 384050 0").tick(10).say("setpoint 0 384100 0").tick(11).status(HOLD, READY)
    s.say("motion 1 20 1")
    s.begin(2).segment(0, 20, [(384100, 0), (384000, 0)]).begin(3, why="OK: the other one is forgotten")
    s.go(2, code=NOT_BEGUN).segment(0, 20, [(384200, 0), (384000, 0)], last=True).go(3).tick(40)
    s.say("setpoint 0 384200 0").status(HOLD, READY)
    s.begin(4).disable().tick(10).status(IDLE, REFERENCED)
    yield s


def refused(self):
    """HELLO while a motion runs."""
    self.send(0x01, b"tau" + le("BI", 1, 1), "HELLO")
    return self.ack(BUSY)


Session.hello_refused = refused


def stops():
    s = Session("stop in mid-motion", SERVOS, "A controlled stop: braked, powered, no fault; what was begun is void.")
    s.running().disable(code=BUSY).configure(0, code=BUSY).send(0x05, why="REPORT").ack(BUSY).stop()
    s.segment(8, 25, knots(225), code=NOT_BEGUN).tick(2).status(BRAKING, READY)
    rests(s, 120, HOLD, READY).say("stops 1").say("motion 1 120 8")
    s.begin(2, stops=0, code=STOPPED).begin(2).stop().go(2, code=NOT_BEGUN)
    s.tick(10).status(HOLD, READY).say("stops 2")
    yield s
    s = Session("a stop out of turn", SERVOS, "STOP is obeyed whatever its number, and its number is the one to go on from.")
    s.running()
    s.seq += 77
    s.stop().heartbeat()
    rests(s, 120, HOLD, READY)
    yield s
    s = Session("stop while it speeds up", SERVOS)
    s.running(until=40).stop()
    rests(s, 40, HOLD, READY)
    yield s
    s = Session("stop near the end", SERVOS, "The brake is no longer than the motion's own end.")
    s.running(until=120).heartbeat().way(200, 300).tick(160).stop()
    rests(s, 280, HOLD, READY)
    yield s
    s = Session("e-stop by command", SERVOS, "Power goes once at rest where all joints allow it.")
    s.running(flags=1).stop(1).tick(2).status(BRAKING, POWERED | REFERENCED | ESTOPPED, 2)
    rests(s, 120, FAULT, REFERENCED | ESTOPPED, 2).say("power 0")
    s.clear(1, code=VALUE).clear(2).tick(10).status(IDLE, REFERENCED)
    yield s
    s = Session("e-stop that holds", SERVOS, "It doesn't go where one of them doesn't.")
    s.hello().configure(0, 1).configure(1, 0).report((0, None), (0, None)).enable(384000, 384000)
    s.begin().way(0, 200).go().tick(120).stop(1)
    rests(s, 120, FAULT, POWERED | REFERENCED | ESTOPPED, 2).say("power 1").clear(2).tick(10)
    s.status(IDLE, POWERED | REFERENCED).say("power 1")
    yield s
    s = Session("any other stop", SERVOS, "Another kind, and another length, is an e-stop.")
    s.ready(384000, 384000).stop(7).tick(10).status(FAULT, POWERED | REFERENCED | ESTOPPED, 2).clear(2)
    s.stops += 1
    s.send(0x0B, b"", "STOP").ack().tick(10).status(FAULT, POWERED | REFERENCED | ESTOPPED, 2).clear(2)
    s.stops += 1
    s.send(0x0B, b"\0\0", "STOP").ack().tick(10).status(FAULT, POWERED | REFERENCED | ESTOPPED, 2)
    yield s
    s = Session("e-stop while it brakes", SERVOS, "The first fault stays; the power goes all the same.")
    s.running(flags=1).send(0x0E, le("I", 1), "HEARTBEAT", seq=99).ack(SEQ).tick(20).stop(1).tick(2)
    s.status(BRAKING, POWERED | REFERENCED | ESTOPPED, 5)
    rests(s, 120, FAULT, REFERENCED | ESTOPPED, 5).say("power 0")
    s.clear(2, code=VALUE).clear(5).tick(10).status(IDLE, REFERENCED)
    yield s
    s = Session("e-stop button", SERVOS, "Two ticks, by input; no CLEAR while it is pressed.")
    s.running(flags=1, until=119).say("estop 1").tick(1).say("estop 0").tick(1).status(MOVING, READY)
    told, _ = at(121)
    s.say("setpoint 0 %d 0" % told[0]).say("estop 1").tick(1).tick(2)
    s.status(BRAKING, POWERED | INPUT | REFERENCED | ESTOPPED, 1)
    s.clear(1, code=BUSY).until(FAULT, 150).status(FAULT, INPUT | REFERENCED | ESTOPPED, 1).say("power 0")
    s.clear(1, code=ESTOP).report((1, None), (1, None)).say("estop 0").tick(20)
    s.status(FAULT, REFERENCED | ESTOPPED, 1).clear(1).tick(10).status(IDLE, REFERENCED)
    yield s
    s = Session("e-stop button before HELLO", SERVOS)
    s.say("estop 1").tick(5).hello().tick(10).status(FAULT, INPUT | REFERENCED | ESTOPPED, 1).clear(1, code=ESTOP)
    yield s
    s = Session("65,535 stops", SERVOS, "The count stays there, and nothing begins any more.")
    s.ready(384000, 384000).say("flood 65534 0B %02X 00" % s.seq)
    s.seq, s.stops = (s.seq + 65534) & 0xFF, 65534
    s.begin().stop().begin(code=STOPPED)
    s.stops -= 1
    s.stop().begin(code=STOPPED).begin(stops=0, code=STOPPED).tick(10).say("stops 65535")
    yield s


def quiet():
    s = Session("watchdog at rest", SERVOS, "200 ticks without a frame.")
    s.ready(384000, 384000).tick(100, quiet=True).heartbeat().tick(199, quiet=True).status(HOLD, READY).heartbeat()
    s.tick(199, quiet=True).status(HOLD, READY).tick(2, quiet=True).status(FAULT, POWERED | REFERENCED, 3).say("power 1")
    s.enable(384000, 384000, code=FAULTED).clear(3).tick(500, quiet=True).status(IDLE, POWERED | REFERENCED)
    yield s
    s = Session("watchdog and power", SERVOS, "A lost link takes the power off where all joints allow it.")
    s.ready(384000, 384000, flags=2).tick(195, quiet=True).status(FAULT, REFERENCED, 3).say("power 0")
    yield s
    s = Session("watchdog is fed by what is refused", SERVOS, "But not by what is dropped.")
    s.ready(384000, 384000).tick(180, quiet=True).begin(stops=9, code=STOPPED).tick(180, quiet=True).status(HOLD, READY)
    s.say("raw 0201033E2F00").tick(21, quiet=True).status(FAULT, POWERED | REFERENCED, 3)
    yield s
    s = Session("underrun", SERVOS, "The queue runs dry: braked from where the last piece ended.")
    s.running(until=200).tick(2).status(BRAKING, POWERED | REFERENCED, 4)
    rests(s, 200, FAULT, POWERED | REFERENCED, 4).say("motion 1 200 8")
    yield s
    s = Session("a gap in a motion", SERVOS, "The fault SEQUENCE; the piece that shows it isn't taken.")
    s.running()
    s.seq += 1
    s.segment(8, 25, knots(225), code=SEQ).tick(2).status(BRAKING, POWERED | REFERENCED, 5)
    rests(s, 120, FAULT, POWERED | REFERENCED, 5)
    yield s
    s = Session("a piece that is missing", SERVOS)
    s.running().segment(9, 25, knots(250), code=SEQ).tick(2).status(BRAKING, POWERED | REFERENCED, 5)
    yield s
    s = Session("a piece that came twice", SERVOS)
    s.running().segment(7, 25, knots(200), code=SEQ).tick(2).status(BRAKING, POWERED | REFERENCED, 5)
    yield s
    s = Session("a piece that isn't one", SERVOS)
    s.running().segment(8, 0, knots(225), code=VALUE).tick(2).status(BRAKING, POWERED | REFERENCED, 5)
    yield s


def braked_at(end, v):
    """Where a piece of 100 ms from 630000 has to end with v so that the brake ends there."""
    def ends(q):
        now, a = accel(630000, 0, q, v, 100, 100)
        return brake([(q, now, a, A, RAMP)])[1][0][2]
    return max(range(630000, 640001), key=lambda q: -abs(ends(q) - end))


def pieces():
    s = Session("pieces refused", SERVOS, "Before a motion starts a refused piece makes it forgotten.")
    s.ready(384000, 384000)
    for code, index, ticks, *k in ((LIMIT, 0, 100, (640001, 0), (384000, 0)), (SPEED, 0, 100, (384000, V + 1), (384000, 0)),
                                   (SPEED, 0, 100, (406901, 0), (384000, 0)), (SPEED, 0, 1, (384000, 0), (384230, 0)),
                                   (SEQ, 1, 20, (384000, 0), (384000, 0)), (VALUE, 0, 101, (384000, 0), (384000, 0))):
        s.begin().segment(index, ticks, k, code=code).go(code=NOT_BEGUN).tick(10).status(HOLD, READY)
    s.begin().segment(0, 20, [(384000, 0)]).go(code=BUSY)
    s.begin().segment(0, 100, [(406900, 0), (384000, 0)]).go().stop().tick(150).status(HOLD, READY)
    yield s
    s = Session("too much", SERVOS, "More than 200 ms, and too little room to brake.")
    s.ready(630000, 384000).begin()
    for i in range(2):
        s.segment(i, 100, [(630000, 0), (384000, 0)])
    s.segment(2, 1, [(630000, 0), (384000, 0)], code=OVERRUN).go(code=NOT_BEGUN)
    s.begin().segment(0, 100, [(braked_at(639800, 12800), 12800), (384000, 0)], why="just room").stop()
    s.begin().segment(0, 100, [(braked_at(644000, 25600), 25600), (384000, 0)], code=NO_ROOM).go(code=NOT_BEGUN)
    s.begin().segment(0, 100, [(630000, 0), (384000, 0)]).segment(1, 100, [(630000, 0), (384000, 0)])
    s.go().segment(2, 1, [(630000, 0), (384000, 0)], code=OVERRUN).tick(2).status(FAULT, POWERED | REFERENCED, 10)
    s.tick(20)
    yield s
    s = Session("within a piece", SERVOS, "A piece that goes too fast between its ends, and one that goes too far.")
    s.ready(384000, 639000).begin().segment(0, 100, [(404000, 0), (639000, 0)], last=True).go()
    s.tick(30).heartbeat().tick(100).heartbeat().until(FAULT, 180).status(FAULT, POWERED | REFERENCED, 7, 0).say("range 0 384000 412000").clear(7)
    s.disable().report((1, None), (1, 639000)).enable(384000, 639000)
    s.begin(2).segment(0, 100, [(384000, 0), (639900, -V)]).go(2)
    s.until(FAULT, 180).status(FAULT, POWERED | REFERENCED, 6, 1).say("range 1 639000 640000")
    yield s
    s = Session("five joints", FIVE, "A piece in several frames, in order of the joints.")
    q = [384000] * 5
    s.ready(*q).begin()
    k = [(384000 + 10 * i, 0) for i in range(5)]
    s.segment(0, 20, k[4:], first=4, last=True, code=SEQ).begin()
    s.segment(0, 20, k[:4], last=True).segment(0, 21, k[4:], first=4, last=True, code=SEQ).begin()
    s.segment(0, 20, k[:4], last=True).segment(0, 20, k[4:], first=4, code=SEQ).begin()
    s.segment(0, 20, k[:2], last=True).segment(0, 20, k[1:4], first=1, last=True, code=SEQ).begin()
    s.segment(0, 20, k[2:5] + k[:1], first=2, last=True, code=VALUE, why="BAD_VALUE: there is no joint 5").begin()
    s.segment(0, 20, k[:4], last=True).go(code=BUSY).tick(10).say("motion 1 0 0")
    s.segment(0, 20, k[4:], first=4, last=True).go().tick(31).status(HOLD, READY).say("motion 1 20 1")
    for i in range(5):
        s.say("setpoint %d %d 0" % (i, 384000 + 10 * i))
    s.begin(2).segment(0, 20, k[:1], last=True).segment(0, 20, k[1:3], first=1, last=True)
    s.segment(0, 20, k[3:], first=3, last=True).go(2).tick(31).status(HOLD, READY).say("motion 2 20 1")
    yield s


def steppers():
    s = Session("steppers", STEPPERS, "Counted from the boot, referenced by a switch or by word, and only then limited.")
    s.hello().configure(0, lower=-256, upper=100000).configure(1, lower=0, upper=100000)
    s.report((0, 0), (0, 0)).enable(1, 0, code=VALUE, why="BAD_VALUE: it counts").enable(0, 0).tick(10)
    s.status(HOLD, POWERED | ENABLED).begin(code=UNREFERENCED)
    s.reference(0, 0, code=BUSY).reference(1, 100001, code=LIMIT).reference(1, 50000).tick(10)
    s.say("place 1 50000 0").begin(seek=1, code=VALUE, why="BAD_VALUE: it has no switch").begin(code=UNREFERENCED)
    s.begin(5, seek=0)
    for t in range(25, 225, 25):
        s.segment(t // 25 - 1, 25, [(knots(t, (-1,), 0)[0]), (50000, 0)])
    s.go(5).tick(150).say("switches 1").tick(2).status(BRAKING, POWERED | ENABLED | FOUND)
    s.until(HOLD, 120).status(HOLD, POWERED | ENABLED | FOUND).say("place 0 -15000 130")
    s.segment(8, 25, [(0, 0), (50000, 0)], code=NOT_BEGUN)
    s.say("switches 0").reference(0, 60000 + 50000, code=LIMIT).reference(0, 6000).tick(10)
    s.status(HOLD, READY).say("place 0 1000 130").reference(0, 6000, code=BUSY)
    yield s
    s = Session("switch not found", STEPPERS)
    s.ready(0, 0).begin(seek=0)
    for t in range(25, 225, 25):
        s.segment(t // 25 - 1, 25, [knots(t, (-1,), 0)[0], (0, 0)])
    s.go().tick(100)
    for t in range(225, 325, 25):
        s.segment(t // 25 - 1, 25, [knots(t, (-1,), 0)[0], (0, 0)], last=t == 300)
    s.tick(100).until(FAULT, 120).status(FAULT, POWERED, 9, 0).say("setpoint 0 -20000 0")
    yield s
    s = Session("a switch in the way", STEPPERS, "It closes in a motion that doesn't seek it.")
    s.ready(0, 0).reference(1, 0).begin(seek=0).segment(0, 20, [(-100, 0), (0, 0)], last=True).say("switches 1")
    s.go().until(HOLD, 40).status(HOLD, POWERED | ENABLED | FOUND).reference(0, 0)
    s.say("switches 0").tick(10).status(HOLD, READY).begin(2)
    for t in range(25, 225, 25):
        s.segment(t // 25 - 1, 25, [knots(t, (1,), 0)[0], (0, 0)])
    s.go(2).tick(120).say("switches 1").tick(2).status(BRAKING, POWERED | REFERENCED, 8, 0)
    s.until(FAULT, 120).status(FAULT, POWERED | REFERENCED, 8, 0).clear(8)
    s.tick(10).status(IDLE, POWERED | REFERENCED)
    yield s


def outputs():
    s = Session("outputs", SERVOS, "Set within `max`, off by themselves where they are told to.")
    s.hello().set(0, 1, code=UNCONFIGURED).set(2, 1, code=VALUE)
    s.configure_output(2, 0, 0, 0, 1, code=VALUE).configure_output(0, 2, 0, 0, 1, code=VALUE)
    s.configure_output(0, 0, 0, 0, 2, code=VALUE).configure_output(1, 0, 0, 201, 200, code=VALUE)
    s.configure_output(0, 1, 0, 0, 1).configure_output(1, 0, 1, 9, 200).say("output 0 0").say("output 1 9")
    s.configure_output(1, 0, 1, 9, 201, code=LOOSER).configure_output(1, 0, 0, 9, 200, code=LOOSER)
    s.configure_output(1, 0, 1, 8, 200, code=LOOSER).configure_output(0, 0, 0, 0, 1, code=LOOSER)
    s.configure_output(1, 0, 1, 9, 199).set(1, 200, code=LIMIT).set(1, 199).set(0, 1).say("output 0 1").say("output 1 199")
    s.stop().say("output 0 0").say("output 1 199").set(0, 1)
    s.tick(199, quiet=True).say("output 1 199").tick(2, quiet=True).say("output 1 9").say("output 0 1").status(FAULT, REFERENCED, 3)
    s.set(1, 10, code=FAULTED).set(1, 9).set(0, 0).say("output 0 0").clear(3).set(0, 1).set(1, 50)
    s.stop(1).say("output 0 0").say("output 1 50").set(1, 9).tick(300).status(FAULT, REFERENCED | ESTOPPED, 2)
    yield s
    s = Session("outputs and faults", SERVOS, "Any fault but WATCHDOG is a stop to an output.")
    s.ready(384000, 384000).configure_output(0, 1, 0, 0, 1).configure_output(1, 0, 1, 0, 200).set(0, 1).set(1, 7)
    s.say("estop 1").tick(3).say("output 0 0").say("output 1 7")
    yield s


ALL = [motion, stops, quiet, pieces, steppers, outputs]
