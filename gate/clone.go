package gate

import (
	"bytes"
	"slices"
	"time"
)

// Clone returns a deep copy.
func (c Card) Clone() Card {
	c.Facts = append([]Fact(nil), c.Facts...)
	c.Assumed = append([]string(nil), c.Assumed...)
	c.Data = bytes.Clone(c.Data)
	return c
}

// Clone returns a deep copy.
func (r Request) Clone() Request {
	r.Args = bytes.Clone(r.Args)
	r.Card = r.Card.Clone()
	r.Notices = slices.Clone(r.Notices)
	return r
}

// Clone returns a deep copy.
func (r Record) Clone() Record {
	r.Request = r.Request.Clone()
	r.Snapshot = bytes.Clone(r.Snapshot)
	r.Answer = bytes.Clone(r.Answer)
	return r
}

// Expired reports whether an expiry has been reached by the wall clock or, where
// both times carry a reading of it, by the monotonic clock: setting the wall
// clock back never makes an approval live longer. A zero expiry is reached at once.
func Expired(now, expiry time.Time) bool {
	return !now.Before(expiry) || !now.Round(0).Before(expiry.Round(0))
}
