package wire

// Dropped counts the frames that were dropped, by reason, and with them what noise
// looked like a frame.
type Dropped struct {
	Short  uint64 // a body of less than MinBody bytes
	Long   uint64 // more than MaxBody
	Coding uint64 // not COBS
	Check  uint64 // a wrong crc
}

// Total is all of them.
func (d Dropped) Total() uint64 { return d.Short + d.Long + d.Coding + d.Check }

// Decoder takes bytes as they arrive and gives frames. It holds MaxFrame bytes,
// allocates nothing, and is in step again at the next zero after any noise. The
// zero value is ready. One goroutine at a time.
type Decoder struct {
	buf     [MaxFrame - 1]byte // a coded body; decoded in place
	n       int
	long    bool // more came than buf holds
	dropped Dropped
}

// Next takes bytes of p until a frame is whole and returns how many it took. ok says
// whether there is a frame; without one all of p was taken. The frame's payload is
// the decoder's and holds until its next call.
//
//	for len(p) > 0 {
//		n, f, ok := d.Next(p)
//		p = p[n:]
//		if ok { … }
//	}
func (d *Decoder) Next(p []byte) (n int, f Frame, ok bool) {
	for i, b := range p {
		switch {
		case b != 0 && d.n < len(d.buf):
			d.buf[d.n] = b
			d.n++
		case b != 0:
			d.long = true
		default:
			if f, ok = d.frame(); ok {
				return i + 1, f, true
			}
		}
	}
	return len(p), Frame{}, false
}

// Reset forgets half a frame, as after the port was opened again. Counts stay.
func (d *Decoder) Reset() { d.n, d.long = 0, false }

// Dropped returns the counts since the decoder was made.
func (d *Decoder) Dropped() Dropped { return d.dropped }

// frame decodes what came before a delimiter and begins anew.
func (d *Decoder) frame() (Frame, bool) {
	raw, long := d.buf[:d.n], d.long
	d.Reset()
	if len(raw) == 0 {
		return Frame{}, false
	}
	if long {
		d.dropped.Long++
		return Frame{}, false
	}
	body, ok := uncode(raw)
	switch {
	case !ok:
		d.dropped.Coding++
	case len(body) < MinBody:
		d.dropped.Short++
	case CRC(body[:len(body)-2]) != uint16(body[len(body)-2])|uint16(body[len(body)-1])<<8:
		d.dropped.Check++
	default:
		return Frame{Type: Type(body[0]), Seq: body[1], Payload: body[2 : len(body)-2]}, true
	}
	return Frame{}, false
}

// uncode undoes COBS in place. raw has no zero and is too short for a code that
// stands for no zero (0xFF).
func uncode(raw []byte) ([]byte, bool) {
	n := 0
	for i := 0; i < len(raw); {
		next := i + int(raw[i])
		if next > len(raw) {
			return nil, false
		}
		n += copy(raw[n:], raw[i+1:next])
		if next < len(raw) {
			raw[n] = 0
			n++
		}
		i = next
	}
	return raw[:n], true
}

// Missing counts what a sequence of frames lacks. The zero value takes any first
// number. One goroutine at a time.
type Missing struct {
	next  byte
	begun bool
	count uint64
}

// Take takes the number of the next frame that arrived and returns how many before
// it did not, modulo 256. The number 0 of a HELLO_REPLY begins anew; tell it by Reset.
func (m *Missing) Take(seq byte) int {
	lost := 0
	if m.begun {
		lost = int(seq - m.next)
	}
	m.begun, m.next = true, seq+1
	m.count += uint64(lost)
	return lost
}

// Reset begins anew: the next number is taken whatever it is. The count stays.
func (m *Missing) Reset() { m.begun = false }

// Count is how many frames were missing so far.
func (m *Missing) Count() uint64 { return m.count }
