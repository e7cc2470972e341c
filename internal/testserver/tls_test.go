package testserver

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

// refusesStrangers checks that a server talks to nobody but the clients that its
// files are for.
func refusesStrangers(t *testing.T, files *TLSFiles, addr string) {
	t.Helper()
	none, err := files.Config()
	must(t, err)
	none.Certificates = nil
	foreign := none.Clone()
	strangers, err := newServerTLS(t.TempDir())
	must(t, err)
	pair, err := tls.LoadX509KeyPair(strangers.ClientCert, strangers.ClientKey)
	must(t, err)
	// Unasked, as a polite client keeps back what the server will not take.
	foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	for name, config := range map[string]*tls.Config{"no certificate": none, "a stranger's certificate": foreign} {
		if err := refusal(t, addr, config); !strings.Contains(err.Error(), "remote error: tls:") {
			t.Errorf("a client with %s: %v, expected that the server refuses it", name, err)
		}
	}

	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	if _, err := conn.Write([]byte("srvrGET / HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 100)
	n, _ := conn.Read(answer) // an alert, or nothing but the end of the connection
	for _, part := range []string{"200 OK", "Mode:", "Zookeeper"} {
		if strings.Contains(string(answer[:n]), part) {
			t.Errorf("a client without TLS is answered %q", answer[:n])
		}
	}
}

// refusal connects and returns why the server ends the connection. It does so
// while the client shakes hands or, as of TLS 1.3 the client's handshake is
// complete before the server has seen the certificate, on the first read.
func refusal(t *testing.T, addr string, config *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Read(make([]byte, 1))
	if err == nil {
		t.Fatal("the server talks to a client it should refuse")
	}
	return err
}
