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
		case []byte:
			n := uint32(len(p))
			if p == nil {
				n = 1<<32 - 1
			}
			b = append(binary.BigEndian.AppendUint32(b, n), p...)
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
		}
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// request is a message whose xid is not known yet.
func request(op int, parts ...any) []byte { return message(append([]any{0, op}, parts...)...) }

func setXid(message []byte, xid int32) { binary.BigEndian.PutUint32(message[4:], uint32(xid)) }

// reader takes a message apart.
type reader struct {
	rest  string
	short bool // it ended too early
}

// part returns the next n bytes.
func (r *reader) part(n int32) string {
	if n < 0 || int(n) > len(r.rest) {
		r.rest, r.short = "", true
		return ""
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) number(size int32) (n uint64) {
	for _, b := range []byte(r.part(size)) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (r *reader) int32() int32 { return int32(r.number(4)) }
func (r *reader) int64() int64 { return int64(r.number(8)) }

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
