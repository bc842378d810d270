package bustest

import (
	"errors"
	"testing"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// FuzzStatus holds Parse to its contract, whatever it is given: it takes no more than
// there is, it goes on, and what it calls a packet is the packet that AppendStatus makes of it.
func FuzzStatus(f *testing.F, c bus.Codec, file string) {
	seed(f, file)
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			s, n, err := c.Parse(b)
			more, good := progress(t, b, n, err)
			if good {
				end := b[:n]
				if p := c.AppendStatus(nil, s); len(p) > n || string(end[n-len(p):]) != string(p) {
					t.Fatalf("%X: a packet %X that isn't there", b, p)
				}
			}
			if more {
				return
			}
			b = b[n:]
		}
	})
}

// FuzzInstruction is the same of ParseInstruction.
func FuzzInstruction(f *testing.F, c bus.Codec, file string) {
	seed(f, file)
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			i, n, err := c.ParseInstruction(b)
			more, good := progress(t, b, n, err)
			if good && i.Op != 0 {
				// What a servo is told may be more than a Bus would say; what it would, it
				// says in the same bytes.
				if p, err := c.Append(nil, i); err == nil && (len(p) > n || string(b[n-len(p):n]) != string(p)) {
					t.Fatalf("%X: an instruction %X that isn't there", b, p)
				}
			}
			if more {
				return
			}
			b = b[n:]
		}
	})
}

func progress(t *testing.T, b []byte, n int, err error) (more, good bool) {
	var d *bus.Damaged
	more, good = errors.Is(err, bus.ErrMore), err == nil
	switch {
	case n < 0 || n > len(b):
		t.Fatalf("%X: %d bytes are done with", b, n)
	case more && n == 0:
	case n == 0 && !more:
		t.Fatalf("%X: nothing is done with: %v", b, err)
	case !more && !good && !errors.As(err, &d):
		t.Fatalf("%X: %v is no error of a codec", b, err)
	}
	return more, good
}

func seed(f *testing.F, file string) {
	for _, w := range Lines(f, file) {
		switch w[0] {
		case "instruction", "status", "stream":
			f.Add(Hex(f, w[1]))
		case "damaged":
			f.Add(Hex(f, w[2]))
		}
	}
}
