package collision

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws less than rapid would by default, so that the tests are quick with
// the race detector too; -rapid.checks=1000 looks closer.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "45"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
