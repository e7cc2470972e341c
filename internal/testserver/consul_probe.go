package testserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// consulProbe looks at one member by its HTTP interface.
type consulProbe struct {
	endpoint string
	rpc      string // its address among the members
	token    string
	client   *http.Client
}

func (c *Consul) newProbe(endpoint, rpc string) *consulProbe {
	// No connection is kept, so that none of the few that a client may have
	// (http_max_conns_per_client) stays taken.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: c.tlsConfig.Clone()}
	return &consulProbe{endpoint: endpoint, rpc: rpc, token: c.Token, client: &http.Client{Transport: transport}}
}

// serves makes a linearizable read, which the leader answers, and then one of
// what the member itself has, which must be no older.
func (p *consulProbe) serves(ctx context.Context) error {
	latest, err := p.index(ctx, "consistent")
	if err != nil {
		return err
	}
	own, err := p.index(ctx, "stale")
	if err != nil {
		return err
	}
	if own < latest {
		return fmt.Errorf("has index %d, the leader had %d", own, latest)
	}
	return nil
}

// index reads a key that need not exist, and returns the index of the answer.
func (p *consulProbe) index(ctx context.Context, mode string) (uint64, error) {
	header, _, err := p.get(ctx, "/v1/kv/health?"+mode, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(header.Get("X-Consul-Index"), 10, 64)
}

// view asks for the leader's address. The endpoint that tells the term as well,
// /v1/agent/self, does not answer for half a minute if the leader freezes while
// the member registers itself there, as it then waits with a lock held.
func (p *consulProbe) view(ctx context.Context) (view, error) {
	_, body, err := p.get(ctx, "/v1/status/leader", http.StatusOK)
	if err != nil {
		return view{}, err
	}
	var leader string
	if err := json.Unmarshal(body, &leader); err != nil {
		return view{}, fmt.Errorf("%s/v1/status/leader: %w", p.endpoint, err)
	}
	return view{leads: leader == p.rpc, follows: leader}, nil
}

// get makes a request and returns the answer, which must have one of the status
// codes.
func (p *consulProbe) get(ctx context.Context, path string, want ...int) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.endpoint+path, nil)
	if err != nil {
		return nil, nil, err
	}
	if p.token != "" {
		request.Header.Set("X-Consul-Token", p.token)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	for _, code := range want {
		if response.StatusCode == code {
			return response.Header, body, nil
		}
	}
	return nil, nil, fmt.Errorf("%s%s: %s: %s", p.endpoint, path, response.Status, strings.TrimSpace(string(body)))
}

func (p *consulProbe) close() {} // keeps nothing
