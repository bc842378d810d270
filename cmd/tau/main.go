// Command tau is the bridge between an AI agent and a robot arm. It only wires:
// what it does is in internal/cli and internal/bridge.
package main

import (
	"os"

	"github.com/tau-robot/tau/cmd/tau/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
