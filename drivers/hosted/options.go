package hosted

import (
	"log/slog"
	"time"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Version names what this engine does with a motion; it changes when the same motion
// leads to other setpoints.
const Version = "tau-hosted/1"

// Options are what an Engine is made from.
type Options struct {
	Model    *robot.Model
	Hardware *hardware.File
	// Body is the hardware. From Open on it is the Engine's alone.
	Body   Body
	Traits Traits
	// At is where the operator says that the joints are, rad or m by active joint, NaN
	// of a joint of which nothing is said; nil: of none. It counts for joints that
	// nothing measures, until they are commanded or their hardware restarts; not while
	// they have power from before Open. See Engine.Declare.
	At []float64
	// Within bounds Open; 0: OpenWithin.
	Within time.Duration
	// Now is the time that measurements and faults are stamped with; nil: time.Now. It
	// has to carry a monotonic reading or never go back.
	Now func() time.Time
	Log *slog.Logger // nil: nothing is logged
}

// The times that the engine keeps.
const (
	// OpenWithin is how long Open waits for the hardware by default: an Arduino that is
	// reset by opening its line spends two seconds in its boot loader.
	OpenWithin = 10 * time.Second
	// StaleAfter is how old a measurement may be before State refuses to give it and a
	// motion ends with STALE_STATE; of hardware that is read more rarely than every
	// 37 ms, four times as long as lies between two reads.
	StaleAfter = 150 * time.Millisecond
	// HeldUpAfter is how much later than it was due a setpoint may be written. Until
	// then motion time stretches; beyond it the motion ends with LINK_TIMEOUT.
	HeldUpAfter = 150 * time.Millisecond
	// SilentReads is after how many reads in a row that found nothing of a joint it isn't
	// known any more where it is.
	SilentReads = 3

	// A Body that doesn't return within leastPatience, or patienceFactor exchanges, is
	// disconnected; switching, which is many exchanges, has switchPatience more.
	leastPatience   = 500 * time.Millisecond
	patienceFactor  = 10
	switchPatience  = 3 * time.Second
	connectPatience = time.Second // beyond Within, or beyond the end of its context
	// unblockWithin is how long it may take a disconnected Body to return before
	// whoever waits for it is told that it hangs.
	unblockWithin = time.Second

	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// The bounds of Traits.
const (
	// LongestPeriod is as long as progress may be silent.
	LongestPeriod = 50 * time.Millisecond
	// LongestRead is the most that may lie between two reads.
	LongestRead = 250 * time.Millisecond
	// LongestLag is the most that hardware may be behind.
	LongestLag = 500 * time.Millisecond
)

// check completes the options, or says what is wrong with them.
func (o *Options) check() error {
	switch {
	case o.Model == nil || o.Hardware == nil || o.Body == nil:
		return robot.Errf(robot.CodeInvalidArgument, "hosted", "a robot needs its model, its file and its hardware")
	case len(o.Hardware.Joints) != o.Model.DoF() || len(o.Hardware.Outputs) != len(o.Model.Actuators):
		return robot.Errf(robot.CodeInvalidArgument, o.Hardware.Name, "the file is about another robot than %q", o.Model.Name)
	case o.Model.Base != nil:
		return robot.Errf(robot.CodeNotSupported, o.Traits.Backend, "%q has wheels, and this driver moves no base", o.Model.Name)
	case o.Hardware.LostLinkPowersOff:
		return robot.Errf(robot.CodeNotSupported, o.Hardware.Name, "lost_link_powers_off is true, and nothing in this hardware takes the power away when this program is gone; set it to false")
	}
	if err := o.Traits.check(o.Model.DoF()); err != nil {
		return err
	}
	if o.At != nil {
		if err := o.Model.CheckPlace(o.At); err != nil {
			return err
		}
	}
	if o.Within <= 0 {
		o.Within = OpenWithin
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// check refuses traits that no hardware has.
func (t *Traits) check(joints int) error {
	if t.Backend == "" || t.Version == "" || t.Device == "" {
		return robot.Errf(robot.CodeInvalidArgument, "hosted", "hardware has a name, a version and a device; it says %q, %q and %q", t.Backend, t.Version, t.Device)
	}
	if t.ReadEvery < 1 || len(t.Measured) != joints {
		return robot.Errf(robot.CodeInvalidArgument, t.Backend, "it is read every %d periods, and says of %d joints whether they are measured; there are %d", t.ReadEvery, len(t.Measured), joints)
	}
	for _, k := range [...]struct {
		what            string
		value, from, to time.Duration
	}{
		{"period", t.Period, time.Millisecond, LongestPeriod},
		{"time between two reads", t.reading(), time.Millisecond, LongestRead},
		{"exchange", t.Exchange, time.Microsecond, time.Second},
		{"lag", t.Lag, 0, LongestLag},
	} {
		if k.value < k.from || k.value > k.to {
			return robot.Errf(robot.CodeInvalidArgument, t.Backend, "its %s of %v isn't from %v to %v", k.what, k.value, k.from, k.to)
		}
	}
	return nil
}

// reading is what lies between two reads.
func (t *Traits) reading() time.Duration { return time.Duration(t.ReadEvery) * t.Period }

// patience is how long an exchange may take before the Body is taken to hang.
func (t *Traits) patience() time.Duration { return max(leastPatience, patienceFactor*t.Exchange) }
