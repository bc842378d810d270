package signed

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func newPairing() *Pairing { return NewPairing(&counter{}, time.Now) }

func TestG34_APairingCodeCountsOnceWithinTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPairing()
		_, err := p.Present("ABCD-2345", "a phone", stranger.Public())
		refused(t, err, ReasonNoPairing)

		o, err := p.Open()
		require.NoError(t, err)
		require.Regexp(t, `^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$`, o.Code)
		c, err := p.Present(lower(o.Code), "a phone", stranger.Public())
		require.NoError(t, err)
		_, err = p.Present(o.Code, "another", stranger.Public())
		refused(t, err, ReasonPairingUsed)
		got, err := o.Wait(t.Context())
		require.NoError(t, err)
		require.Same(t, c, got)
		require.Equal(t, KindDevice, c.Entry.Kind, "it is never an operator's")
		require.Equal(t, stranger.ID(), c.Entry.ID)
		require.Empty(t, c.Entry.Signature)
		select {
		case <-c.Done():
			t.Fatal("nobody has confirmed it")
		default:
		}
		c.Settle(nil)
		c.Settle(errors.New("late"))
		require.NoError(t, c.Err())

		o, err = p.Open()
		require.NoError(t, err)
		time.Sleep(PairingLife)
		_, err = p.Present(o.Code, "a phone", stranger.Public())
		refused(t, err, ReasonPairingLate)
		_, err = o.Wait(t.Context())
		refused(t, err, ReasonPairingLate)
	})
}

func lower(s string) string { return string(bytes.ToLower([]byte(s))) }

func TestG34_APairingCodeIsTriedFiveTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPairing()
		o, err := p.Open()
		require.NoError(t, err)
		waits := make(chan error, 1)
		go func() {
			_, err := o.Wait(t.Context())
			waits <- err
		}()
		for i := range PairingTries {
			_, err := p.Present("AAAA-AAAA", "a phone", stranger.Public())
			if i < PairingTries-1 {
				refused(t, err, ReasonPairingCode)
			} else {
				refused(t, err, ReasonTooMany)
			}
		}
		_, err = p.Present(o.Code, "a phone", stranger.Public())
		refused(t, err, ReasonNoPairing)
		refused(t, <-waits, ReasonNoPairing)

		// A public key that is none, or no name, is no try.
		o, err = p.Open()
		require.NoError(t, err)
		for range 2 * PairingTries {
			_, err = p.Present(o.Code, "", stranger.Public())
			require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err))
			_, err = p.Present(o.Code, "a phone", []byte("x"))
			require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err))
		}
		_, err = p.Present(o.Code, "a phone", stranger.Public())
		require.NoError(t, err)
	})
}

func TestG34_OfManyWhoKnowTheCodeOneIsTheCandidate(t *testing.T) {
	p := newPairing()
	o, err := p.Open()
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 50 {
		wg.Go(func() {
			_, err := p.Present(o.Code, "a phone", stranger.Public())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
			} else {
				refused(t, err, ReasonPairingUsed)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, taken)
}

func TestAPairingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPairing()
		first, err := p.Open()
		require.NoError(t, err)
		second, err := p.Open()
		require.NoError(t, err)
		require.NotEqual(t, first.Code, second.Code)
		_, err = first.Wait(t.Context())
		refused(t, err, ReasonNoPairing)
		first.Close() // of an offer that has ended: the second one stays
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		_, err = second.Wait(ctx)
		require.ErrorIs(t, err, gone)
		second.Close()
		second.Close()
		_, err = p.Present(second.Code, "a phone", stranger.Public())
		refused(t, err, ReasonNoPairing)
		_, err = NewPairing(bytes.NewReader(nil), time.Now).Open()
		require.Equal(t, gate.CodeInternal, gate.CodeOf(err))
	})
}
