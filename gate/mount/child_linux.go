package mount

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a ctrl-C at the bridge's terminal from the child, which the bridge ends.
// When the bridge is killed the child's input ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
