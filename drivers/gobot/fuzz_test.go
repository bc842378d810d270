package gobot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// FuzzWhatABoardSays: nothing that comes over the line makes the library panic or hang, or
// has it send what isn't meant to be sent; and the connection still closes.
func FuzzWhatABoardSays(f *testing.F) {
	for _, seed := range [][]byte{
		nil,
		{0xF9, 2, 5, 0xF0, 0x79, 2, 5, 'x', 0, 0xF7},
		{0xF0, 0x6E, 9, 4, 1, 11, 0xF7, 0xF0, 0x6E, 99, 0xF7, 0xF0, 0x6E, 0x7F, 1, 1, 0xF7},
		{0xF0, 0x77, 0x40, 0, 0, 0, 0xF7, 0xF0, 0x77, 0x40, 0, 0, 0, 1, 0, 2, 0, 0xF7},
		{0xF0, 0x77, 0x40, 0, 0, 0, 1, 0, 2, 0xF7, 0xF0, 0x77, 0xF7},
		{0xF0, 0x6C, 0x7F, 0xF7, 0xF0, 0x6C, 0, 1, 0x7F, 0xF7, 0xF0, 0x6A, 0, 1, 0xF7},
		{0xE2, 1, 2, 0xEF, 1, 2, 0x9F, 1, 2, 0x90, 0x7F, 0x7F},
		{0xF0, 0x71, 'a', 0, 'b', 0xF7, 0xF0, 0x71, 0xF7, 0xF0, 0xF7, 0xF0, 0xF0, 0xF7},
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, said []byte, when uint8) {
		rules := someRules(t)
		synctest.Test(t, func(t *testing.T) {
			s := newStub()
			if when%2 == 1 { // before it is connected, and in place of its answers
				s.say(said...)
				s.mute = when%4 == 3
			}
			b := newBoard(s, rules.judge, discard())
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			if b.connect(ctx) != nil {
				return
			}
			pins := len(b.c.Pins())
			s.say(said...)
			if data, err := b.readI2C(ctx, readWithin, 0x40, 6, 4); err == nil {
				require.Len(t, data, 4)
			}
			s.say(said...)
			if st, err := b.pinState(ctx, 9, readWithin, robot.CodeStaleState); err == nil {
				require.LessOrEqual(t, st.value, 1<<21)
			}
			require.Len(t, b.c.Pins(), pins)
			require.NoError(t, b.Close())
			for _, m := range s.since(0) {
				for len(m) > 0 { // a batch of frames
					n := frameEnd(m)
					require.Equal(t, pass, rules.judge(m[:n]), "% x", m[:n])
					m = m[n:]
				}
			}
		})
	})
}

// frameEnd is where the first frame of some ends.
func frameEnd(m []byte) int {
	for i, b := range m {
		if i > 0 && b >= 0x80 {
			if b == sysexEnd {
				return i + 1
			}
			return i
		}
	}
	return len(m)
}
