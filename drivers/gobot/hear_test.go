package gobot

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func TestMessagesAreTakenOutOfWhatArrives(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want [][]byte
		bad  int
	}{
		{"two messages", []byte{0xF9, 2, 5, 0xE0, 1, 2}, [][]byte{{0xF9, 2, 5}, {0xE0, 1, 2}}, 0},
		{"noise before", []byte{1, 2, 0x7F, 0xF9, 2, 5}, [][]byte{{0xF9, 2, 5}}, 3},
		{"a lost byte costs its message", []byte{0xE0, 1, 0xE1, 3, 4}, [][]byte{{0xE1, 3, 4}}, 2},
		{"a lost end", []byte{0xF0, 0x6E, 9, 4, 0xE1, 3, 4}, [][]byte{{0xE1, 3, 4}}, 4},
		{"an end of nothing", []byte{0xF7, 0xF9, 2, 5}, [][]byte{{0xF9, 2, 5}}, 1},
		{"an end in a short message", []byte{0xE0, 1, 0xF7, 0xF9, 2, 5}, [][]byte{{0xF9, 2, 5}}, 3},
		{"what boards don't say", []byte{0xFF, 0xC0, 1, 0xF4, 9, 4, 0xF9, 2, 5}, [][]byte{{0xF9, 2, 5}}, 6},
		{"sysex", []byte{0xF0, 0x71, 'a', 0, 0xF7}, [][]byte{{0xF0, 0x71, 'a', 0, 0xF7}}, 0},
	} {
		var p parser
		var got [][]byte
		for _, b := range c.in {
			if m := p.feed(b); m != nil {
				got = append(got, m)
			}
		}
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.bad, p.bad, c.name)
	}
	var p parser
	require.Nil(t, p.feed(0xF0))
	for range 10 * maxMessage {
		require.Nil(t, p.feed(1))
		require.LessOrEqual(t, len(p.message), maxMessage)
	}
}

// What would be a panic in the library's own goroutine, which nobody can recover, doesn't
// get there, and what a board says of itself unasked is told from answers.
func TestWhatTheLibraryCantTakeIsKeptFromIt(t *testing.T) {
	for _, c := range []struct {
		name string
		say  []byte
	}{
		{"a pin that isn't there", []byte{0xF0, 0x6E, 99, 1, 0, 0xF7}},
		{"a state without a mode", []byte{0xF0, 0x6E, 9, 0xF7}},
		{"a state that nobody asked for", []byte{0xF0, 0x6E, 8, 4, 1, 0xF7}},
		{"an answer over I2C without data", []byte{0xF0, 0x77, 0x40, 0, 0, 0, 0xF7}},
		{"half an answer over I2C", []byte{0xF0, 0x77, 0x40, 0xF7}},
		{"an answer over I2C that nobody asked for", []byte{0xF0, 0x77, 0x40, 0, 0, 0, 1, 0, 0xF7}},
		{"other capabilities", []byte{0xF0, 0x6C, 0, 1, 0x7F, 0xF7}},
		{"none at all", []byte{0xF0, 0x6C, 0xF7}},
		{"another mapping", append(append([]byte{0xF0, 0x6A}, make([]byte, 100)...), 0xF7)},
		{"no name", []byte{0xF0, 0x79, 0xF7}},
		{"nothing", []byte{0xF0, 0xF7}},
		{"an empty text", []byte{0xF0, 0x71, 0xF7}},
		{"an input that isn't there", []byte{0xEF, 1, 2}},
		{"a digital input", []byte{0x92, 1, 0}},
		{"something else", []byte{0xF0, 0x01, 0, 0xF7}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, s := talk(t, someRules(t))
			pins := len(b.c.Pins())
			s.say(c.say...)
			synctest.Wait()
			s.say(0xF0, 0x6E, 9, 4, 1, 11, 0xF7) // what is asked for next
			st, err := b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
			require.NoError(t, err, c.name)
			require.Equal(t, state{4, 1 | 11<<7}, st, c.name)
			require.Len(t, b.c.Pins(), pins, c.name)
			require.NoError(t, b.t.failed(), c.name)
		})
	}
}

// An answer that comes after its question was given up isn't taken for the next one's.
func TestALateAnswerIsNotTheNextOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := talk(t, someRules(t))
		_, err := b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		s.say(0xF0, 0x6E, 9, 4, 1, 11, 0xF7)
		_, err = b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "the old answer doesn't count")
		mark := b.mark
		require.GreaterOrEqual(t, mark, 20, "it asks for a pin that no board has")
		s.say(0xF0, 0x6E, byte(mark), 0xF7) // the answer to the question before
		_, err = b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
		require.Error(t, err, "nor does the answer to the one before")
		s.say(0xF0, 0x6E, 9, 4, 1, 11, 0xF7, 0xF0, 0x6E, byte(b.mark+1), 0xF7, 0xF0, 0x6E, 9, 4, 2, 11, 0xF7)
		st, err := b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
		require.NoError(t, err)
		require.Equal(t, 2|11<<7, st.value)
	})
}

// Case 48 for I2C: what a board's buffer held before isn't what a device says that isn't
// there, whether the board sends it (version 2.4) or not (2.5).
func TestCase48_AnAbsentDeviceSaysNothing(t *testing.T) {
	tooFew := []byte{0xF0, 0x71}
	for _, c := range "I2C: Too few bytes received" {
		tooFew = append(tooFew, byte(c), 0)
	}
	tooFew = append(tooFew, 0xF7)
	for _, answer := range [][]byte{nil, {0xF0, 0x77, 0x40, 0, 0, 0, 0xF7}, {0xF0, 0x77, 0x40, 0, 0, 0, 0x20, 0, 0xF7}} {
		synctest.Test(t, func(t *testing.T) {
			b, s := talk(t, someRules(t))
			s.say(append(tooFew, answer...)...)
			_, err := b.readI2C(context.Background(), readWithin, 0x40, 0, 1)
			require.Equal(t, robot.CodeToolFailed, robot.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "Too few bytes")
			// What is left of that answer isn't the next one's.
			s.say(0xF0, 0x6E, byte(len(b.pins)), 0xF7, 0xF0, 0x77, 0x40, 0, 0, 0, 7, 0, 0xF7)
			data, err := b.readI2C(context.Background(), readWithin, 0x40, 0, 1)
			require.NoError(t, err)
			require.Equal(t, []byte{7}, data)
		})
	}
}

// An answer over I2C that is shorter or longer than what was asked for is none, and costs
// nothing but itself.
func TestAnAnswerOfAnotherLengthIsNone(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 32} {
		synctest.Test(t, func(t *testing.T) {
			b, s := talk(t, someRules(t))
			var i2c bus = &firmata{board: b}
			answer := func(n int) []byte {
				return append(append([]byte{0xF0, 0x77, 0x40, 0, 0, 0}, make([]byte, 2*n)...), 0xF7)
			}
			s.say(answer(n)...)
			_, err := i2c.readI2C(context.Background(), doneWithin, 0x40, 6, 4)
			require.Equal(t, robot.CodeToolFailed, robot.CodeOf(err), "%v", err)
			var e *robot.Error
			require.ErrorAs(t, err, &e)
			require.InDelta(t, n, e.Value.Value, 0)
			require.InDelta(t, 4, e.Limit.Value, 0)
			s.say(append([]byte{0xF0, 0x6E, byte(len(b.pins)), 0xF7}, answer(4)...)...)
			data, err := i2c.readI2C(context.Background(), readWithin, 0x40, 6, 4)
			require.NoError(t, err)
			require.Len(t, data, 4)
		})
	}
}

// The library asks a failed connection again at once; ours lets it wait.
func TestALostLinkDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := talk(t, someRules(t))
		errs := 0
		require.NoError(t, b.on.On("Error", func(any) { errs++ }))
		require.NoError(t, s.Close()) // unplugged
		<-b.t.lost
		time.Sleep(time.Hour)
		require.Zero(t, errs)
		_, err := b.pinState(context.Background(), 9, readWithin, robot.CodeStaleState)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.NoError(t, b.Close())
		synctest.Wait()
		require.LessOrEqual(t, errs, 1)
		require.False(t, b.c.Connected())
	})
}

// Nobody who says what isn't Firmata, nothing, or too much becomes a board.
func TestWhatIsNoBoardIsNotConnected(t *testing.T) {
	for _, c := range []struct {
		name string
		say  []byte
		code robot.Code
		text string
	}{
		{"silence", nil, robot.CodeLinkTimeout, "doesn't answer"},
		{"another baud rate", []byte{0x12, 0x80, 0xFE, 0x33}, robot.CodeLinkTimeout, "isn't Firmata"},
		{"a version alone", []byte{0xF9, 2, 5}, robot.CodeLinkTimeout, "what its pins can do"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStub()
			s.mute = true
			s.say(c.say...)
			b := newBoard(s, someRules(t).judge, discard())
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			err := b.connect(ctx)
			require.Equal(t, c.code, robot.CodeOf(err), "%s: %v", c.name, err)
			require.ErrorContains(t, err, c.text)
		})
	}
	synctest.Test(t, func(t *testing.T) { // too much
		b, s := talk(t, someRules(t))
		for range mostQueued + 1 {
			s.say(0xF9, 2, 5)
		}
		<-b.t.lost
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(b.t.failed()))
	})
	synctest.Test(t, func(t *testing.T) { // inputs replace each other: a stall leaves the newest
		b, s := talk(t, someRules(t))
		for i := range 10 * mostQueued {
			s.say(0xE2, byte(i&127), byte(i>>7&127))
		}
		synctest.Wait()
		q := b.t.take()
		require.Len(t, q, 1)
		last := 10*mostQueued - 1
		require.Equal(t, last, word(q[0].bytes[1], q[0].bytes[2]))
	})
}

// A board that speaks another version of the protocol isn't talked to, and one that says its
// version unasked has booted.
func TestAnotherProtocolAndABoot(t *testing.T) {
	for _, c := range []struct {
		major byte
		code  robot.Code
	}{{1, robot.CodeNotSupported}, {3, robot.CodeNotSupported}, {2, ""}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStub()
			s.major = c.major
			b := newBoard(s, someRules(t).judge, discard())
			err := b.connect(context.Background())
			require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
			if err != nil {
				require.ErrorContains(t, err, "StandardFirmata")
				select {
				case <-s.closed:
				default:
					require.Fail(t, "the line isn't given back")
				}
				return
			}
			require.False(t, b.restarted)
			s.say(0xF9, 2, 5)
			synctest.Wait()
			for _, m := range b.t.take() {
				b.hear(m)
			}
			require.True(t, b.restarted)
			require.NoError(t, b.Close())
		})
	}
}

// lazy is a line whose reader gets no time for a while once it has data.
type lazy struct {
	*stub
	busy atomic.Bool
}

func (l *lazy) Read(p []byte) (int, error) {
	n, err := l.stub.Read(p)
	for l.busy.Load() {
		time.Sleep(time.Millisecond)
	}
	return n, err
}

// A process that had no time doesn't take what waited for it for something new.
func TestWhatWaitedIsNotNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &lazy{stub: newStub()}
		b := newBoard(line, someRules(t).judge, discard())
		require.NoError(t, b.connect(context.Background()))
		defer func() { require.NoError(t, b.Close()) }()
		hear := func() {
			time.Sleep(10 * time.Millisecond)
			for _, m := range b.t.take() {
				b.hear(m)
			}
		}
		line.say(0xE2, 1, 0)
		hear()
		line.busy.Store(true)
		line.say(0xE2, 7, 0)
		measured := time.Now()
		time.Sleep(time.Second)
		line.busy.Store(false)
		hear()
		require.Equal(t, 7, b.analog[2].counts)
		require.False(t, b.analog[2].at.After(measured), "it is a second old")
		time.Sleep(time.Second)
		line.say(0xE2, 8, 0)
		hear()
		line.say(0xE2, 9, 0)
		hear()
		require.Equal(t, 9, b.analog[2].counts)
		require.True(t, b.analog[2].at.After(measured), "and this isn't")
	})
}

// A board that says nothing is asked a few times in all: what it is sent it may keep, behind
// the beginning of a message that was cut off. Plugged in again it is asked a few times more,
// and when it says by itself that it is there it is one like any other.
func TestASilentBoardIsAskedAFewTimesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := &hellos{}
		connect := func(s *stub) (*board, error) {
			b := newBoard(s, someRules(t).judge, discard())
			b.hellos = asked
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return b, b.connect(ctx)
		}
		sent := func(connections int) (n int) {
			for range connections {
				s := newStub()
				s.mute = true
				_, err := connect(s)
				require.Equal(t, robot.CodeLinkTimeout, robot.CodeOf(err), "%v", err)
				require.ErrorContains(t, err, "reset button")
				n += len(s.since(0))
			}
			return n
		}
		require.Equal(t, fewHellos, sent(1))
		require.Equal(t, mostHellos-fewHellos, sent(100))
		for range 5 {
			asked.replugged()
		}
		require.Equal(t, 4, sent(1))
		require.Equal(t, mostHellos-fewHellos, sent(100))
		s := newStub()
		time.AfterFunc(time.Second, func() { s.say(0xF9, 2, 5) })
		b, err := connect(s)
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.Equal(t, fewHellos, sent(1), "it has answered, so it took no question for something else")
	})
}

// Disconnecting unblocks whoever waits, also while it connects.
func TestClosingUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := talk(t, someRules(t))
		done := make(chan error)
		go func() {
			_, err := b.pinState(context.Background(), 9, time.Hour, robot.CodeStaleState)
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, b.Close())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(<-done))
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		s.mute = true
		b := newBoard(s, someRules(t).judge, discard())
		done := make(chan error)
		go func() { done <- b.connect(context.Background()) }()
		time.Sleep(time.Second)
		require.NoError(t, b.Close())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(<-done))
	})
}
