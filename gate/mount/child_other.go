//go:build !linux

package mount

import "os/exec"

// ownGroup is for Linux; elsewhere a child hears what the bridge's terminal sends.
func ownGroup(*exec.Cmd) {}

// killGroup ends a child.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
}
