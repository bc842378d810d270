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

// Stepped builds what an emulated board of that Map and firmware needs, and returns how a test
// that runs it by itself starts it: its time passes on command, its line is the words rx and tx
// (docs/HIL.md). It skips like Start, and also with TAU_BOARDS=later: a chip at full speed takes
// a core for itself.
func Stepped(t testing.TB, o Options) []string {
	t.Helper()
	later(t, "an emulated chip at full speed")
	c, err := openCache()
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	o.Kind = Emulated
	args, err := o.command(t, c)
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	return append(args, "--speed", "step")
}
