package pgtest

import (
	"os/exec"
	"syscall"
)

func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT }
