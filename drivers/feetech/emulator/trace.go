package emulator

import (
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// Packet is one packet that was on the wire.
type Packet struct {
	FromHost bool
	// Servo is the ID that the servo was made with, of its own packets.
	Servo    byte
	At, End  time.Duration // of its first byte's start and its last one's end, since the bus was made
	Bytes    []byte        // as they were sent
	Collided bool          // somebody else was sending at the same time
	// Op is the host's instruction, 0 where its bytes are none; with it ID, Addr, Count,
	// IDs and Data, as bus.Instruction has them. Of a servo's packet ID is what it says.
	Op    bus.Op
	ID    byte
	Addr  uint16
	Count int
	IDs   []byte
	Data  []byte
}

// Written is a value that the host wrote to a register of a servo.
type Written struct {
	At   time.Duration // when the packet had arrived
	ID   byte          // as addressed, bus.Broadcast where all were
	Data []byte
}

// Recorder keeps packets. Its Add is for Options.Trace; it may be used by several
// goroutines.
type Recorder struct {
	mu   sync.Mutex
	kept []Packet
}

// Add keeps a packet.
func (r *Recorder) Add(p Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, p)
}

// Packets returns what was kept, in the order of the packets' ends. The slice is the
// caller's.
func (r *Recorder) Packets() []Packet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

// Reset forgets what was kept.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = nil
}

// Writes returns what the host wrote to so many bytes of registers at an address, by Write
// and SyncWrite alike, in order; writes that don't reach all of them are left out.
func (r *Recorder) Writes(addr uint16, size int) []Written {
	var out []Written
	for _, p := range r.Packets() {
		off := int(addr) - int(p.Addr)
		if !p.FromHost || off < 0 || off+size > p.Count {
			continue
		}
		switch p.Op {
		case bus.Write:
			out = append(out, Written{At: p.End, ID: p.ID, Data: p.Data[off : off+size]})
		case bus.SyncWrite:
			for k, id := range p.IDs {
				out = append(out, Written{At: p.End, ID: id, Data: p.Data[k*p.Count+off:][:size]})
			}
		}
	}
	return out
}

// instructed fills a packet of the host.
func (p *Packet) instructed(i bus.Instruction) {
	p.Op, p.ID, p.Addr, p.Count = i.Op, i.ID, i.Addr, i.Count
	p.IDs, p.Data = slices.Clone(i.IDs), slices.Clone(i.Data)
	if i.Op == bus.Write {
		p.Count = len(i.Data)
	}
}
