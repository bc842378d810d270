package hardware

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// PCA9685 is the kind of a chip of 16 PWM channels.
const PCA9685 = "pca9685"

// What a chip may be like.
const (
	chipChannels               = 16
	chipSteps                  = 4095       // of a channel's duty
	minAddress, maxAddress     = 0x08, 0x77 // those that I2C keeps for itself are outside
	allCall                    = 0x70       // every PCA9685 listens to it
	minFrequency, maxFrequency = 40, 1000   // Hz
	defaultFrequency           = 50         // Hz, a hobby servo's
	maxBus                     = 9
	raspiBus                   = 1 // of a Raspberry Pi's header
)

// adaptor reads what gobot is to talk to.
func (p *parser) adaptor(f *File, raw *rawFile) (err error) {
	if p.driver.bit != gobot {
		return nil
	}
	f.Adaptor = AdaptorFirmata
	if raw.Adaptor.v != nil {
		f.Adaptor, err = p.oneOf("adaptor", raw.Adaptor, AdaptorFirmata, AdaptorRaspi)
	}
	p.computer = f.Adaptor == AdaptorRaspi
	return err
}

// chips reads what hangs on the I2C bus, by name.
func (p *parser) chips(f *File, raw *rawFile) error {
	p.freq = map[string]float64{}
	at := map[[2]int]string{}
	for _, name := range slices.Sorted(maps.Keys(raw.Chips)) {
		r, key := raw.Chips[name], func(k string) string { return "chip." + name + "." + k }
		c := Chip{Name: name, Frequency: defaultFrequency}
		var err error
		if c.Kind, err = p.oneOf(key("kind"), r.Kind, PCA9685); err != nil {
			return err
		}
		if c.Bus, err = p.bus(key("bus"), r.Bus); err != nil {
			return err
		}
		if c.Address, err = p.whole(key("address"), r.Address, minAddress, maxAddress); err != nil {
			return err
		}
		if c.Address == allCall {
			return p.bad(key("address"), "%#x is the address that every PCA9685 listens to", allCall)
		}
		if r.Frequency.v != nil {
			if c.Frequency, err = p.within(key("frequency"), r.Frequency, minFrequency, maxFrequency, "Hz"); err != nil {
				return err
			}
		}
		here := [2]int{c.Bus, c.Address}
		if by, twice := at[here]; twice {
			return p.bad(key("address"), "%#x on bus %d is that of chip.%s already", c.Address, c.Bus, by)
		}
		at[here] = name
		p.freq[name] = c.Frequency
		f.Chips = append(f.Chips, c)
	}
	return nil
}

// bus reads the number of an I2C bus: a board with Firmata has one.
func (p *parser) bus(key string, v value) (int, error) {
	switch {
	case v.v == nil && p.computer:
		return raspiBus, nil
	case v.v == nil:
		return 0, nil
	case p.computer:
		return p.whole(key, v, 0, maxBus)
	}
	n, err := p.whole(key, v, 0, maxBus)
	if err == nil && n != 0 {
		err = p.limit(key, float64(n), 0, "", "a board with Firmata has one bus, 0")
	}
	return n, err
}

// via reads the name of a chip; none is the board itself.
func (p *parser) via(key string, v value) (string, error) {
	if v.v == nil {
		return "", nil
	}
	s, err := p.str(key, v)
	if err != nil {
		return "", err
	}
	if _, ok := p.freq[s]; !ok {
		if len(p.freq) == 0 {
			return "", p.bad(key, "there is no chip %q; the file has no table [chip.%s]", s, s)
		}
		return "", p.bad(key, "there is no chip %q; there is %s", s, strings.Join(slices.Sorted(maps.Keys(p.freq)), ", "))
	}
	return s, nil
}

// longest is the longest pulse, µs, that a chip's frequency leaves room for.
func (p *parser) longest(via string) float64 {
	if f, ok := p.freq[via]; ok {
		return 1e6 / f
	}
	return math.Inf(1)
}

// maxADCPin is the last analogue input that Firmata reports.
const maxADCPin = 15

// adcPin reads which analogue input measures a joint. Our own firmware has one for each
// joint and needs none.
func (p *parser) adcPin(j *Joint, key func(string) string, v value) (err error) {
	if p.driver.bit != gobot {
		return nil
	}
	if p.computer {
		return p.bad(key("feedback"), "%q has no analogue inputs", AdaptorRaspi)
	}
	if j.ADCPin, err = p.whole(key("adc_pin"), v, 0, maxADCPin); err != nil {
		return err
	}
	if by, twice := p.pins[j.ADCPin]; twice {
		return p.bad(key("adc_pin"), "A%s is that of joint.%s already", strconv.Itoa(j.ADCPin), by)
	}
	if p.pins == nil {
		p.pins = map[int]string{}
	}
	p.pins[j.ADCPin] = j.Name
	return nil
}
