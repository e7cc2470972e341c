package secure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"

	"github.com/coordkit/coordkit/drivers/internal/secure"
)

func ExampleClient() {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	host := server.Listener.Addr().String()
	trusting := x509.NewCertPool()
	trusting.AddCert(server.Certificate())
	for _, roots := range []*x509.CertPool{trusting, x509.NewCertPool()} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer conn.Close()
		_, err = secure.Client(context.Background(), conn, host, &tls.Config{RootCAs: roots})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// tls: failed to verify certificate: x509: certificate signed by unknown authority
}
