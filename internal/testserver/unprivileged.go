package testserver

import (
	"os"
	"os/exec"
	"syscall"
)

// unprivileged has cmd run as the user nobody if this program is root's, as some
// servers refuse to be root's. The process keeps one of root's capabilities, the
// access to all files: the repository and the temporary directories may be closed
// to other users. Call it last, when cmd is complete.
func unprivileged(cmd *exec.Cmd) {
	if os.Geteuid() != 0 {
		return
	}
	const (
		nobody         = 65534
		capDACOverride = 1 // capabilities(7)
	)
	// The capability has its effect from the next exec on. So the program that is
	// executed first is one that every user can reach.
	cmd.Args = append([]string{"sh", "-c", `cd "$0" && exec "$@"`, cmd.Dir, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Dir = "/bin/sh", "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	cmd.SysProcAttr.AmbientCaps = []uintptr{capDACOverride}
}
