// Package dxl is Robotis' Dynamixel protocol 2.0 and the memory of the X series, as far
// as an arm needs it.
//
// It imports robot and drivers/feetech/bus, and must never import gate, motion, sim, cmd
// or a driver.
package dxl
