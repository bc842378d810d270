package emulator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that says nothing but nonsense isn't remembered for ever, and costs each byte no
// more for all those before it.
func TestNonsenseIsForgotten(t *testing.T) {
	for _, k := range []Kind{STS3215, XL430} {
		for _, fill := range []byte{0x00, 0xFF, 0xFD} {
			synctest.Test(t, func(t *testing.T) {
				rec := &Recorder{}
				b, err := New(Options{Kind: k, IDs: all(), Trace: rec.Add})
				require.NoError(t, err)
				l, err := b.Dial()
				require.NoError(t, err)
				nonsense := make([]byte, 512)
				for i := range nonsense {
					nonsense[i] = fill
				}
				for range 20 {
					_, err := l.Write(nonsense)
					require.NoError(t, err)
					time.Sleep(6 * time.Millisecond)
				}
				b.at(func(time.Duration) {
					require.LessOrEqual(t, len(b.sent), earSize+1)
					require.LessOrEqual(t, len(b.run), earSize+1)
				})
				bytes := 0
				for _, p := range rec.Packets() {
					require.Zero(t, p.Op)
					bytes += len(p.Bytes)
				}
				require.GreaterOrEqual(t, bytes, 20*512-earSize-1, "and the trace has it")
				require.NoError(t, l.Close())
			})
		}
	}
}
