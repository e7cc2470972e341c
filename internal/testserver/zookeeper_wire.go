package testserver

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// zookeeperConn is a connection to a server whose reads and writes end with the
// context it was made for.
type zookeeperConn struct {
	net.Conn
	unbind func() bool
}

// dialZooKeeper connects to a server, with TLS if config is not nil.
func dialZooKeeper(ctx context.Context, endpoint string, config *tls.Config) (*zookeeperConn, error) {
	var conn net.Conn
	var err error
	if config == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	} else {
		conn, err = (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", endpoint)
	}
	if err != nil {
		return nil, err
	}
	// A connection knows deadlines, not contexts. This one is long past.
	unbind := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return &zookeeperConn{conn, unbind}, nil
}

func (c *zookeeperConn) Close() error {
	c.unbind()
	return c.Conn.Close()
}

// fourLetter has a server execute a command of four letters, see "The Four
// Letter Words" in ZooKeeper's administrator's guide. The server ends the
// connection after its answer.
func fourLetter(ctx context.Context, endpoint string, config *tls.Config, word string) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("zookeeper at %s: command %s: %w", endpoint, word, errors.Join(err, ctx.Err()))
	}
	conn, err := dialZooKeeper(ctx, endpoint, config)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		return fail(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return fail(err)
	}
	if len(answer) == 0 {
		return fail(errors.New("no answer, expected one to a word that the server knows"))
	}
	return string(answer), nil
}

// The operation codes of requests that are used here, from zookeeper.jute and
// ZooDefs.OpCode.
const opCloseSession = -11

// open opens a session with the shortest timeout the server grants. Both the
// opening and the closing are transactions, which a majority of the servers must
// have logged, and this one carried out, before it answers.
func (c *zookeeperConn) open() error {
	const passwordLen = 16
	request := make([]byte, 4+8+4+8, 64) // protocol version, last zxid, timeout, session: all zero
	request = binary.BigEndian.AppendUint32(request, passwordLen)
	request = append(request, make([]byte, passwordLen)...)
	request = append(request, 0) // not read-only
	if err := c.send(request); err != nil {
		return err
	}
	reply, err := c.receive()
	if err != nil {
		return err
	}
	// Protocol version, timeout, session, password.
	if len(reply) < 4+4+8 || binary.BigEndian.Uint32(reply[4:]) == 0 {
		return fmt.Errorf("no session: reply %x", reply)
	}
	return nil
}

// call makes a request of the open session and returns the reply without its
// header. Only one request is under way at a time, so they need no numbers.
func (c *zookeeperConn) call(op int32, body []byte) ([]byte, error) {
	header := binary.BigEndian.AppendUint32(nil, 1) // the request's number
	header = binary.BigEndian.AppendUint32(header, uint32(op))
	if err := c.send(append(header, body...)); err != nil {
		return nil, err
	}
	reply, err := c.receive()
	if err != nil {
		return nil, err
	}
	const headerLen = 4 + 8 + 4 // number, zxid, error
	if len(reply) < headerLen {
		return nil, fmt.Errorf("short reply %x", reply)
	}
	if code := int32(binary.BigEndian.Uint32(reply[4+8:])); code != 0 {
		return nil, fmt.Errorf("error code %d", code)
	}
	return reply[headerLen:], nil
}

// send writes one packet, which its length precedes.
func (c *zookeeperConn) send(packet []byte) error {
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(packet)))
	_, err := c.Write(append(framed, packet...))
	return err
}

// receive reads one packet.
func (c *zookeeperConn) receive() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, err
	}
	const most = 1 << 20 // as the servers' jute.maxbuffer
	n := binary.BigEndian.Uint32(length[:])
	if n > most {
		return nil, fmt.Errorf("a packet of %d bytes, expected at most %d", n, most)
	}
	packet := make([]byte, n)
	_, err := io.ReadFull(c, packet)
	return packet, err
}
