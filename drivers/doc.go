// Package drivers has one folder a transport: a servo bus, an Arduino, our own
// firmware. Each implements robot.Backend and passes robot/robottest.
//
//   - mcu: boards with our own firmware, which plan and brake by themselves
//   - feetech: bus servos of Feetech, and of Dynamixel X
//   - gobot: Arduinos with stock StandardFirmata, and a computer's own pins
//
// hosted is the backend that feetech and gobot are bodies of, port the serial line.
//
// A driver imports robot, hosted and port, and never gate, motion, sim or cmd, nor another
// driver. drivers/port is the only importer of go.bug.st/serial, drivers/gobot the only one
// of gobot.
package drivers
