"""Drives six STS3215 with Feetech's SDK; see README.md."""

import sys

import scservo_sdk as scs

from common import Results, be_patient, until

IDS = [1, 2, 3, 4, 5, 6]
GOALS = {1: 2300, 2: 1800, 3: 2048, 4: 2500, 5: 1500, 6: 2200}

# Of the maker's memory table of STS servos.
MAX_ANGLE, TORQUE, GOAL, LOCK, POSITION, VOLTAGE = 11, 40, 42, 55, 56, 62


def main():
    out = Results()
    port = scs.PortHandler(sys.argv[1])
    packets = scs.protocol_packet_handler()
    out.add("open", port.openPort())
    out.add("baud", port.setBaudRate(1_000_000))
    be_brief = be_patient(port)

    for i in IDS:
        out.add("ping", packets.ping(port, i))
        out.add("voltage", packets.read1ByteTxRx(port, i, VOLTAGE))
        out.add("position", packets.read2ByteTxRx(port, i, POSITION))

    # The EEPROM: unlocked, written, locked, read back.
    out.add("eeprom", packets.write1ByteTxRx(port, 6, LOCK, 0))
    out.add("eeprom", packets.write2ByteTxRx(port, 6, MAX_ANGLE, 4000))
    out.add("eeprom", packets.write1ByteTxRx(port, 6, LOCK, 1))
    out.add("max angle", packets.read2ByteTxRx(port, 6, MAX_ANGLE))

    # Each goal is where the servo stands, before it has torque.
    for i in IDS:
        at, _, _ = packets.read2ByteTxRx(port, i, POSITION)
        out.add("hold", packets.write2ByteTxRx(port, i, GOAL, at))
        out.add("torque", packets.write1ByteTxRx(port, i, TORQUE, 1))

    write = scs.GroupSyncWrite(port, packets, GOAL, 2)
    for i, goal in GOALS.items():
        write.addParam(i, [scs.SCS_LOBYTE(goal), scs.SCS_HIBYTE(goal)])
    out.add("sync write", write.txPacket())

    read = scs.GroupSyncRead(port, packets, POSITION, 2)
    for i in IDS:
        read.addParam(i)

    def arrived():
        result = read.txRxPacket()
        at = [read.getData(i, POSITION, 2) if read.isAvailable(i, POSITION, 2) else None for i in IDS]
        if result != scs.COMM_SUCCESS:
            out.add("sync read", result)
        return at if at == [GOALS[i] for i in IDS] else None

    out.add("arrived", until(arrived))

    be_brief()
    out.add("nobody", packets.ping(port, 9))
    port.closePort()
    out.print()


main()
