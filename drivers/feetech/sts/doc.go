// Package sts is Feetech's serial protocol and the memory of its STS and SMS servos, as
// far as an arm needs it: the STS3215 of SO-100 and SO-101 and its kin.
//
// It imports robot and drivers/feetech/bus, and must never import gate, motion, sim, cmd
// or a driver.
package sts
