package boardtest

import "testing"

// HostBuild builds the core for this machine and returns the program's path, for a test that
// runs it by itself: with --speed step its time passes on command (docs/HIL.md). It skips
// like Start.
func HostBuild(t testing.TB) string {
	t.Helper()
	requireTools(t, hostTools)
	c, err := openCache()
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	bin, err := c.build(hostRecipe())
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	return bin
}
