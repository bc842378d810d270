// Package drivers has one folder a transport: a servo bus, an Arduino, our own
// firmware. Each implements robot.Backend and passes robot/robottest.
//
// A driver imports robot and never gate, motion, sim or cmd, nor another driver.
// drivers/port is the only importer of go.bug.st/serial, drivers/gobot will be the only
// one of gobot. mcu, for boards with our own firmware, is the one that is built.
package drivers
