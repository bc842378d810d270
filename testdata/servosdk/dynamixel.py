"""Drives six XL430 with Robotis' SDK; see README.md."""

import sys

import dynamixel_sdk as dxl

from common import Results, be_patient, until

IDS = [1, 2, 3, 4, 5, 6]
GOALS = {1: 2300, 2: 1800, 3: 2048, 4: 2500, 5: 1500, 6: 2200}

# Of the maker's control table of the XL430-W250.
TORQUE, WATCHDOG, GOAL, POSITION, VOLTAGE = 64, 98, 116, 132, 144


def main():
    out = Results()
    port = dxl.PortHandler(sys.argv[1])
    packets = dxl.PacketHandler(2.0)
    out.add("open", port.openPort())
    out.add("baud", port.setBaudRate(1_000_000))
    be_brief = be_patient(port)

    # A ping to all waits for as long as 253 servos would take, however many there are.
    millis = port.setPacketTimeoutMillis
    port.setPacketTimeoutMillis = lambda ms: millis(max(ms, 3000))
    found, result = packets.broadcastPing(port)
    out.add("all", [sorted([i, *said] for i, said in found.items()), result])
    port.setPacketTimeoutMillis = millis

    for i in IDS:
        out.add("ping", packets.ping(port, i))
        out.add("voltage", packets.read2ByteTxRx(port, i, VOLTAGE))
        out.add("position", packets.read4ByteTxRx(port, i, POSITION))
        at, _, _ = packets.read4ByteTxRx(port, i, POSITION)
        out.add("hold", packets.write4ByteTxRx(port, i, GOAL, at))
        out.add("torque", packets.write1ByteTxRx(port, i, TORQUE, 1))
    out.add("refused", packets.write4ByteTxRx(port, 1, GOAL, 5000))
    out.add("watchdog", packets.write1ByteTxRx(port, 1, WATCHDOG, 0))

    write = dxl.GroupSyncWrite(port, packets, GOAL, 4)
    for i, goal in GOALS.items():
        write.addParam(i, [goal & 0xFF, goal >> 8, 0, 0])
    out.add("sync write", write.txPacket())

    read = dxl.GroupSyncRead(port, packets, POSITION, 4)
    for i in IDS:
        read.addParam(i)

    def arrived():
        result = read.txRxPacket()
        at = [read.getData(i, POSITION, 4) if read.isAvailable(i, POSITION, 4) else None for i in IDS]
        if result != dxl.COMM_SUCCESS:
            out.add("sync read", result)
        return at if at == [GOALS[i] for i in IDS] else None

    out.add("arrived", until(arrived))
    out.add("reboot", packets.reboot(port, 6))
    be_brief()
    out.add("nobody", packets.ping(port, 9))
    port.closePort()
    out.print()


main()
