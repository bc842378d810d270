package bus

import (
	"bytes"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

// SyncRead reads count bytes from addr on of each of ids with one packet; who doesn't
// answer is asked again with those that didn't either. For the servo ids[k] the bytes are
// dst[k·count:(k+1)·count], its error byte is status[k], and errs[k] is nil, or says why there is nothing: those bytes are then as they
// were, and no news. answered is how many have no error. dst has count bytes for each
// servo; status and errs have one element for each.
//
// err is of the line (DISCONNECTED, LINK_TIMEOUT) or of the arguments; the slices then say
// nothing.
func (b *Bus) SyncRead(addr uint16, count int, ids, dst []byte, status []byte, errs []error) (answered int, err error) {
	if len(dst) != len(ids)*count || len(status) != len(ids) || len(errs) != len(ids) {
		return 0, robot.Errf(robot.CodeInvalidArgument, b.o.Name, "sync read: %d servos with %d bytes each don't fit slices of %d, %d and %d", len(ids), count, len(dst), len(status), len(errs))
	}
	for k, id := range ids {
		if bytes.IndexByte(ids[:k], id) >= 0 {
			return 0, robot.Errf(robot.CodeInvalidArgument, b.servo(id), "sync read: the ID is named twice")
		}
		errs[k] = errLate
	}
	b.ids = append(b.ids[:0], ids...)
	var deadline time.Time
	for try := 0; try < b.o.Tries && len(b.ids) > 0; try++ {
		if try > 0 {
			b.count.Tries++
		}
		i := Instruction{Op: SyncRead, ID: Broadcast, Addr: addr, Count: count, IDs: b.ids}
		if err := b.send(i, true); err != nil {
			return 0, err
		}
		deadline = b.free.Add(b.Exchange(0, len(b.ids), count))
		for len(b.ids) > 0 {
			s, err := b.next(deadline)
			if errors.Is(err, errLate) {
				b.missed = true
				break
			}
			if err != nil {
				return 0, err
			}
			b.noEcho()
			at := bytes.IndexByte(b.ids, s.ID)
			why := b.codec.Refused(s.Error)
			if at < 0 || len(s.Params) != count && why == "" {
				b.count.Foreign++
				continue
			}
			if b.codec.Instruction(s) {
				// Two bytes of a servo whose encoder is broken, or another host.
				b.count.Foreign++
				b.hurt = true
				continue
			}
			b.ids = append(b.ids[:at], b.ids[at+1:]...)
			k := bytes.IndexByte(ids, s.ID)
			status[k] = s.Error
			if why != "" {
				b.count.Refused++
				i.ID = s.ID
				errs[k] = b.refusal(i, s.Error, why)
				continue
			}
			b.count.Answered++
			copy(dst[k*count:(k+1)*count], s.Params)
			errs[k] = nil
			answered++
		}
	}
	b.ended(deadline)
	if len(b.ids) == 0 {
		return answered, nil
	}
	for k, id := range ids {
		if errors.Is(errs[k], errLate) {
			b.count.Failed++
			errs[k] = b.absent(id, b.hurt)
		}
	}
	return answered, nil
}
