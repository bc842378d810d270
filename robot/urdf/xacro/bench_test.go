package xacro_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// The largest description of the collection: 7 files, 4 tables, 200 properties.
func BenchmarkExpandUR5e(b *testing.B) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "cases", "robots", "ur5e_xacro")
	data, err := os.ReadFile(filepath.Join(dir, "urdf", "ur_mocked.urdf.xacro"))
	if err != nil {
		b.Skip("SKIPPED: the case collection ../shared/cases isn't there")
	}
	fsys := os.DirFS(dir)
	opt := xacro.Options{Files: fsys, Dir: "urdf", Packages: map[string]fs.FS{"ur_description": fsys}, Args: map[string]string{"name": "ur", "ur_type": "ur5e"}}
	for b.Loop() {
		if _, err := xacro.Expand("ur_mocked.urdf.xacro", data, opt); err != nil {
			b.Fatal(err)
		}
	}
}
