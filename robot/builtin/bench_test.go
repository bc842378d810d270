package builtin_test

import (
	"testing"

	"github.com/tau-robot/tau/robot/builtin"
)

// BenchmarkLoad is what a start of the simulator pays for its description.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := builtin.Load("so101"); err != nil {
			b.Fatal(err)
		}
	}
}
