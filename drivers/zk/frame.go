package zk

import "encoding/binary"

// message puts a message together of numbers and strings.
func message(parts ...any) []byte {
	b := make([]byte, 4, 64)
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(int32(p)))
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case bool:
			var set byte
			if p {
				set = 1
			}
			b = append(b, set)
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
		}
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// scanner finds the heads of messages in a stream: length, xid, zxid, error.
type scanner struct {
	each func(xid, code int32)
	head []byte // what there is of it
	rest int    // bytes of the message behind its head
}

// between reports whether a message has ended and the next not begun.
func (s *scanner) between() bool { return s.rest == 0 && len(s.head) == 0 }

const headLength = 4 + 4 + 8 + 4

func (s *scanner) scan(b []byte) {
	for len(b) > 0 {
		if s.rest > 0 {
			n := min(s.rest, len(b))
			s.rest -= n
			b = b[n:]
			continue
		}
		n := min(headLength-len(s.head), len(b))
		s.head = append(s.head, b[:n]...)
		b = b[n:]
		if len(s.head) == headLength {
			s.rest = int(binary.BigEndian.Uint32(s.head)) - (headLength - 4)
			s.each(int32(binary.BigEndian.Uint32(s.head[4:])), int32(binary.BigEndian.Uint32(s.head[16:])))
			s.head = s.head[:0]
		}
	}
}
