package testserver

import (
	"os"
	"os/exec"
	"syscall"
)

// unprivileged has cmd see itself as an ordinary user if this program is root's, as some
// servers refuse to be root's. It runs in a user namespace whose user is root outside,
// so that it reaches its files below directories that are closed to other users.
func unprivileged(cmd *exec.Cmd) {
	if os.Geteuid() != 0 {
		return
	}
	const user = 1000 // any but 0
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
}
