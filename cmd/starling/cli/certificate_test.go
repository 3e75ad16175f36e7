package cli

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue writes a certificate for these names, that signs itself, and its key.
func issue(t *testing.T, folder string, serial int64, until time.Time, names ...string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: names, NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: bare}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, pool
}

// client is one that trusts the pool and knows the server by a name. Each call makes a connection
// of its own.
func (b bearing) client(t *testing.T, pool *x509.CertPool, name string) *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Host = name
		r.Header.Set("Authorization", "Bearer "+string(b))
		return transport.RoundTrip(r)
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server with a certificate answers at https, by the names that it was issued for and no others,
// calls and streams; plain requests get no answer of the engine's. A certificate that is renewed
// serves from the next connection on, and one that is half written does no harm.
func TestServeOverTLS(t *testing.T) {
	o := newOffice(t)
	folder := t.TempDir()
	cert, key, pool := issue(t, folder, 1, time.Now().Add(time.Hour), "starling.example")
	address, left := o.serving("--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(address, "https://127.0.0.1:") {
		t.Fatalf("it serves %s, want https", address)
	}
	token := bearing(strings.TrimSpace(o.cli(0, "token", "add", "worker", "--can", "define,run,read,signal")))

	serial := func(pool *x509.CertPool) int64 {
		t.Helper()
		resp, err := token.client(t, pool, "starling.example").Post(address+"/v1/inbox", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
			t.Errorf("got status %d by HTTP/%d", resp.StatusCode, resp.ProtoMajor)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(pool); n != 1 {
		t.Errorf("got the certificate %d, want 1", n)
	}
	o.streamsOver(address, token.client(t, pool, "starling.example"))
	resp, err := http.Get(strings.Replace(address, "https", "http", 1) + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || strings.Contains(string(body), "openapi") {
		t.Errorf("a plain request got %d %s", resp.StatusCode, body)
	}

	time.Sleep(10 * time.Millisecond) // the time of a file is as coarse as its system keeps it
	if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := serial(pool); n != 1 {
		t.Errorf("while the key is being written, got the certificate %d, want 1", n)
	}
	_, _, renewed := issue(t, folder, 2, time.Now().Add(2*time.Hour), "starling.example")
	if n := serial(renewed); n != 2 {
		t.Errorf("renewed: got the certificate %d, want 2", n)
	}
	o.cli(0, "stop")
	said := left()
	for _, want := range []string{"the certificate that was read before serves on", "the certificate was renewed", "answering at https://"} {
		if !strings.Contains(said, want) {
			t.Errorf("the server said %q, want %q in it", said, want)
		}
	}
	if secret, _ := os.ReadFile(key); strings.Contains(said, strings.Split(string(secret), "\n")[1]) || strings.Contains(said, "not encrypted") {
		t.Errorf("the server said %q", said)
	}
}

// streamsOver follows a run over the connection of a client, until the run has ended.
func (o *office) streamsOver(address string, client *http.Client) {
	o.t.Helper()
	post := func(tool, body string) string {
		resp, err := client.Post(address+"/v1/"+tool, "application/json", strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	var run struct{ Run string }
	begun := post("run", `{"source": "def main():\n    return gate(\"g\", options = [\"yes\"]).choice\n"}`)
	if err := json.Unmarshal([]byte(begun), &run); err != nil || run.Run == "" {
		o.t.Fatalf("run: %s", begun)
	}
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/events?run="+run.Run, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"gate.opened"`) {
			if said := post("signal", `{"run": "`+run.Run+`", "gate": "g", "choice": "yes"}`); !strings.Contains(said, "accepted") {
				o.t.Fatalf("signal: %s", said)
			}
		}
		if strings.Contains(lines.Text(), `"run.completed"`) {
			return
		}
	}
	o.t.Errorf("the stream ended before the run did: %v", lines.Err())
}

// What cannot be a server's certificate is refused before the store is opened, naming the file and
// nothing of what is in it.
func TestCertificatesThatAreRefused(t *testing.T) {
	o := newOffice(t)
	cert, key, _ := issue(t, t.TempDir(), 1, time.Now().Add(time.Hour), "a.example")
	_, foreign, _ := issue(t, t.TempDir(), 2, time.Now().Add(time.Hour), "b.example")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tls-cert", cert}, "want both or neither"},
		{[]string{"--tls-cert", cert, "--tls-key", "none.pem"}, "none.pem: no such file or directory"},
		{[]string{"--tls-cert", t.TempDir(), "--tls-key", key}, "is a directory"},
		{[]string{"--tls-cert", key, "--tls-key", cert}, "are no certificate and its key"},
		{[]string{"--tls-cert", cert, "--tls-key", foreign}, "private key does not match public key"},
	} {
		said := o.cli(2, append([]string{"serve", "--json", "--http", "127.0.0.1:0"}, c.args...)...)
		if !strings.Contains(said, c.want) || strings.Contains(said, "PRIVATE") {
			t.Errorf("%q: said %q, want %q in it", c.args, said, c.want)
		}
	}
	if said := o.cli(2, "serve", "--json", "--tls-cert", cert, "--tls-key", key); !strings.Contains(said, "say more about --http") {
		t.Errorf("without --http: said %q", said)
	}
	if _, err := os.Stat(filepath.Join(o.dir, ".starling")); !os.IsNotExist(err) {
		t.Errorf("a store was made: %v", err)
	}
}
