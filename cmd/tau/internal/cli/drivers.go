package cli

import (
	"context"
	"log/slog"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// driverNames are the drivers that there are, for texts.
const driverNames = "mcu (our firmware), feetech and dynamixel (servo buses), gobot (StandardFirmata, a Raspberry Pi)"

// driverOf returns the driver of that name.
func driverOf(name string) (opener, error) {
	switch name {
	case hardware.DriverMCU:
		return openMCU, nil
	case hardware.DriverFeetech, hardware.DriverDynamixel:
		return openFeetech, nil
	case hardware.DriverGobot:
		return openGobot, nil
	}
	return nil, exit.Usagef("there is no driver %q; there are %s", name, driverNames)
}

// openMCU opens a board with our own firmware.
func openMCU(ctx context.Context, o driverOptions, log *slog.Logger) (robot.Backend, error) {
	r, err := mcu.Open(ctx, mcu.Options{
		Model: o.model, Hardware: o.file, Port: o.port, Baud: o.file.Baud, ResetOnOpen: o.resetOnOpen, At: o.at, Now: o.now, Log: log,
	})
	if err != nil {
		return nil, err // never a nil *mcu.Robot in an interface
	}
	return r, nil
}

// openFeetech opens a servo bus of either maker.
func openFeetech(ctx context.Context, o driverOptions, log *slog.Logger) (robot.Backend, error) {
	r, err := feetech.Open(ctx, feetech.Options{Model: o.model, Hardware: o.file, Port: o.port, At: o.at, Now: o.now, Log: log})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openGobot opens an Arduino with stock firmware, or this computer's own pins.
func openGobot(ctx context.Context, o driverOptions, log *slog.Logger) (robot.Backend, error) {
	port := o.port
	if o.file.Adaptor != hardware.AdaptorFirmata {
		port = "" // its name is only ours
	}
	r, err := gobot.Open(ctx, gobot.Options{Model: o.model, Hardware: o.file, Port: port, ResetOnOpen: o.resetOnOpen, At: o.at, Now: o.now, Log: log})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// portOf completes the port: a computer's own pins have none, and go by their name.
func portOf(b *bridgeFlags, f *hardware.File) error {
	pins := f.Adaptor != "" && f.Adaptor != hardware.AdaptorFirmata
	switch {
	case pins && b.port != "":
		return exit.Usagef("--port: %s are this computer's own pins, which have no port", f.Adaptor)
	case pins && b.resetOnOpen:
		return exit.Usagef("--reset-on-open: %s are this computer's own pins, and no board is there to reset", f.Adaptor)
	case pins:
		b.port = f.Adaptor
	case b.port == "":
		return exit.Usagef("robot real needs --port, the robot's device")
	case b.resetOnOpen && (f.Driver == hardware.DriverFeetech || f.Driver == hardware.DriverDynamixel):
		return exit.Usagef("--reset-on-open is about a board; a servo bus has none")
	}
	return nil
}
