package gobot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot/robottest"
)

// melting is a robot whose emulated board hears and answers again before it is closed, as
// thawing is of the fake one.
type melting struct {
	*gobot.Robot
	c *atmega
}

func (r melting) Close() error {
	if r.c.thaw() {
		time.Sleep(5 * time.Second) // of the bubble's: it is asked again, or connected anew
	}
	return r.Robot.Close()
}

// lacks is why checks of the suite can't be done on a stock board, whoever's firmware it is.
var lacks = map[string]string{
	"Case43_ASecondMasterOnTheWire":               "Firmata's messages have no sender, and a board does what anybody says who has its line open; that nobody else opens it is Case50_…, and that another setpoint in a servo is found TestAnotherMastersSetpointIsFound",
	"Case44_WhatStopsTheRobotItselfEndsTheMotion": "StandardFirmata has no e-stop input and no watchdog, and stops nothing by itself: Info says hold of its joints when the link is lost, too",
}

// emulated is a robot on the emulated board, for the suite.
func (g rig) emulated(t *testing.T, command []string) robottest.Fixture {
	c := startAtmega(t, command)
	m, hw := g.parts(t)
	o := gobot.Options{Model: m, Hardware: hw, Port: "emulated board", Dial: c.dial, At: g.at}
	r, err := gobot.Open(context.Background(), o)
	require.NoError(t, err)
	f := robottest.Fixture{
		Backend: melting{r, c}, Model: m, Disabled: true, Target: []float64{1.3, 0.9},
		Tolerance: 0.012, MaxDeviation: 0.25,
		// A period, an exchange with the board, and the servo's lag of 60 ms with that of its
		// reports.
		Lag: 0.16, Watchdog: 0.16,
		Freeze:  c.freeze,
		Unplug:  c.unplug,
		Replug:  c.replug,
		Silence: func() { c.set(func() { c.silent = true }) },
		Observe: g.watch(t, c),
		// A shield has its power from the board, and loses it with it.
		Reboot:    func() { c.do("i2c off", "i2c on", "reset") },
		TorqueOff: true,
		Lacks:     lacks,
		Rival: func() error {
			again, err := gobot.Open(context.Background(), o)
			if err != nil {
				return err
			}
			return again.Close()
		},
	}
	if g.at == nil {
		f.Block = func(j int) { c.do(fmt.Sprintf("stall %d on", j)) }
	}
	return f
}

// TestConformanceOnTheEmulatedBoard: the whole suite on a StandardFirmata that nobody here
// wrote or built, with measured servos, and with one that nothing measures at a pin and one
// at a PCA9685. It is in the bench's own time and needs no wall clock: a busy machine makes it
// slower and nothing else.
func TestConformanceOnTheEmulatedBoard(t *testing.T) {
	command := boardtest.Stepped(t, boardtest.Options{Map: "uno", Hex: stock(t)})
	open := mixed()
	open.file = strings.Replace(open.file, "address = 0x41", "address = 0x40", 1)
	for name, g := range map[string]rig{"Measured": measured(), "OpenLoop": open} {
		t.Run(name, func(t *testing.T) {
			h := robottest.Harness{Bubble: true, Parallel: 2, New: func(t *testing.T) robottest.Fixture { return g.emulated(t, command) }}
			if g.at != nil {
				unknown := g
				unknown.at = nil
				h.Unknown = func(t *testing.T) robottest.Fixture { return unknown.emulated(t, command) }
			}
			robottest.Run(t, h)
		})
	}
}
