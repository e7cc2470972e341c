package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// What a server says first, without the length: version, timeout, session, and
// the password with its length.
const helloLength = 4 + 4 + 8 + 4 + 16

// hearPasswords tells the passwords of sessions, by their IDs.
func hearPasswords(tell func(session string, password []byte)) func(*tap, io.Reader) {
	return func(_ *tap, said io.Reader) {
		frame := make([]byte, 4+helloLength)
		if _, err := io.ReadFull(said, frame); err == nil {
			tell(fmt.Sprintf("%016x", binary.BigEndian.Uint64(frame[12:])), frame[24:40])
		}
	}
}

// removeChildren removes what is in a directory in one step, whatever comes in
// the meantime.
func (c plainZK) removeChildren(dir string) error {
	for {
		names, _, err := c.Children(dir)
		if err != nil || len(names) == 0 {
			if errors.Is(err, gozk.ErrNoNode) {
				return nil
			}
			return err
		}
		var ops []any
		for _, n := range names {
			ops = append(ops, &gozk.DeleteRequest{Path: path.Join(dir, n), Version: -1})
		}
		if _, err = c.Multi(ops...); !errors.Is(err, gozk.ErrNoNode) {
			return err
		}
	}
}

// expireInZooKeeper ends a session as somebody does who knows its password: it
// takes the session over and closes it, again and again until a server says that
// there is no such session, as its client may take it back in between.
func expireInZooKeeper(ctx context.Context, hosts []string, session string, password []byte) error {
	id, err := strconv.ParseUint(session, 16, 64)
	if err != nil {
		return err
	}
	hello := binary.BigEndian.AppendUint32(nil, helloLength+8)
	hello = append(hello, make([]byte, 4+8)...) // version, last transaction seen
	hello = binary.BigEndian.AppendUint32(hello, 10_000)
	hello = binary.BigEndian.AppendUint64(hello, id)
	hello = binary.BigEndian.AppendUint32(hello, uint32(len(password)))
	hello = append(hello, password...)
	const closeSession = -11
	code := int32(closeSession)
	bye := []byte{0, 0, 0, 8, 0, 0, 0, 1}
	bye = binary.BigEndian.AppendUint32(bye, uint32(code))
	for i := 0; ctx.Err() == nil; i++ {
		known, err := takeOver(hosts[i%len(hosts)], append(hello[:len(hello):len(hello)], bye...))
		if err == nil && !known {
			return nil
		}
	}
	return ctx.Err()
}

// takeOver says to a server what begins with a hello, and reports whether it knows
// the session.
func takeOver(host string, say []byte) (known bool, err error) {
	c, err := net.DialTimeout("tcp", host, time.Second)
	if err != nil {
		return false, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false, err
	}
	if _, err := c.Write(say); err != nil {
		return false, err
	}
	answer := make([]byte, 4+helloLength)
	if _, err := io.ReadFull(c, answer); err != nil {
		return false, err
	}
	if binary.BigEndian.Uint64(answer[12:]) == 0 {
		return false, nil
	}
	_, _ = io.ReadFull(c, make([]byte, 4+16)) // the answer to the closing
	return true, nil
}
