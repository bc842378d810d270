"""Writes the vectors beside it from the makers' documents and packet builders.

Needs feetech-servo-sdk 1.0.0 and dynamixel-sdk 4.1.0 on PYTHONPATH. `python3 vectors.py` writes the files anew, `--check` compares.
"""

import importlib.util
import pathlib
import random
import re
import sys
import types

sys.dont_write_bytecode = True
sys.modules.setdefault("serial", types.ModuleType("serial"))  # no port is opened here

import dynamixel_sdk
import scservo_sdk

HERE = pathlib.Path(__file__).parent
OPS = {"ping": 1, "read": 2, "write": 3, "reboot": 8, "sync_read": 0x82, "sync_write": 0x83}
ALL = 0xFE


class Wire:
    """What the SDKs call a port: keeps what is written, reads what it is given."""

    is_using = False

    def __init__(self, give=b""):
        self.sent, self.give = b"", list(give)

    def clearPort(self):
        pass

    def writePort(self, packet):
        self.sent += bytes(packet)
        return len(packet)

    def readPort(self, n):
        out, self.give = self.give[:n], self.give[n:]
        return out

    def setPacketTimeout(self, _):
        pass

    def setPacketTimeoutMillis(self, _):
        pass

    def isPacketTimeout(self):
        return not self.give


class Feetech:
    handler = scservo_sdk.PacketHandler(0)
    last_id = 0xFD

    def sealed(self, id_, op, params):
        w = Wire()
        self.handler.txPacket(w, [0, 0, id_, len(params) + 2, op, *params, 0])
        return w.sent

    def instruction(self, op, id_, addr, count, ids, data):
        w = Wire()
        if op == "ping":
            self.handler.ping(w, id_)
            return w.sent[:6]
        if op == "reboot":  # not in this SDK
            return self.sealed(id_, 8, [])
        if op == "read":
            self.handler.readTx(w, id_, addr, count)
        elif op == "write":
            self.handler.writeTxOnly(w, id_, addr, count, list(data))
        elif op == "sync_read":
            self.handler.syncReadTx(w, addr, count, list(ids), len(ids))
        else:
            param = []
            for k, i in enumerate(ids):
                param += [i, *data[k * count : (k + 1) * count]]
            self.handler.syncWriteTxOnly(w, addr, count, param, len(param))
        return w.sent

    def status(self, id_, error, params):
        return self.sealed(id_, error, params)

    def reads(self, packet, id_, error, params):
        got, result = self.handler.rxPacket(Wire(packet))
        assert result == 0 and bytes(got) == packet, (got, result)


class Stuffing(type(dynamixel_sdk.PacketHandler(2.0))):
    """The SDK's handler, which makes a stuffed packet and then sends the one without."""

    def txPacket(self, port, packet):
        packet = self.addStuffing(packet)
        n = packet[5] + 256 * packet[6] + 7
        packet = packet[:n]
        packet[:4] = [0xFF, 0xFF, 0xFD, 0]
        crc = self.updateCRC(0, packet, n - 2)
        packet[-2:] = [crc & 255, crc >> 8]
        port.writePort(packet)
        return 0


class Dynamixel:
    handler = Stuffing()
    last_id = 0xFC

    def sealed(self, id_, op, params):
        w = Wire()
        n = len(params) + 3
        self.handler.txPacket(w, [0, 0, 0, 0, id_, n & 255, n >> 8, op, *params, 0, 0])
        return w.sent

    def instruction(self, op, id_, addr, count, ids, data):
        w = Wire()
        if op == "ping":
            if id_ == ALL:
                return self.sealed(id_, 1, [])
            self.handler.ping(w, id_)
        elif op == "reboot":
            self.handler.reboot(w, id_)
        elif op == "read":
            self.handler.readTx(w, id_, addr, count)
        elif op == "write":
            self.handler.writeTxOnly(w, id_, addr, count, list(data))
        elif op == "sync_read":
            self.handler.syncReadTx(w, addr, count, list(ids), len(ids), False)
        else:
            param = []
            for k, i in enumerate(ids):
                param += [i, *data[k * count : (k + 1) * count]]
            self.handler.syncWriteTxOnly(w, addr, count, param, len(param))
        return w.sent

    def status(self, id_, error, params):
        return self.sealed(id_, 0x55, [error, *params])

    def reads(self, packet, id_, error, params):
        got, result = self.handler.rxPacket(Wire(packet), False)
        end = 9 + len(params)
        assert result == 0 and got[4] == id_ and got[8] == error and bytes(got[9:end]) == bytes(params), (got, result)


def hx(b):
    return bytes(b).hex().upper() or "-"


def lst(v):
    return ",".join(map(str, v)) or "-"


class File:
    def __init__(self, maker, name, title):
        self.maker, self.name = maker, name
        self.lines = ["# " + title, "# From vectors.py; README.md has the format."]

    def note(self, text):
        self.lines += ["", "# " + text]

    def says(self, op, id_, addr=0, count=0, ids=(), data=b"", example=None):
        """An instruction; example is the packet that the maker's document prints for it."""
        p = self.maker.instruction(op, id_, addr, count, ids, data)
        assert p, (op, id_)
        assert example is None or p == bytes.fromhex(example), (hx(p), example)
        self.lines.append(f"instruction {hx(p)} {op} {id_} {addr} {count} {lst(ids)} {hx(data)}")

    def answers(self, id_, error=0, params=b"", example=None):
        p = self.maker.status(id_, error, list(params))
        assert example is None or p == bytes.fromhex(example), (hx(p), example)
        self.maker.reads(p, id_, error, list(params))
        self.lines.append(f"status {hx(p)} {id_} {error} {hx(params)}")
        return p

    def stream(self, b, *packets):
        self.lines.append(f"stream {hx(b)} " + " ".join(hx(p) for p in packets) if packets else f"stream {hx(b)} -")

    def damaged(self, why, b):
        self.lines.append(f"damaged {why} {hx(b)}")

    def refused(self, op, id_, addr=0, count=0, ids=(), data=b""):
        self.lines.append(f"refused {op} {id_} {addr} {count} {lst(ids)} {hx(data)}")

    def text(self):
        return "\n".join(self.lines) + "\n"


def flip(b, at, by=1):
    b = bytearray(b)
    b[at] ^= by
    return bytes(b)


def common(f, rnd, addresses, counts):
    """What both protocols have, over the whole range of what can be said."""
    m = f.maker
    f.note("Ranges.")
    for id_ in (0, 1, 127, m.last_id):
        f.says("ping", id_)
        f.says("reboot", id_)
        for addr in addresses:
            f.says("read", id_, addr, 1)
            f.says("write", id_, addr, 1, data=bytes([rnd.randrange(256)]))
        f.answers(id_)
    for n in counts:
        f.says("read", 3, 0, n)
        f.says("write", 3, 0, n, data=rnd.randbytes(n))
        f.answers(3, 0, rnd.randbytes(n))
    for n in (1, 2, 6, 20):
        ids = rnd.sample(range(m.last_id + 1), n)
        f.says("sync_read", ALL, 56, 2, ids)
        f.says("sync_write", ALL, 42, 4, ids, rnd.randbytes(4 * n))
    f.says("write", ALL, 40, 1, data=b"\0")
    for v in (b"\xff\xff", b"\xff\xff\xff\xff", b"\xff\xff\xfd", b"\xff\xff\xfd\x00", b"\xff\xff\xfd\xfd", b"\xff\xff\xfd\xff\xff\xfd",
              b"\xfd\xff\xff\xfd\x00\x01\x04\x00\x55\x00\xa1\x0c", b"\xff\xff\x01\x02\x00\xfc"):
        f.says("write", 1, 7, len(v), data=v)
        f.answers(1, 0, v)
    for e in (1, 2, 4, 8, 32, 0x25):
        f.answers(9, e, b"\x01\x02\x03")


def streams(f, rnd):
    """Good packets between things that are none."""
    m = f.maker
    f.note("Good packets among what is none.")
    a, b = m.status(1, 0, [0x34, 0x12]), m.status(2, 0, [0x78, 0x56])
    f.stream(a + b, a, b)
    f.stream(b"\x00\xff" + a + b"\xff" + b, a, b)
    f.stream(a[:-1])
    f.stream(a[:-1] + b, b)
    f.stream(a[:4] + b, b)
    f.stream(a[:7] + b, b)
    f.stream(flip(a, len(a) - 1) + b, b)
    f.stream(flip(a, len(a) - 3) + b, b)
    f.stream(a[:5] + a[6:] + b, b)
    f.stream(a[:1] + a + a, a, a)
    f.stream(b"\xff\xff" + b"\xff" * 5 + a, a)
    f.stream(m.instruction("sync_read", ALL, 56, 2, [1, 2], b"") + a + b, a, b)


def feetech():
    f, rnd = File(Feetech(), "feetech.txt", "Feetech's protocol."), random.Random(1)
    m = f.maker
    f.note("The examples of the maker's description: 4.1 to 4.7.")
    f.says("ping", 1, example="FFFF010201FB")
    f.answers(1, example="FFFF010200FC")
    f.says("read", 1, 0x38, 2, example="FFFF0104023802BE")
    f.answers(1, 0, b"\x18\x05", example="FFFF0104001805DD")
    f.says("write", ALL, 5, 1, data=b"\x01", example="FFFFFE04030501F4")
    six = b"\x00\x08\x00\x00\xe8\x03"
    f.says("write", 1, 0x2A, 6, data=six, example="FFFF0109032A000800 00E803D5".replace(" ", ""))
    f.says("sync_write", ALL, 0x2A, 6, (1, 2, 3, 4), six * 4,
           example="FFFFFE20832A06010008 0000E803020008 0000E803030008 0000E803040008 0000E80358".replace(" ", ""))
    f.says("sync_read", ALL, 0x38, 8, (1, 2), example="FFFFFE068238080102 36".replace(" ", ""))
    f.answers(1, 0, bytes.fromhex("000800000000791E"), example="FFFF010A00000800000000791E55")
    f.answers(2, 0, bytes.fromhex("FF07000000007723"), example="FFFF020A00FF0700000000772353")
    f.note("Cases 28 and 29: torque off, and that it was done.")
    for i in range(1, 7):
        f.says("write", i, 40, 1, data=b"\0", example="FFFF010403 2800CF".replace(" ", "") if i == 1 else None)
        f.answers(i)
    f.note("Complaints that are the bytes of an instruction.")
    f.answers(1, 1, example="FFFF010201FB")
    f.answers(1, 2, b"\x38\x02", example="FFFF0104023802BE")
    common(f, rnd, (0, 40, 255), (1, 2, 15, 128, 243))
    streams(f, rnd)
    f.note("Case 24: two servos with one ID.")
    f.stream(bytes.fromhex("FF6018FBEF"))
    f.stream(bytes.fromhex("FFFF01040067"))
    f.stream(bytes.fromhex("FF6018FBEFFFFF01040067"))
    good = m.status(1, 0, [0, 8])
    f.stream(bytes.fromhex("FF6018FBEFFFFF01040067") + good, good)
    f.note("Damaged.")
    f.damaged("sum", flip(good, -1))
    f.damaged("sum", flip(good, 5))
    f.damaged("length", bytes([255, 255, 1, 0, 0, 254]))
    f.damaged("length", bytes([255, 255, 1, 1, 0, 253]))
    f.damaged("length", bytes([255, 255, 1, 251, 0, 0]))
    f.damaged("error", m.sealed(1, 0x80, []))
    f.note("What can't be said.")
    f.refused("ping", 254)
    f.refused("read", 254, 56, 2)
    f.refused("read", 1, 56, 0)
    f.refused("read", 1, 255, 2)
    f.refused("read", 1, 256, 1)
    f.refused("read", 1, 0, 245)
    f.refused("write", 1, 40, 2, data=b"\0")
    f.refused("write", 1, 0, 244, data=bytes(244))
    f.refused("sync_read", 1, 56, 2, (1, 2))
    f.refused("sync_read", ALL, 56, 2)
    f.refused("sync_read", ALL, 56, 2, (1, 254))
    f.refused("sync_write", ALL, 42, 2, (1, 2), bytes(3))
    f.refused("sync_write", ALL, 42, 10, range(23), bytes(230))
    f.refused("none", 1)
    return f


def dynamixel():
    f, rnd = File(Dynamixel(), "dynamixel.txt", "Dynamixel protocol 2.0."), random.Random(2)
    m = f.maker
    f.note("The examples of the maker's description.")
    f.says("ping", 1, example="FFFFFD00010300 01194E".replace(" ", ""))
    f.says("ping", ALL, example="FFFFFD00FE0300013142")
    f.answers(1, 0, b"\x06\x04\x26", example="FFFFFD0001070055000604 26655D".replace(" ", ""))
    f.says("read", 1, 132, 4, example="FFFFFD000107000284000400 1D15".replace(" ", ""))
    f.answers(1, 0, b"\xa6\0\0\0", example="FFFFFD0001080055 00A60000008CC0".replace(" ", ""))
    f.says("write", 1, 116, 4, data=b"\0\2\0\0", example="FFFFFD000109000374000002 0000CA89".replace(" ", ""))
    f.answers(1, example="FFFFFD000104005500A10C")
    f.says("reboot", 1, example="FFFFFD000103000 82F4E".replace(" ", ""))
    f.says("sync_read", ALL, 132, 4, (1, 2), example="FFFFFD00FE0900828400040001 02CEFA".replace(" ", ""))
    f.says("sync_write", ALL, 116, 4, (1, 2), bytes.fromhex("96000000AA000000"),
           example="FFFFFD00FE11008374000400019600000002AA0000008287")
    common(f, rnd, (0, 64, 255, 256, 65534), (1, 2, 15, 128, 255, 256, 900))
    f.note("The alert bit, and errors.")
    f.answers(1, 0x80, b"\1\2\3\4")
    for e in range(1, 8):
        f.answers(1, e)
        f.answers(1, 0x80 | e)
    streams(f, rnd)
    f.note("A packet that was cut, and the next one's header inside of what it says is its length.")
    long, next_ = m.status(1, 0, [7] * 40), m.status(2, 0, [8])
    f.stream(long[:20] + next_, next_)
    f.note("Damaged.")
    f.damaged("sum", flip(next_, -1))
    f.damaged("sum", flip(next_, -2))
    f.damaged("sum", flip(next_, 8))
    f.damaged("length", bytes.fromhex("FFFFFD000103005500 0000".replace(" ", "")))
    f.damaged("length", bytes.fromhex("FFFFFD0001FFFF5500 0000".replace(" ", "")))
    f.damaged("stuffing", bytes.fromhex("FFFFFD00010800 5500FFFFFD011234".replace(" ", "")))
    f.damaged("stuffing", long[:20] + next_)
    f.note("What can't be said.")
    f.refused("ping", 253)
    f.refused("ping", 255)
    f.refused("read", 254, 132, 4)
    f.refused("read", 1, 132, 0)
    f.refused("read", 1, 65535, 2)
    f.refused("read", 1, 0, 1014)
    f.refused("write", 1, 64, 2, data=b"\0")
    f.refused("write", 1, 0, 1013, data=bytes(1013))
    f.refused("sync_read", 1, 132, 4, (1, 2))
    f.refused("sync_read", ALL, 132, 4)
    f.refused("sync_read", ALL, 132, 4, (1, 253))
    f.refused("sync_read", ALL, 132, 4, (1, 1))
    f.refused("sync_write", ALL, 116, 4, (1, 2), bytes(7))
    f.refused("none", 1)
    return f


# The maker's memory table of STS and SMS servos (doc.feetech.cn, version 181): address,
# bytes, and the bit of the sign where there is one.
STS = """
firmware_major 0 1, firmware_minor 1 1, model 3 2, id 5 1, baud_rate 6 1, return_delay 7 1, status_level 8 1,
min_position 9 2 15, max_position 11 2 15, max_temperature 13 1, max_voltage 14 1, min_voltage 15 1, max_torque 16 2,
phase 18 1, unload_condition 19 1, led_condition 20 1, position_p 21 1, position_d 22 1, position_i 23 1,
min_start_force 24 1, integral_limit 25 1, dead_zone_cw 26 1, dead_zone_ccw 27 1, protection_current 28 2,
angular_resolution 30 1, homing_offset 31 2 11, mode 33 1, protective_torque 34 1, protection_time 35 1,
overload_torque 36 1, speed_p 37 1, over_current_time 38 1, speed_i 39 1, torque_enable 40 1, acceleration 41 1,
goal_position 42 2 15, goal_time 44 2 10, goal_speed 46 2 15, torque_limit 48 2, lock 55 1,
present_position 56 2 15, present_speed 58 2 15, present_load 60 2 10, present_voltage 62 1, present_temperature 63 1,
waiting 64 1, status 65 1, moving 66 1, present_goal 67 2 15, present_current 69 2 15
"""

# Names of ours that the maker's tables of the X series have otherwise.
X_NAMES = {
    "model_number": "model", "firmware_version": "firmware", "secondary(shadow)_id": "secondary_id",
    "temperature_limit": "max_temperature", "max_voltage_limit": "max_voltage", "min_voltage_limit": "min_voltage",
    "max_position_limit": "max_position", "min_position_limit": "min_position", "status_return_level": "status_level",
    "return_delay_time": "return_delay", "hardware_error_status": "hardware_error", "present_input_voltage": "present_voltage",
    "position_p_gain": "position_p", "position_i_gain": "position_i", "position_d_gain": "position_d",
}


def registers():
    out = ["# Registers: table, name, address, bytes, and the bit of the sign of Feetech's.", "# From vectors.py; README.md has the format.", ""]
    for entry in STS.replace("\n", " ").split(","):
        w = entry.split()
        out.append("register sts " + " ".join(w + ["-"] * (4 - len(w))))
    folder = pathlib.Path(importlib.util.find_spec("dynamixel_easy_sdk").origin).parent / "control_table"
    seen = {}
    for model in ("xl430_w250", "xc430_w150", "xm430_w350", "xm540_w270", "xh430_w350", "xh540_w150", "xl330_m288"):
        table = (folder / (model + ".model")).read_text().split("[control table]")[1]
        for addr, size, name in re.findall(r"^(\d+)\t(\d+)\t(.+?)\s*$", table, re.M):
            name = name.lower().replace(" ", "_")
            if "indirect" in name or "external" in name:
                continue
            assert seen.setdefault(name, (addr, size)) == (addr, size), (model, name)
    for name, (addr, size) in sorted(seen.items(), key=lambda e: int(e[1][0])):
        out.append(f"register dxl {X_NAMES.get(name, name)} {addr} {size} -")
    return "\n".join(out) + "\n"


def values():
    """Numbers in registers, signs as the makers' SDKs write them."""
    out = ["# Values: table, register, the number, its bytes; `-` for a number that can't be written.", "# From vectors.py; README.md has the format.", ""]
    for name, bit in (("homing_offset", 11), ("present_speed", 15), ("present_load", 10), ("goal_position", 15), ("present_current", 15)):
        top = (1 << bit) - 1
        for v in (0, 1, -1, 5, -5, top, -top):
            raw = scservo_sdk.SCS_TOSCS(v, bit)
            assert scservo_sdk.SCS_TOHOST(raw, bit) == v
            out.append(f"value sts {name} {v} {hx([scservo_sdk.SCS_LOBYTE(raw), scservo_sdk.SCS_HIBYTE(raw)])}")
        for v in (top + 1, -top - 1):
            out.append(f"value sts {name} {v} -")
    for v, b in ((0, "00"), (254, "FE"), (255, "FF"), (256, "-"), (-1, "-")):
        out.append(f"value sts acceleration {v} {b}")
    for name, size in (("bus_watchdog", 1), ("present_current", 2), ("homing_offset", 4), ("present_position", 4)):
        top = 1 << (8 * size - 1)
        for v in (0, 1, -1, top - 1, -top):
            out.append(f"value dxl {name} {v} {hx((v & (2 * top - 1)).to_bytes(size, 'little'))}")
        for v in (top, -top - 1):
            out.append(f"value dxl {name} {v} -")
    for v, b in ((0, "00000000"), (4095, "FF0F0000"), (2**32 - 1, "FFFFFFFF"), (2**32, "-"), (-1, "-")):
        out.append(f"value dxl profile_velocity {v} {b}")
    return "\n".join(out) + "\n"


def main():
    files = {"feetech.txt": feetech().text(), "dynamixel.txt": dynamixel().text(), "registers.txt": registers(), "values.txt": values()}
    stale = []
    for name, text in files.items():
        path = HERE / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.write_text(text)
    if stale:
        sys.exit("not what vectors.py writes: " + ", ".join(stale))


if __name__ == "__main__":
    main()
