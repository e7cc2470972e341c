package testserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
)

// postgresAccepts asks a server whether it accepts connections yet, by the first
// message of its protocol. A wait that asks so costs less than one that runs psql
// each time.
func postgresAccepts(ctx context.Context, endpoint string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	const protocol = 3 << 16
	body := binary.BigEndian.AppendUint32(nil, protocol)
	body = append(body, "user\x00"+string(Owner)+"\x00database\x00"+Database+"\x00\x00"...)
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(4+len(body))), body...)); err != nil {
		return err
	}
	answer := make([]byte, 1024)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	// Any other answer, such as a demand for a password or for TLS, is of a server
	// that accepts connections.
	if bytes.Contains(answer[:n], []byte("57P03")) { // cannot_connect_now
		return errors.New("the server does not accept connections yet")
	}
	return nil
}
