package gobot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot"
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
	command := boardtest.Stepped(t, boardtest.Options{Map: "uno", Hex: boardtest.StandardFirmata(t)})
	t.Run("CutInMidMessage", func(t *testing.T) { cutInMidMessage(t, command) })
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

// cutInMidMessage: a board that was cut off within a message takes what it is sent for a part
// of that, and this firmware doesn't look whether it fits: a hundred questions later its
// servos have no pulses any more. It isn't asked so often, its pulses stay, what there is to do
// is said, and done it is a board like any other.
func cutInMidMessage(t *testing.T, command []string) {
	synctest.Test(t, func(t *testing.T) {
		c := startAtmega(t, command)
		g := servos()
		m, hw := g.parts(t)
		r, err := gobot.Open(context.Background(), gobot.Options{Model: m, Hardware: hw, Port: "emulated board", Dial: c.dial, At: g.at})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		actuate(t, r, robot.TorqueOn)
		time.Sleep(time.Second)
		var from, boots int
		c.set(func() { c.cutting, from, boots = true, len(c.pulses), c.boots })
		time.Sleep(100 * time.Millisecond)
		c.replug()
		const aWhile = 40 * time.Second
		time.Sleep(aWhile)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "reset button")
		c.set(func() {
			require.Equal(t, boots, c.boots)
			require.Greater(t, len(c.pulses)-from, int(2*aWhile/(20*time.Millisecond))-10, "two servos get theirs all the time")
			for _, p := range c.pulses[from:] {
				require.InDelta(t, stands, p.us, precise)
			}
		})
		c.do("reset")
		time.Sleep(35 * time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled || s.Powered)
		require.Equal(t, []bool{true, true}, s.Unreferenced)
	})
}
