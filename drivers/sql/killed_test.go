package sql

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// holderVariable makes the test binary a program that takes a lock again and again, and
// prints the tokens. It is the URL of the store.
const holderVariable = "COORDKIT_SQL_HOLDER"

const holderTTL = 2 * time.Second

// A holder never gets as far as to the tests. It ends when it is killed, or with an error.
func init() {
	url := os.Getenv(holderVariable)
	if url == "" {
		return
	}
	fmt.Fprintln(os.Stderr, runHolder(url))
	os.Exit(1)
}

func runHolder(url string) error {
	ctx := context.Background()
	client, err := coord.Config{URL: url, SessionTTL: coord.Duration(holderTTL)}.Open(ctx)
	if err != nil {
		return err
	}
	for {
		held, err := mutex.New(client, "lock").Lock(ctx)
		if err != nil {
			return err
		}
		fmt.Println(held.Token())
		if os.Getenv(holderVariable+"_ONCE") != "" {
			<-held.Done()
			return held.Err()
		}
		if err := held.Unlock(ctx); err != nil {
			return err
		}
	}
}

// startHolder starts a process that takes the lock, and returns its tokens as they come.
func startHolder(t *testing.T, url string, once bool) (cmd *exec.Cmd, tokens *bufio.Scanner) {
	t.Helper()
	executable, err := os.Executable()
	must(t, err)
	cmd = exec.Command(executable)
	cmd.Env = append(os.Environ(), holderVariable+"="+url)
	if once {
		cmd.Env = append(cmd.Env, holderVariable+"_ONCE=1")
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if complaint.Len() > 0 {
			t.Errorf("the holder: %s", complaint.String())
		}
	})
	return cmd, bufio.NewScanner(stdout)
}

func nextToken(t *testing.T, tokens *bufio.Scanner) uint64 {
	t.Helper()
	if !tokens.Scan() {
		t.Fatalf("the holder prints nothing more: %v", tokens.Err())
	}
	token, err := strconv.ParseUint(tokens.Text(), 10, 64)
	must(t, err)
	return token
}

// The process that holds is killed. The next one holds when the TTL has passed, and soon
// after.
func TestSQLiteHolderIsKilled(t *testing.T) {
	path, _ := newFile(t)
	url := "sqlite://" + path
	cmd, tokens := startHolder(t, url, true)
	first := nextToken(t, tokens)
	client, err := coord.Open(t.Context(), url)
	must(t, err)
	defer func() { must(t, client.Close(context.Background())) }()
	m := mutex.New(client, "lock")
	if _, err := m.TryLock(within(t)); !errors.Is(err, coord.ErrBusy) {
		t.Fatalf("the lock is free while another process holds it: %v", err)
	}
	must(t, cmd.Process.Kill())
	killed := time.Now()
	held, err := m.Lock(within(t))
	must(t, err)
	took := time.Since(killed)
	t.Logf("the next one holds %v after the kill; the TTL is %v", took, holderTTL)
	if took < holderTTL/2 || took > holderTTL+500*time.Millisecond || held.Token() <= first {
		t.Errorf("token %d after %d, %v after the kill", held.Token(), first, took)
	}
	must(t, held.Unlock(within(t)))
}

// Processes are killed at any moment of what they do. Nothing that they leave blocks the
// others, and no token comes twice.
func TestSQLiteKilledAnywhere(t *testing.T) {
	path, o := newFile(t)
	url := "sqlite://" + path
	seen := make(map[uint64]bool)
	for range 20 {
		cmd, tokens := startHolder(t, url, false)
		for range 5 {
			token := nextToken(t, tokens)
			if seen[token] {
				t.Errorf("token %d came twice", token)
			}
			seen[token] = true
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		must(t, o.exec(t.Context(), "DELETE FROM {p}session"))
	}
	var intact string
	must(t, o.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&intact))
	if left, err := o.count(t.Context(), "SELECT COUNT(*) FROM {p}node"); intact != "ok" || err != nil || left > 0 {
		t.Errorf("the file is %q, and %d nodes are left, %v", intact, left, err)
	}
}
