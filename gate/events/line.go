package events

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tau-robot/tau/gate"
)

const (
	maxLine    = 8 << 20 // bytes of a line with its newline
	hexSize    = 2 * sha256.Size
	seqMark    = `{"seq":`
	prevMark   = `,"prev":"`
	macMark    = `,"mac":"`
	hashMark   = `","hash":"`
	endMark    = `"}`
	suffixSize = len(macMark) + hexSize + len(hashMark) + hexSize + len(endMark) // without the newline

	genesisDomain = "tau events 1\n"
	lineDomain    = "tau events line 1\n"
	headDomain    = "tau events head 1\n"
)

type digest = [sha256.Size]byte

// genesis is what line 1 of a session's log follows.
func genesis(session string) digest {
	return sha256.Sum256([]byte(genesisDomain + session))
}

// sealer makes the hashes and MACs. Not safe for concurrent use.
type sealer struct {
	sum hash.Hash
	mac hash.Hash // nil: no key
	tmp digest
}

func newSealer(key []byte) *sealer {
	s := &sealer{sum: sha256.New()}
	if key != nil {
		s.mac = hmac.New(sha256.New, key)
	}
	return s
}

// macOf returns the HMAC of domain and data. The result is valid until the next call.
func (s *sealer) macOf(domain string, data []byte) []byte {
	s.mac.Reset()
	s.mac.Write(append(s.tmp[:0], domain...)) // a domain is shorter than tmp
	s.mac.Write(data)
	return s.mac.Sum(s.tmp[:0])
}

// seal ends the line in b (everything before ,"mac":) and returns it with its
// newline, and its hash.
func (s *sealer) seal(b []byte) ([]byte, digest) {
	var body, h digest
	s.sum.Reset()
	s.sum.Write(b)
	s.sum.Sum(body[:0])
	from := len(b)
	b = append(b, macMark...)
	b = hex.AppendEncode(b, s.macOf(lineDomain, body[:]))
	b = append(b, '"')
	s.sum.Write(b[from:])
	s.sum.Sum(h[:0])
	b = append(b, hashMark[1:]...)
	b = hex.AppendEncode(b, h[:])
	b = append(b, endMark...)
	return append(b, '\n'), h
}

// frame is what a line says of its own place.
type frame struct {
	seq  uint64
	prev digest
	hash digest
}

// open checks a line (without its newline) by itself: its form, its hash, and,
// with a key, its MAC. The text says what is wrong, "" that nothing is.
func (s *sealer) open(line []byte) (f frame, wrong string) {
	if len(line) == 0 {
		return f, "is empty"
	}
	if line[len(line)-1] == '\r' {
		return f, "ends in a carriage return"
	}
	rest, ok := bytes.CutPrefix(line, []byte(seqMark))
	digits := bytes.IndexByte(rest, ',')
	if !ok || digits < 1 || digits > 20 || len(rest) < digits+len(prevMark)+hexSize+1+suffixSize {
		return f, "was changed: it isn't of the form of a log line"
	}
	seq, err := strconv.ParseUint(string(rest[:digits]), 10, 64)
	rest = rest[digits:]
	if err != nil || line[len(seqMark)] == '0' || !bytes.HasPrefix(rest, []byte(prevMark)) ||
		!unhex(&f.prev, rest[len(prevMark):]) || rest[len(prevMark)+hexSize] != '"' {
		return f, "was changed: it isn't of the form of a log line"
	}
	f.seq = seq
	body, tail := line[:len(line)-suffixSize], line[len(line)-suffixSize:]
	var mac digest
	hashAt := len(macMark) + hexSize
	if !bytes.HasPrefix(tail, []byte(macMark)) || !unhex(&mac, tail[len(macMark):]) ||
		!bytes.HasPrefix(tail[hashAt:], []byte(hashMark)) || !unhex(&f.hash, tail[hashAt+len(hashMark):]) ||
		!bytes.HasSuffix(tail, []byte(endMark)) {
		return f, "was changed: it doesn't end in its MAC and its hash"
	}
	var sum digest
	s.sum.Reset()
	s.sum.Write(body)
	s.sum.Sum(sum[:0])
	var got digest
	s.sum.Write(tail[:hashAt+1])
	s.sum.Sum(got[:0])
	if got != f.hash {
		return f, "was changed: its hash is another"
	}
	if s.mac != nil && !hmac.Equal(s.macOf(lineDomain, sum[:]), mac[:]) {
		return f, "was rewritten: its MAC isn't one of this key"
	}
	if s.mac == nil && !jsontext.Value(line).IsValid() { // with its MAC right it's as it was made here
		return f, "isn't JSON"
	}
	return f, ""
}

// unhex decodes the lower-case digits that b begins with.
func unhex(d *digest, b []byte) bool {
	if len(b) < hexSize {
		return false
	}
	for _, c := range b[:hexSize] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(d[:], b[:hexSize])
	return err == nil
}

// appendBody appends a line up to its MAC.
func appendBody(b []byte, seq uint64, prev *digest, e *gate.Event) []byte {
	b = append(b, seqMark...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, prevMark...)
	b = hex.AppendEncode(b, prev[:])
	b = append(b, `","type":`...)
	b = appendString(b, e.Type)
	b = append(b, `,"time":"`...)
	b = appendTime(b, e.Time)
	b = append(b, `","session_id":`...)
	b = appendString(b, e.SessionID)
	b = appendField(b, `,"tool":`, e.Tool)
	if e.Tier != nil {
		b = append(b, `,"tier":`...)
		b = strconv.AppendInt(b, int64(*e.Tier), 10)
	}
	b = appendRaw(b, `,"arguments":`, e.Arguments)
	b = appendField(b, `,"status":`, string(e.Status))
	b = appendField(b, `,"code":`, string(e.Code))
	b = appendField(b, `,"result_summary":`, e.ResultSummary)
	b = appendField(b, `,"approval":`, string(e.Approval))
	b = append(b, `,"duration_ms":`...)
	b = appendFloat(b, e.DurationMS)
	b = appendField(b, `,"tool_use_id":`, e.ToolUseID)
	b = appendField(b, `,"call_id":`, e.CallID)
	b = appendField(b, `,"principal":`, e.Principal)
	b = appendField(b, `,"origin":`, e.Origin)
	b = appendField(b, `,"mode":`, string(e.Mode))
	b = appendField(b, `,"backend":`, e.Backend)
	if e.Restored {
		b = append(b, `,"restored":true`...)
	}
	b = appendField(b, `,"routine":`, e.Routine)
	b = appendField(b, `,"allowed_by":`, e.AllowedBy)
	b = appendField(b, `,"part_of":`, e.PartOf)
	b = appendField(b, `,"decision":`, e.Decision)
	b = appendField(b, `,"decider":`, e.Decider)
	b = appendField(b, `,"reason":`, e.Reason)
	b = appendField(b, `,"digest":`, e.Digest)
	if e.Card != nil {
		b = appendCard(b, e.Card)
	}
	b = appendField(b, `,"where":`, e.Where)
	b = appendField(b, `,"text":`, e.Text)
	return appendRaw(b, `,"data":`, e.Data)
}

func appendCard(b []byte, c *gate.Card) []byte {
	b = append(b, `,"card":{`...)
	from := len(b)
	if len(c.Facts) > 0 {
		b = append(b, `,"facts":[`...)
		for i, f := range c.Facts {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"label":`...)
			b = appendString(b, f.Label)
			b = append(b, `,"text":`...)
			b = appendString(b, f.Text)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if len(c.Assumed) > 0 {
		b = append(b, `,"assumed":[`...)
		for i, a := range c.Assumed {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, a)
		}
		b = append(b, ']')
	}
	b = appendRaw(b, `,"data":`, c.Data)
	if len(b) > from { // the first comma goes
		b = append(b[:from], b[from+1:]...)
	}
	return append(b, '}')
}

// appendString appends s as a JSON string. Bytes that aren't UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // its error only says that it replaced bytes
	return b
}

// appendField appends a string field, if it isn't empty.
func appendField(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendRaw appends a field of JSON, if it isn't empty: as it is where it is
// strictly valid (without line breaks between its tokens), else as a string.
func appendRaw(b []byte, name string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return b
	}
	b = append(b, name...)
	v := jsontext.Value(raw)
	if !v.IsValid() {
		return appendString(b, string(raw))
	}
	if bytes.ContainsAny(raw, "\n\r") {
		v = v.Clone()
		if v.Compact() != nil {
			return appendString(b, string(raw))
		}
	}
	return append(b, v...)
}

// appendTime appends t in UTC as RFC 3339; a year beyond four digits, which that
// can't hold, becomes the zero time.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		t = time.Time{}
	}
	return t.AppendFormat(b, time.RFC3339Nano)
}

// appendFloat appends f as a JSON number; what isn't finite becomes null.
func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}
