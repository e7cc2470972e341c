package zk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/internal/testserver"
)

// worn is a server with a directory that has seen nearly two billion creations,
// as its data say.
type worn struct {
	zk    *testserver.ZooKeeper
	admin *gozk.Conn
}

// nearWrap gives the namespace a server of its own, whose sequence for the
// directory is nearly used up.
func (s *stand) nearWrap(ctx context.Context, namespace, dir string) error {
	z, err := testserver.NewZooKeeper(ctx, testserver.ZooKeeperOptions{ExtraConfig: unlimited})
	if err != nil {
		return err
	}
	s.t.Cleanup(func() { _ = z.Close() })
	if err := wear(ctx, z, map[string]int32{"/" + namespace + "/" + dir: 1<<31 - 8}); err != nil {
		return err
	}
	w := &worn{zk: z, admin: newAdmin(s.t, endpoints(z))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worn[namespace] = w
	return nil
}

var (
	lastZxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)
	dataDir  = regexp.MustCompile(`(?m)^dataDir=(.*)$`)
)

// wear makes directories on a single server whose next children get the given
// numbers of sequence. The number is that of the creations so far, which the
// server finds in its log of transactions: to that go a creation with the number
// before, and a deletion.
func wear(ctx context.Context, z *testserver.ZooKeeper, next map[string]int32) error {
	c, events, err := gozk.Connect(endpoints(z), 5*time.Second, gozk.WithLogger(nothing{}), gozk.WithLogInfo(false))
	if err != nil {
		return err
	}
	for path := range next {
		parts := strings.Split(path[1:], "/")
		for i := range parts {
			if _, err := c.Create("/"+strings.Join(parts[:i+1], "/"), nil, 0, gozk.WorldACL(gozk.PermAll)); err != nil && !errors.Is(err, gozk.ErrNodeExists) {
				return err
			}
		}
	}
	c.Close()
	for range events { // until it has ended
	}
	m := z.Member(0)
	srvr, err := m.FourLetter(ctx, "srvr")
	if err != nil {
		return err
	}
	conf, err := m.FourLetter(ctx, "conf")
	if err != nil {
		return err
	}
	at, where := lastZxid.FindStringSubmatch(srvr), dataDir.FindStringSubmatch(conf)
	if at == nil || where == nil {
		return fmt.Errorf("no zxid in %q or no data directory in %q", srvr, conf)
	}
	zxid, err := strconv.ParseInt(at[1], 16, 64)
	if err != nil {
		return err
	}
	if err := m.Kill(); err != nil {
		return err
	}
	log := filepath.Join(strings.TrimSpace(where[1]), fmt.Sprintf("log.%x", zxid+1))
	if err := os.WriteFile(log, wornLog(next, zxid), 0o600); err != nil {
		return err
	}
	if err := m.Restart(); err != nil {
		return err
	}
	return m.WaitHealthy(ctx)
}

// wornLog is a log of transactions as org.apache.zookeeper.server.persistence.
// FileTxnLog describes it: of each directory, the creation of a child and its
// deletion, at the zxid at which so many creations must have arrived.
func wornLog(next map[string]int32, zxid int64) []byte {
	var log record
	log.WriteString("ZKLG")
	log.number(int32(2), int64(0)) // version, id of the database
	for path, parentCVersion := range next {
		zxid += int64(parentCVersion)
		var create, remove record
		create.transaction(zxid+1, 1)
		create.text(path + "/worn")
		create.text("")                    // data
		create.number(int32(1), int32(31)) // one entry in the access control list: everything
		create.text("world")
		create.text("anyone")
		create.WriteByte(0) // not ephemeral
		create.number(parentCVersion)
		remove.transaction(zxid+2, 2)
		remove.text(path + "/worn")
		for _, r := range []record{create, remove} {
			log.number(int64(adler32.Checksum(r.Bytes())), int32(r.Len()))
			log.Write(r.Bytes())
			log.WriteByte('B')
		}
		zxid += 2
	}
	return log.Bytes()
}

// record is written in ZooKeeper's encoding.
type record struct{ bytes.Buffer }

func (r *record) number(values ...any) {
	for _, v := range values {
		_ = binary.Write(r, binary.BigEndian, v) // a Buffer takes everything
	}
}

func (r *record) text(s string) {
	r.number(int32(len(s)))
	r.WriteString(s)
}

func (r *record) transaction(zxid int64, kind int32) {
	r.number(int64(1), int32(1), zxid, time.Now().UnixMilli(), kind) // session, number, zxid, time, kind
}
