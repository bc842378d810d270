package events

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"fmt"
)

const (
	headMark   = "tau-head 1 "
	digits     = 20
	recordSize = len(headMark) + 3*(digits+1) + hexSize + 1 + hexSize + 1
	headSize   = 2 * recordSize
)

// head is what one record of a head file says.
type head struct {
	count      uint64
	start, end int64 // of line count; 0, 0 where count is 0
	hash       digest
}

// offset returns where h's record is in the head file.
func (h *head) offset() int64 { return int64(h.count%2) * int64(recordSize) }

// append appends h's record.
func (h *head) append(b []byte, s *sealer) []byte {
	from := len(b)
	b = append(b, headMark...)
	b = appendPadded(b, h.count)
	b = append(b, ' ')
	b = appendPadded(b, uint64(h.start))
	b = append(b, ' ')
	b = appendPadded(b, uint64(h.end))
	b = append(b, ' ')
	b = hex.AppendEncode(b, h.hash[:])
	mac := s.macOf(headDomain, b[from:])
	b = append(b, ' ')
	b = hex.AppendEncode(b, mac)
	return append(b, '\n')
}

// newHead returns a whole head file for a log without lines.
func newHead(h head, s *sealer) []byte {
	b := h.append(nil, s)
	return append(append(b, bytes.Repeat([]byte{'-'}, recordSize-1)...), '\n')
}

// parseRecord reads the record for slot i and reports whether it is whole and ours.
func parseRecord(rec []byte, i int, s *sealer) (h head, ok bool) {
	if len(rec) != recordSize || !bytes.HasPrefix(rec, []byte(headMark)) {
		return h, false
	}
	p := rec[len(headMark):]
	var n [3]uint64
	for k := range n {
		v, ok := parsePadded(p)
		if !ok || p[digits] != ' ' {
			return h, false
		}
		n[k], p = v, p[digits+1:]
	}
	var mac digest
	if !unhex(&h.hash, p) || p[hexSize] != ' ' || !unhex(&mac, p[hexSize+1:]) || rec[recordSize-1] != '\n' {
		return h, false
	}
	if !hmac.Equal(s.macOf(headDomain, rec[:recordSize-1-hexSize-1]), mac[:]) {
		return h, false
	}
	h.count, h.start, h.end = n[0], int64(n[1]), int64(n[2])
	return h, h.count%2 == uint64(i) && h.start >= 0 && h.end >= h.start
}

// parseHead reads a head file. torn says that one record isn't whole: the one for
// h.count+1 was being written when the process died, so that line is there.
func parseHead(data []byte, s *sealer) (h head, torn bool, err error) {
	if len(data) != headSize {
		return h, false, fmt.Errorf("it has %d bytes, not %d", len(data), headSize)
	}
	a, okA := parseRecord(data[:recordSize], 0, s)
	b, okB := parseRecord(data[recordSize:], 1, s)
	switch {
	case okA && okB && (a.count == b.count+1 || b.count == a.count+1):
		if a.count > b.count {
			return a, false, nil
		}
		return b, false, nil
	case okA && okB:
		return h, false, fmt.Errorf("its records are for %d and %d lines, which never stand side by side", a.count, b.count)
	case okA:
		blank := a.count == 0 && bytes.Count(data[recordSize:], []byte{'-'}) == recordSize-1
		return a, !blank, nil
	case okB:
		return b, true, nil
	}
	return h, false, fmt.Errorf("neither of its records is one of this key")
}

// appendPadded appends v with 20 digits, which any uint64 fits.
func appendPadded(b []byte, v uint64) []byte {
	n := len(b)
	b = append(b, "00000000000000000000"...)
	for i := n + digits - 1; v > 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// parsePadded reads the 20 digits that b begins with, up to 2^63-1.
func parsePadded(b []byte) (v uint64, ok bool) {
	if len(b) <= digits {
		return 0, false
	}
	for _, c := range b[:digits] {
		if c < '0' || c > '9' || v > (1<<63-1)/10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, v <= 1<<63-1
}
