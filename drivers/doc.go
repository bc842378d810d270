// Package drivers has one folder a transport: a servo bus, an Arduino, our own
// firmware. Each implements robot.Backend and passes robot/robottest.
//
// A driver imports robot and never gate, motion, sim or cmd, nor another driver.
// drivers/port is the only importer of go.bug.st/serial, drivers/gobot will be the only
// one of gobot. No driver is built yet: `tau robot real` says so and fails.
package drivers
