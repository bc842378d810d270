package telegram_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCase58_TheEndTakesTheButtonsAwayAndApprovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(deskOf(r.c), request("c1"))
		r.api.Card(home)
		require.NoError(t, r.end())
		require.Equal(t, gate.Word{Decision: gate.Void, Reason: telegram.ReasonEnded}, q.end())
		require.Empty(t, r.api.Open(), "by the time Run returned")
		require.True(t, r.c.Unattended())
		w, err := r.c.Decide(context.Background(), request("c2"))
		require.NoError(t, err)
		require.Equal(t, gate.Word{Decision: gate.Void, Reason: telegram.ReasonEnded}, w)
	})
}

func TestTheEndDoesNotWaitForATelegramThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(r.c, request("c1"))
		r.api.Card(home)
		r.api.Fault("editMessageText", telegramtest.Fault{Delay: time.Hour})
		before := time.Now()
		require.NoError(t, r.end())
		require.LessOrEqual(t, time.Since(before), 3*time.Second)
		require.NotEqual(t, gate.Approved, q.end().Decision)
	})
}

func TestATokenThatTelegramDoesNotKnowIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong, err := telegram.NewToken("7001:" + strings.Repeat("w", 35))
		require.NoError(t, err)
		r := newRig(t, func(o *telegram.Options) { o.Token = wrong })
		err = r.c.Hello(t.Context())
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err))
		require.ErrorContains(t, err, "doesn't know this bot's token")
		require.NotContains(t, err.Error(), "wwww")
		r.run()
		require.Error(t, <-r.ran)
		r.ran <- nil
		require.True(t, r.c.Unattended())
	})
}

func TestATokenThatIsRevokedEndsTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(r.c, request("c1"))
		r.api.Card(home)
		r.api.Fault("getUpdates", telegramtest.Fault{Status: 401})
		r.api.Say(home, ada, "hello")
		require.Equal(t, gate.CodeDisconnected, gate.CodeOf(<-r.ran))
		r.ran <- nil
		require.Equal(t, telegram.ReasonEnded, q.end().Reason)
		require.Contains(t, r.log.String(), "nobody can approve there")
	})
}

func TestAHelloThatMayPassIsNotTheTokensFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.api.Fault("getMe", telegramtest.Fault{Cut: true}, telegramtest.Fault{Status: 500}, telegramtest.Fault{Body: `{"ok":true,"result":{}}`})
		for range 3 {
			require.Equal(t, gate.CodeDisconnected, gate.CodeOf(r.c.Hello(t.Context())))
		}
		require.NoError(t, r.c.Hello(t.Context()))
	})
}

// TestNoErrorHoldsTheToken dials where nobody listens and asks where the address can't
// be one; every error in the chain is looked at.
func TestNoErrorHoldsTheToken(t *testing.T) {
	for _, addr := range []string{"http://127.0.0.1:1", "https://127.0.0.1:1/prefix"} {
		r := newRig(t, func(o *telegram.Options) { o.Settings.API, o.Transport = addr, nil })
		for err := r.c.Hello(t.Context()); err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, err.Error(), "0123456789abcdefghij")
		}
	}
}
