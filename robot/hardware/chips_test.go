package hardware_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/hardware"
)

func TestTheExampleOfFirmataIsWhatItSays(t *testing.T) {
	m := model(t, "pantilt")
	f, err := hardware.Parse("arm.toml", example(t, "pantilt-firmata.toml"), m, noon)
	require.NoError(t, err)
	require.Equal(t, "gobot", f.Driver)
	require.Equal(t, "firmata", f.Adaptor)
	require.Equal(t, 57600, f.Baud)
	require.Equal(t, []hardware.Chip{{Name: "hat", Kind: "pca9685", Address: 0x40, Frequency: 50}}, f.Chips)
	pan, tilt := &f.Joints[0], &f.Joints[1]
	require.Equal(t, []any{"", 9, "hat", 0}, []any{pan.Via, pan.Channel, tilt.Via, tilt.Channel})
	require.Equal(t, []bool{true, true}, f.OpenLoop())
	require.Empty(t, f.Outputs)
	require.Equal(t, []string{"lamp"}, f.Absent)
	narrow, err := f.Tightened(m)
	require.NoError(t, err)
	require.Empty(t, narrow.Actuators)

	data, _ := swap(t, string(example(t, "pantilt-firmata.toml")), "feedback =", lampOf+"scale = 1")
	f, err = hardware.Parse("arm.toml", []byte(data), m, noon)
	require.NoError(t, err)
	require.Equal(t, []hardware.Output{{Actuator: "lamp", Channel: 13, Scale: 1}}, f.Outputs)
	require.Empty(t, f.Absent)
	narrow, err = f.Tightened(m)
	require.NoError(t, err)
	require.Equal(t, m.Actuators, narrow.Actuators)
}

func TestWhatIsWrongWithAnArduinoIsRefusedByName(t *testing.T) {
	p := "pantilt-firmata.toml"
	refused(t, map[string]refusal{
		"another adaptor":              {p, "adaptor =", `adaptor = "tello"`, []string{"adaptor", `"tello"`, "firmata or raspi"}},
		"an adaptor in capitals":       {p, "adaptor =", `adaptor = "Firmata"`, []string{"adaptor", "firmata or raspi"}},
		"an empty adaptor":             {p, "adaptor =", `adaptor = ""`, []string{"adaptor", "firmata or raspi"}},
		"a speed of a computer's pins": {p, "adaptor =", `adaptor = "raspi"`, []string{"baud", "own pins"}},
		"a chip of another kind":       {p, `kind = "pca9685"`, `kind = "tlc5940"`, []string{"chip.hat.kind", "want pca9685"}},
		"a second bus of Firmata":      {p, "bus =", "bus = 1", []string{"chip.hat.bus", "value 1", "limit 0", "one bus"}},
		"a bus below zero":             {p, "bus =", "bus = -1", []string{"chip.hat.bus", "value -1"}},
		"no address":                   {p, "address =", "", []string{"chip.hat.address: is missing"}},
		"an address of I2C itself":     {p, "address =", "address = 0x07", []string{"chip.hat.address", "value 7", "limit 8"}},
		"an address of 8 bits":         {p, "address =", "address = 0x80", []string{"chip.hat.address", "value 128", "limit 119"}},
		"the address of all":           {p, "address =", "address = 0x70", []string{"chip.hat.address", "0x70", "every PCA9685"}},
		"a frequency too low":          {p, "frequency =", "frequency = 39.9", []string{"chip.hat.frequency", "value 39.9 Hz", "limit 40 Hz"}},
		"a frequency too high":         {p, "frequency =", "frequency = 1001", []string{"chip.hat.frequency", "limit 1000 Hz"}},
		"a frequency that isn't":       {p, "frequency =", "frequency = nan", []string{"chip.hat.frequency", "NaN"}},
		"pulses without a pause":       {p, "frequency =", "frequency = 500", []string{"joint.tilt.pulse_max", "value 2400 µs", "limit 2000 µs", `"hat"`}},
		"a chip that isn't there":      {p, `via = "hat"`, `via = "cap"`, []string{"joint.tilt.via", `"cap"`, "there is hat"}},
		"a chip that isn't a name":     {p, `via = "hat"`, `via = 1`, []string{"joint.tilt.via", "1, an integer"}},
		"an unknown key of a chip":     {p, "frequency =", "freq = 50", []string{"chip.hat.freq", "not a key", "frequency"}},
		"a chip that isn't a table":    {p, "[chip.hat]", "[chip]", []string{"chip.kind", "isn't a table", "[chip.NAME]"}},
		"a chip's address twice":       {p, "[chip.hat]", "[chip.cap]\nkind = \"pca9685\"\naddress = 0x40\n[chip.hat]", []string{"chip.hat.address", "0x40", "chip.cap"}},
		"a chip's 17th channel":        {p, "channel = 0", "channel = 16", []string{"joint.tilt.channel", "value 16", "limit 15"}},
		"a pin too high":               {p, "channel = 9", "channel = 128", []string{"joint.pan.channel", "value 128", "limit 127"}},
		"a pin twice":                  {p, "feedback =", strings.Replace(lampOf, "13", "9", 1) + "scale = 1", []string{"output.lamp.channel", "pin 9", "joint.pan"}},
		"a chip's channel twice":       {p, "feedback =", strings.Replace(lampOf, "13", "0", 1) + "scale = 1\nvia = \"hat\"", []string{"output.lamp.channel", "pin 0", "joint.tilt"}},
		"a stepper":                    {p, `kind = "servo"`, `kind = "stepper"`, []string{"joint.pan.kind", "want servo"}},
		"a bus servo":                  {p, `kind = "servo"`, `kind = "bus_servo"`, []string{"joint.pan.kind", "want servo"}},
		"ticks":                        {p, "lower =", "tick_min = 0", []string{"joint.pan.tick_min", "feetech, dynamixel", "is for gobot"}},
		"torque":                       {p, "lower =", "torque_limit = 1", []string{"joint.pan.torque_limit", "feetech, dynamixel"}},
		"a supply":                     {p, "baud =", "min_voltage = 5", []string{"min_voltage", "feetech, dynamixel"}},
		"an encoder":                   {p, "feedback =", `feedback = "encoder"`, []string{"joint.pan.feedback", "none or adc"}},
		"adc without its pin":          {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0], [1.5, 1023]]", []string{"joint.pan.adc_pin: is missing"}},
		"a pin that measures nothing":  {p, "feedback =", "feedback = \"none\"\nadc_pin = 0", []string{"joint.pan.adc_pin", "goes with"}},
		"an analogue pin too high":     {p, "feedback =", "feedback = \"adc\"\nadc_pin = 16\nadc = [[-1.5, 0], [1.5, 1023]]", []string{"joint.pan.adc_pin", "limit 15"}},
		"full power of on and off":     {p, "feedback =", lampOf + "scale = 255", []string{"output.lamp.scale", "value 255", "limit 1"}},
		"more than all of PWM":         {p, "feedback =", lampOf + "scale = 256\npwm = true", []string{"output.lamp.scale", "value 256", "limit 255"}},
		"pwm that is a number":         {p, "feedback =", lampOf + "scale = 255\npwm = 1", []string{"output.lamp.pwm", "true or false"}},
		"more than a chip has":         {p, "feedback =", lampOf + "scale = 4096\nvia = \"hat\"", []string{"output.lamp.scale", "value 4096", "limit 4095"}},
		"pwm of a chip":                {p, "feedback =", lampOf + "scale = 1\nvia = \"hat\"\npwm = true", []string{"output.lamp.pwm", "a pin's"}},
		"another maker's speed":        {p, "baud =", "baud = 128000", []string{"baud", "57600"}},
		"its file on our own firmware": {p, "driver =", `driver = "mcu"`, []string{"adaptor", "driver gobot", "is for mcu"}},
	})
	refused(t, map[string]refusal{
		"a chip on our own firmware": {"pantilt-servo2.toml", "[joint.pan]", "[chip.hat]\n[joint.pan]", []string{"chip.hat", "driver gobot", "is for mcu"}},
		"pwm on our own firmware":    {"pantilt-servo2.toml", "scale = 1  ", "scale = 1\npwm = true", []string{"output.lamp.pwm", "driver gobot"}},
		"adc_pin on our own":         {"pantilt-servo2.toml", "feedback =", "feedback = \"none\"\nadc_pin = 1", []string{"joint.pan.adc_pin", "driver gobot"}},
	})
}

// A pin and a chip's channel of the same number are two places, and so are those of two chips.
func TestChannelsAreOfTheirChip(t *testing.T) {
	m := model(t, "pantilt")
	data, _ := swap(t, string(example(t, "pantilt-firmata.toml")), "channel = 9", "channel = 0")
	data, _ = swap(t, data, "[chip.hat]", "[chip.cap]\nkind = \"pca9685\"\naddress = 0x41\n[chip.hat]")
	data, _ = swap(t, data, "feedback =", strings.Replace(lampOf, "13", "0", 1)+"scale = 4095\nvia = \"cap\"")
	f, err := hardware.Parse("p", []byte(data), m, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"cap", "hat"}, []string{f.Chips[0].Name, f.Chips[1].Name})
	require.Equal(t, "cap", f.Outputs[0].Via)
}

// Two joints measured by one analogue input are two names of one voltage.
func TestAnAnaloguePinIsOfOneJoint(t *testing.T) {
	m := model(t, "pantilt")
	adc := "feedback = \"adc\"\nadc_pin = 3\nadc = [[-1.5, 0], [1.5, 1023]]"
	data, _ := swap(t, string(example(t, "pantilt-firmata.toml")), "feedback =", adc)
	f, err := hardware.Parse("p", []byte(data), m, noon)
	require.NoError(t, err)
	require.Equal(t, 3, f.Joints[0].ADCPin)
	require.Equal(t, []bool{false, true}, f.OpenLoop())
	data, _ = swap(t, data, `feedback = "none"`, adc)
	_, err = hardware.Parse("p", []byte(data), m, noon)
	require.ErrorContains(t, err, "joint.tilt.adc_pin: A3 is that of joint.pan")
}

func TestARaspberryPiHasPinsOfItsOwn(t *testing.T) {
	m := model(t, "pantilt")
	data, _ := swap(t, string(example(t, "pantilt-firmata.toml")), "adaptor =", `adaptor = "raspi"`)
	data, _ = swap(t, data, "baud =", "")
	data, _ = swap(t, data, "bus =", "")
	f, err := hardware.Parse("p", []byte(data), m, noon)
	require.NoError(t, err)
	require.Zero(t, f.Baud)
	require.Equal(t, 1, f.Chips[0].Bus)
	data, _ = swap(t, data, "feedback =", "feedback = \"adc\"\nadc_pin = 3\nadc = [[-1.5, 0], [1.5, 1023]]")
	_, err = hardware.Parse("p", []byte(data), m, noon)
	require.ErrorContains(t, err, "joint.pan.feedback")
	require.ErrorContains(t, err, "no analogue inputs")
}
