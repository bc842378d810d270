package web_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
)

func enrolBody(code string, d *device) string { return d.Enrolment(code, "a tablet") }

func TestG34_ADeviceIsEnrolledWithACodeAndTheOperatorsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		d := newDevice(t)
		offer, err := r.pairing.Open()
		require.NoError(t, err)
		got := make(chan answer, 1)
		go func() { got <- r.do(post(web.Path+"enrol", enrolBody(strings.ToLower(offer.Code), d))) }()
		c, err := offer.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, d.ID, c.Entry.ID)
		require.Equal(t, "key unknown", r.do(d.request("GET", web.Path+"requests", "")).reason(), "not before the operator has signed")
		e, err := r.operator.Vouch(c.Entry)
		require.NoError(t, err)
		require.NoError(t, r.ring.Add(e))
		c.Settle(nil)
		a := <-got
		require.Equal(t, 200, a.status)
		require.Equal(t, map[string]any{"key": d.ID, "name": "a tablet", "kind": "device", "waiting": false}, a.body)
		require.Equal(t, 200, r.do(d.request("GET", web.Path+"requests", "")).status)
		require.Equal(t, "pairing code used", r.do(post(web.Path+"enrol", enrolBody(offer.Code, newDevice(t)))).reason(), "single use")
	})
}

func TestG34_PairingCodesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		d := newDevice(t)
		enrol := func(code string) string {
			time.Sleep(2 * time.Second) // for the rate limit
			return r.do(post(web.Path+"enrol", enrolBody(code, d))).reason()
		}
		require.Equal(t, "no pairing open", enrol("ABCD-2345"))
		offer, err := r.pairing.Open()
		require.NoError(t, err)
		for _, want := range []string{"pairing code wrong", "pairing code wrong", "pairing code wrong", "pairing code wrong", "pairing code tried too often", "no pairing open"} {
			require.Equal(t, want, enrol("0000-0000"))
		}
		require.Equal(t, "no pairing open", enrol(offer.Code), "void after five tries")
		offer, err = r.pairing.Open()
		require.NoError(t, err)
		time.Sleep(signed.PairingLife)
		require.Equal(t, "pairing code expired", enrol(offer.Code))

		offer, err = r.pairing.Open()
		require.NoError(t, err)
		got := make(chan answer, 1)
		go func() { got <- r.do(post(web.Path+"enrol", enrolBody(offer.Code, d))) }()
		c, err := offer.Wait(t.Context())
		require.NoError(t, err)
		c.Settle(signed.ErrNotEnrolled)
		require.Equal(t, "enrolment refused by the operator", (<-got).reason())
		require.Equal(t, "key unknown", r.do(d.request("GET", web.Path+"requests", "")).reason())
	})
}

func TestAnEnrolmentIsHeldTwoMinutesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, end := range []string{"time", "gone"} {
			offer, err := r.pairing.Open()
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			req := post(web.Path+"enrol", enrolBody(offer.Code, newDevice(t))).WithContext(ctx)
			got := make(chan int, 1)
			go func() {
				a := r.serve(req)
				got <- a
			}()
			_, err = offer.Wait(t.Context())
			require.NoError(t, err)
			if end == "gone" {
				cancel()
				require.Equal(t, 200, <-got, "nothing was written")
				continue
			}
			require.Equal(t, 202, <-got)
			cancel()
		}
	})
}

func TestG34_GuessesAreSlowedDownAndNobodyElseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		limited := 0
		for range 50 {
			if a := r.do(post(web.Path+"enrol", enrolBody("0000-0000", newDevice(t)))); a.status == 429 {
				limited++
				require.Equal(t, "2", a.head.Get("Retry-After"))
			}
		}
		require.Equal(t, 45, limited)
		limited = 0
		for range 50 {
			if r.do(newDevice(t).request("GET", web.Path+"requests", "")).status == 429 {
				limited++
			}
			require.Equal(t, 200, r.do(r.dev.request("GET", web.Path+"requests", "")).status, "who is enrolled comes in all the same")
		}
		require.Equal(t, 30, limited)
		require.Equal(t, 429, r.do(post(web.Path+"decide", `{"statement":"","signature":""}`)).status)
	})
}
