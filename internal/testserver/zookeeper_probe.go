package testserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// zookeeperProbe looks at one member. It keeps no connection, as a member may
// not have many clients (maxClientCnxns).
type zookeeperProbe struct {
	ensemble  *ZooKeeper
	endpoint  string
	epochFile string
}

// serves opens a session and closes it.
func (p *zookeeperProbe) serves(ctx context.Context) error {
	// Asked for a session while it starts, a server lets the client wait for a
	// second. So ask first whether it has started.
	if _, err := p.mode(ctx); err != nil {
		return err
	}
	conn, err := dialZooKeeper(ctx, p.endpoint, p.ensemble.tlsConfig)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.open(); err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	if _, err := conn.call(opCloseSession, nil); err != nil {
		return fmt.Errorf("close a session: %w", err)
	}
	return nil
}

// view asks whether the member leads or follows, and looks up the epoch in its
// data, as no command tells it. The epoch is looked up first: one that is too
// old makes an answer that no other fits, and Leader asks again.
func (p *zookeeperProbe) view(ctx context.Context) (view, error) {
	epoch, err := p.epoch()
	if err != nil {
		return view{}, err
	}
	mode, err := p.mode(ctx)
	if err != nil {
		return view{}, err
	}
	return view{leads: mode == "leader" || mode == "standalone", follows: "epoch " + epoch}, nil
}

// mode returns the member's part in the ensemble. It is an error to have none,
// for want of a leader.
func (p *zookeeperProbe) mode(ctx context.Context) (string, error) {
	answer, err := fourLetter(ctx, p.endpoint, p.ensemble.tlsConfig, "srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(answer) {
		if mode, ok := strings.CutPrefix(line, "Mode: "); ok {
			return strings.TrimSpace(mode), nil
		}
	}
	return "", errors.New(strings.TrimSpace(answer))
}

// epoch returns the number of the leader that the member follows, which is empty
// before it has followed one. No two leaders have the same one.
func (p *zookeeperProbe) epoch() (string, error) {
	text, err := os.ReadFile(p.epochFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func (p *zookeeperProbe) close() {} // keeps nothing
