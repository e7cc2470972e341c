package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/etcd/internal/h2"
)

// login is how the connections of a pool come by the token that their requests have to
// bring. To check a password takes a server a tenth of a second, so all have the same one.
type login struct {
	username string // "": none
	password driver.Secret

	mu     sync.Mutex
	token  string    // "": there is none, or it is too old
	given  time.Time // when it was
	denied time.Time // when a password was last refused; zero: the last one was not
}

// A password that was refused is not tried again for a while, as long as gRPC's client
// tries it for each request. And a token that is as young as freshToken is not what a watch
// was refused for.
const (
	deniedFor  = 30 * time.Second
	freshToken = 2 * time.Second
)

// staleTokens are the answers that a token gets which has expired, or was given before the
// last change of a right, or is none, as authentication was off then. The server gives them
// before it changes anything.
var staleTokens = []error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty}

var errDeniedBefore = errors.New("the password was refused a moment ago")

// barred says why nobody is to log in for now, or returns nil.
func (l *login) barred() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.denied.IsZero() && time.Since(l.denied) < deniedFor {
		return errDeniedBefore
	}
	return nil
}

// in has the requests of a connection bring the token, and asks the server for one if there
// is none.
func (l *login) in(ctx context.Context, c *channel) error {
	if l.username == "" {
		return nil
	}
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if token == "" {
		var err error
		if token, err = l.ask(ctx, c); err != nil {
			return err
		}
	}
	if token != "" {
		c.token = token
		c.Add(h2.Field{Name: rpctypes.TokenFieldNameGRPC, Value: token})
	}
	return nil
}

// ask asks for a token, which is empty if the server does not want any.
func (l *login) ask(ctx context.Context, c *channel) (token string, err error) {
	resp := new(pb.AuthenticateResponse)
	req := &pb.AuthenticateRequest{Name: l.username, Password: string(l.password)}
	err = c.Call(ctx, pb.Auth_Authenticate_FullMethodName, req, resp)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.token, l.given, l.denied = resp.Token, time.Now(), time.Time{}
		return resp.Token, nil
	case isAny(err, []error{rpctypes.ErrAuthNotEnabled}):
		return "", nil
	case isAny(err, denials):
		l.denied = time.Now()
	}
	return "", err
}

// forget takes note that a token is too old.
func (l *login) forget(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == token {
		l.token = ""
	}
}

// doubt takes note that a watch was refused, which may be for its token.
func (l *login) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.given) > freshToken {
		l.token = ""
	}
}
