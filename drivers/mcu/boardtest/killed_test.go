package boardtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childVariable makes TestABenchEndsWithItsProcess start a bench, say where it is and
// wait to be killed.
const childVariable = "TAU_BOARDTEST_CHILD"

func TestABenchEndsWithItsProcess(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		b := Start(t, Options{Map: "test"})
		b.Freeze() // the hardest: nothing runs but the bench itself
		fmt.Printf("bench %s\n", b.Path())
		select {}
	}
	t.Setenv(LaterVariable, "")
	requireTools(t, emulatorTools)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestABenchEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var link string
	for s := bufio.NewScanner(out); link == "" && s.Scan(); {
		if path, ok := strings.CutPrefix(s.Text(), "bench "); ok {
			link = path
		}
	}
	defer os.RemoveAll(filepath.Dir(filepath.Dir(link))) // the killed test's own
	_, err = os.Readlink(link)
	require.NoError(t, err, "the bench has its line")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Lstat(link)
		return os.IsNotExist(err)
	}, waitLimit, 10*time.Millisecond, "a bench takes its line away when it ends")
}
