package doctor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// A speed that the port can't do isn't what is wrong with a bus on which nobody answers:
// the others are tried, and it is said of that one.
func TestASpeedThatAPortCannotDoHidesNothing(t *testing.T) {
	cant := robot.LimitErr(robot.CodeInvalidArgument, "port x", 4e6, 3e6, "Bd", "the port can't do this baud rate")
	var servos []Servo
	o := Options{Port: usb, Driver: "dynamixel", Machine: one(fine), Now: noon, Bus: func(_ context.Context, baud int, _ []int) ([]Servo, error) {
		switch baud {
		case 4000000, 2000000:
			return nil, cant
		case 3000000:
			return servos, nil
		}
		return nil, nil
	}}
	got := texts(Examine(t.Context(), o))
	require.Contains(t, got, "problem devices: no servo answers, at none of [1000000 9600 57600 115200 3000000] bit/s, with an ID from 0 to 31; this port can't do [2000000 4000000]")
	require.NotContains(t, got, "line:")

	servos = []Servo{{ID: 1, Model: "XL430-W250", Known: true, Voltage: 12, High: 4095}}
	require.Contains(t, texts(Examine(t.Context(), o)), "problem baud: nobody answers at 1000000 bit/s, and at 3000000 they do")
}

// A servo that answers a ping and then nothing isn't one of another model.
func TestAServoThatStopsAnsweringIsNoOtherModel(t *testing.T) {
	var asked []int
	got := Examine(t.Context(), Options{Port: usb, Driver: "feetech", Machine: one(fine), Now: noon,
		Bus: answering(1000000, []Servo{{ID: 4, Trouble: "servo 4: it said nothing good"}}, &asked)})
	require.Contains(t, texts(got), "problem answers: ID 4: servo 4: it said nothing good")
	require.NotContains(t, texts(got), "model")
	require.False(t, Healthy(got))
}
