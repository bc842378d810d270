package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/doctor"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/gate/private"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// doctorFlags are the flags of "doctor".
type doctorFlags struct {
	robotFlags
	driver, port, config string
	json                 bool

	set func(name string) bool
}

func (a *app) doctor() *cobra.Command {
	var k doctorFlags
	c := leaf("doctor", "Says what keeps a robot from being driven from here, and what to do; it powers and moves nothing", 0,
		func(*cobra.Command, []string) error { return a.runDoctor(&k) })
	f := c.Flags()
	k.robotFlags.add(f)
	f.StringVar(&k.driver, "driver", "", "what is at the port (default: what the file says): "+driverNames+"; a servo bus is asked, a board isn't, since that may reset it")
	f.StringVar(&k.port, "port", "", "device to examine; without it, each that there is")
	f.StringVar(&k.config, "config", "", "the robot's file, to hold what is found against")
	f.BoolVar(&k.json, "json", false, "one JSON document")
	k.set = f.Changed
	return c
}

func (a *app) runDoctor(k *doctorFlags) error {
	if k.driver != "" {
		if _, err := driverOf(k.driver); err != nil {
			return err
		}
	}
	o := doctor.Options{Port: k.port, Driver: k.driver, Name: k.config, Machine: doctor.ThisComputer(), Now: time.Now()}
	if k.config != "" {
		if o.File, o.FileErr = k.file(o.Now); o.FileErr == nil && o.Driver == "" {
			o.Driver = o.File.Driver
		}
	}
	if o.Driver == hardware.DriverFeetech || o.Driver == hardware.DriverDynamixel {
		o.Bus = busOf(feetech.ScanOptions{Driver: o.Driver, Port: o.Port})
		if o.File != nil && o.File.Driver != o.Driver {
			o.File = nil // said, and nothing is held against it
			o.FileErr = robot.Errf(robot.CodeInvalidArgument, k.config, "it is for another driver than --driver %s", o.Driver)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	found := doctor.Examine(ctx, o)
	if ctx.Err() != nil {
		return exit.Silent(exit.Interrupted)
	}
	if err := a.tellFindings(found, k.json); err != nil {
		return err
	}
	if doctor.Healthy(found) {
		return nil
	}
	return exit.Silent(exit.Calls)
}

// file reads the robot's file, of the robot that it names itself unless a flag does.
func (k *doctorFlags) file(now time.Time) (*hardware.File, error) {
	data, err := private.ReadTrusted(k.config, hardware.MaxBytes)
	if err != nil {
		return nil, err
	}
	if !k.set("robot") {
		is, err := hardware.RobotOf(k.config, data)
		if err != nil {
			return nil, err
		}
		if is != "" {
			k.Name = is
		}
	}
	m, err := k.Model()
	if err != nil {
		return nil, fmt.Errorf("%w; name the robot's description with --robot", err)
	}
	f, err := hardware.Parse(k.config, data, m, now)
	if err == nil {
		_, err = f.Tightened(m)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// busOf asks the servos of a line.
func busOf(o feetech.ScanOptions) doctor.Bus {
	return func(ctx context.Context, baud int, ids []int) ([]doctor.Servo, error) {
		at := o
		at.Bauds = []int{baud}
		devices, err := servosOf(ctx, at, ids)
		out := make([]doctor.Servo, len(devices))
		for i, d := range devices {
			out[i] = doctor.Servo{
				ID: d.ID, Shared: d.Shared, Model: d.Model, Known: d.Known, Firmware: d.Firmware, Offset: d.Offset, Low: d.Low, High: d.High,
				Voltage: d.Voltage, Temperature: d.Temperature, Powered: d.Powered, Trouble: d.Trouble,
			}
		}
		var e *robot.Error
		if err != nil && !errors.As(err, &e) {
			err = robot.Errf(robot.CodeDisconnected, "port "+o.Port, "%w", err)
		}
		return out, err
	}
}

// tellFindings writes what was found, problems as they come, what to do below each.
func (a *app) tellFindings(found []doctor.Finding, asJSON bool) error {
	if asJSON {
		return a.document(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{doctor.Healthy(found), found})
	}
	var b strings.Builder
	problems := 0
	for _, f := range found {
		if f.Level == doctor.Bad {
			problems++
		}
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.Level, f.Check, f.Text)
		if f.Do != "" {
			fmt.Fprintf(&b, "         %s\n", f.Do)
		}
	}
	if problems == 0 {
		b.WriteString("nothing is wrong\n")
	} else {
		b.WriteString(plural(problems, "problem") + "\n")
	}
	return write(a.out, b.String())
}
