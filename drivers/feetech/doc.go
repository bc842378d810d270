// Package feetech is the robot.Backend of arms of bus servos on one half-duplex serial
// line: Feetech's STS3215 and its kin, and Dynamixel X by protocol 2.0. It is a
// hosted.Body: it finds the servos of the robot's file, holds what they say of
// themselves against it, turns positions into ticks and back, and says what the servos
// complain of. What moves, and when, is hosted.Engine's.
//
// A family says what the registers of one maker mean; all else is the same code.
//
// Nothing is written to a servo before torque_on, and only to its RAM then: a servo's
// EEPROM is the Calibrator's alone, which a person uses with the arm unpowered. No servo
// is ever put into a mode that turns by speed.
//
// It never imports gate, motion, sim, cmd or another driver, and go.bug.st/serial only
// by way of drivers/port.
package feetech
