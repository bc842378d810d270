package emulator

import (
	"cmp"
	"slices"
	"time"
)

const (
	host    = -1 // as the source of a frame
	bitsOf  = 10 // 8N1: a start bit, eight of data, a stop bit
	keepFor = 2 * time.Millisecond
	rare    = 64 // bytes that are done, before those are looked for that may be forgotten
)

// frame is one byte on the wire. Times are since the bus was made.
type frame struct {
	from, to time.Duration
	b        byte
	baud     int
	src      int // the place of a servo, or host
	done     bool
	packet   *sending
}

// sending is a packet of a servo, or a write of the host, on its way.
type sending struct {
	packet  Packet
	left    int
	strange []byte // of it, where the host listens at another rate
}

// byteTime is how long a byte takes at a rate.
func byteTime(baud int) time.Duration {
	return time.Duration(bitsOf) * time.Second / time.Duration(baud)
}

// wire is the line: what is on it, was a moment ago, and will be.
type wire struct {
	frames []frame // by start
	free   time.Duration
	passed int           // of frames, so many at the beginning are done
	most   time.Duration // that a byte has taken yet
}

// put lays bytes on the line, one after the other, from a time on.
func (w *wire) put(src int, b []byte, from time.Duration, baud int, p *sending) (end time.Duration) {
	each := byteTime(baud)
	w.most = max(w.most, each)
	for _, c := range b {
		f := frame{from: from, to: from + each, b: c, baud: baud, src: src, packet: p}
		i := len(w.frames)
		for i > 0 && w.frames[i-1].from > f.from {
			i--
		}
		w.frames = slices.Insert(w.frames, i, f)
		w.passed = min(w.passed, i)
		from = f.to
	}
	return from
}

// next returns which byte comes to its end first of those that haven't, -1 for none.
func (w *wire) next() int {
	for w.passed < len(w.frames) && w.frames[w.passed].done {
		w.passed++
	}
	first := -1
	for i := w.passed; i < len(w.frames); i++ {
		f := &w.frames[i]
		if first >= 0 && f.from >= w.frames[first].to {
			break // it, and all that come after it, end later
		}
		if !f.done && (first < 0 || f.to < w.frames[first].to) {
			first = i
		}
	}
	return first
}

// heard returns what a listener at the line makes of the i-th frame. Two that drive the
// line at once leave it low where either is low, as an open collector does, and the
// listener samples the middle of each bit of the frame. clash: there was another one.
// lost: another one was being received when it began, so that there is no byte of it.
func (w *wire) heard(i int) (b byte, clash, lost bool) {
	f := &w.frames[i]
	b = f.b
	from := i
	for from > 0 && w.frames[from-1].from+w.most > f.from {
		from--
	}
	for k := from; k < len(w.frames) && w.frames[k].from < f.to; k++ {
		g := &w.frames[k]
		if g.src == f.src || g.to <= f.from || g.from >= f.to {
			continue
		}
		clash = true
		if g.from < f.from || g.from == f.from && k < i {
			lost = true
		}
		bit := (f.to - f.from) / bitsOf
		for n := range 8 {
			at := f.from + bit*time.Duration(n+1) + bit/2
			if g.low(at) {
				b &^= 1 << n
			}
		}
		if g.low(f.to - bit/2) { // no stop bit: what a driver makes of a break
			b = 0
		}
	}
	return b, clash, lost
}

// low says that the frame pulls the line down at a time.
func (f *frame) low(at time.Duration) bool {
	if at < f.from || at >= f.to {
		return false
	}
	n := int((at - f.from) * bitsOf / (f.to - f.from))
	return n == 0 || n <= 8 && f.b>>(n-1)&1 == 0
}

// due is when there will be something new for whoever reads at the host's end: the end of
// the next packet of a servo, or else of what the host still sends.
func (w *wire) due() (at time.Duration, ok bool) {
	sent, answered := time.Duration(-1), time.Duration(-1)
	for i := w.passed; i < len(w.frames); i++ {
		f := &w.frames[i]
		switch {
		case f.done:
		case f.src == host:
			sent = max(sent, f.to)
		default:
			if end := f.packet.packet.End; answered < 0 || end < answered {
				answered = end
			}
		}
	}
	if answered >= 0 {
		return answered, true
	}
	return sent, sent >= 0
}

// postpone moves what a source still has to send behind a time.
func (w *wire) postpone(src int, until time.Duration) {
	var late []frame
	w.frames = slices.DeleteFunc(w.frames, func(f frame) bool {
		mine := !f.done && f.src == src
		if mine {
			late = append(late, f)
		}
		return mine
	})
	for _, f := range late {
		w.free = w.put(src, []byte{f.b}, max(until, f.from), f.baud, f.packet)
		until = w.free
	}
}

// busy is until when servos send.
func (w *wire) busy() (until time.Duration) {
	for i := range w.frames {
		if f := &w.frames[i]; f.src != host {
			until = max(until, f.to)
		}
	}
	return until
}

// follows says that a byte of the same source comes right behind one.
func (w *wire) follows(f frame) bool {
	at, _ := slices.BinarySearchFunc(w.frames, f.to, func(g frame, t time.Duration) int { return cmp.Compare(g.from, t) })
	for i := at; i < len(w.frames) && w.frames[i].from == f.to; i++ {
		if g := &w.frames[i]; g.src == f.src && g.baud == f.baud {
			return true
		}
	}
	return false
}

// silence takes back what a source hasn't sent yet.
func (w *wire) silence(src int) {
	w.frames = slices.DeleteFunc(w.frames, func(f frame) bool { return !f.done && f.src == src })
	w.passed = 0
}

// prune forgets what nothing can meet any more.
func (w *wire) prune(now time.Duration) {
	if w.passed < rare {
		return
	}
	old := 0
	for old < len(w.frames) && w.frames[old].done && w.frames[old].to+keepFor <= now {
		old++
	}
	if old < len(w.frames)-old || old == 0 {
		return // moving the rest would cost more than it gives
	}
	w.frames = slices.Delete(w.frames, 0, old)
	w.passed = 0
}

// resample is what a receiver at one rate makes of bytes that are sent back to back at
// another one: it waits for the line to fall, and samples the middle of each bit as it
// believes them to be. Bytes without their stop bit are dropped.
func resample(b []byte, sent, received int) []byte {
	if sent == received {
		return b
	}
	bits := len(b) * bitsOf
	level := func(at float64) bool { // at in bits of the sender
		n := int(at)
		if at < 0 || n >= bits {
			return true
		}
		k := n % bitsOf
		return k == bitsOf-1 || k > 0 && b[n/bitsOf]>>(k-1)&1 == 1
	}
	ratio := float64(sent) / float64(received) // bits of the sender in one of the receiver
	var out []byte
	const fine = 16 // a receiver looks so many times a bit, its own or the sender's, for the line to fall
	step := min(ratio, 1) / fine
	for at := 0.0; at < float64(bits); {
		if level(at) {
			at += step
			continue
		}
		var c byte
		for k := range 8 {
			if level(at + ratio*(float64(k)+1.5)) {
				c |= 1 << k
			}
		}
		stop := level(at + ratio*9.5)
		if stop {
			out = append(out, c)
		}
		at += ratio * 9.5
		for !stop && at < float64(bits) && !level(at) {
			at += step
		}
	}
	return out
}
