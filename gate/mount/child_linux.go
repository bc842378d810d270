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

// killGroup ends a child and what it has started, as nothing that they could do anything
// about.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	}
}
