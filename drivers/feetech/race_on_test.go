//go:build race

package feetech_test

// raced: the race detector makes each byte of the emulated wire cost ten times as much.
const raced = true
