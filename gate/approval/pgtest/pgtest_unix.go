//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// quit is PostgreSQL's immediate shutdown.
const quit = syscall.SIGQUIT

// identity is whom the server runs as: PostgreSQL refuses to run as root. Nil
// fields: as who runs the tests.
type identity struct{ uid, gid uint32 }

func lesser() (*identity, error) {
	if os.Geteuid() != 0 {
		return &identity{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &identity{uint32(uid), uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("the tests run as root, and there is neither a user postgres nor a user nobody to run it as")
}

func (id *identity) own(dir string) error {
	if id.uid == 0 {
		return nil
	}
	return os.Chown(dir, int(id.uid), int(id.gid))
}

func (id *identity) become(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C at the tests isn't meant for it
	if id.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id.uid, Gid: id.gid}
	}
}
