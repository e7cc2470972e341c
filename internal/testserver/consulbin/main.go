// Command consulbin is the Consul agent itself, built from the pinned release of
// its Go module, so that tests run against the real thing without a download of
// release archives. Of the released binary's commands it has only agent.
//
// It lives in a module of its own: the server's dependencies are many, and none
// of them may reach a program that imports coordkit.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/consul/command/agent"
	"github.com/hashicorp/consul/command/cli"
	mcli "github.com/mitchellh/cli"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "agent" {
		fmt.Fprintln(os.Stderr, "usage: consulbin agent [flags]")
		os.Exit(2)
	}
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	os.Exit(agent.New(ui).Run(os.Args[2:]))
}
