//go:build unix && !linux

package pgtest

import "os/exec"

func dieWithParent(*exec.Cmd) {} // there is no such thing: what a killed test leaves has to be ended by hand
