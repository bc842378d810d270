package mcu_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many tests run at a time: they wait for boards that keep to the wall
// clock, and for next to nothing else.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	goleak.VerifyTestMain(noTests{})
}

// noTests has goleak look once all tests have run.
type noTests struct{}

func (noTests) Run() int { return 0 }
