package web

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"starling/runtime"
)

// Certificate is that of a server. Its files are looked at with each connection, so that whoever
// renews them need not restart anything; while the new ones cannot be read, or do not belong
// together yet, the old one serves.
type Certificate struct {
	cert, key string // paths of PEM files
	notice    func(format string, args ...any)

	mu      sync.Mutex // protects what is below
	pair    *tls.Certificate
	changed [2]time.Time // of the files, when they were last read
}

// NewCertificate reads a certificate and its key. notice tells people of what becomes of it; it may
// be called concurrently.
func NewCertificate(cert, key string, notice func(format string, args ...any)) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, notice: notice}
	changed, err := c.times()
	if err == nil {
		c.changed = changed
		c.pair, err = c.load()
	}
	if err != nil {
		return nil, err
	}
	if ends := c.pair.Leaf.NotAfter; ends.Before(time.Now()) {
		notice("warning: the certificate %s has expired on %s: clients will refuse it", cert, ends.Format(time.RFC3339))
	}
	return c, nil
}

func (c *Certificate) times() (changed [2]time.Time, err error) {
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return changed, unreadable(path, err)
		}
		changed[i] = info.ModTime()
	}
	return changed, nil
}

func unreadable(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return runtime.Refuse(runtime.ErrUsage, "name a PEM file that this user may read", "%s: %v", path, err)
}

// load reads both files. An error of the standard library about them shows nothing of the key.
func (c *Certificate) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return nil, unreadable(c.cert, err)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return nil, unreadable(c.key, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, runtime.Refuse(runtime.ErrUsage, "the first holds the certificate with its chain, the second its private key, both in PEM",
			"%s and %s are no certificate and its key: %s", c.cert, c.key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

// Names are those for which the certificate was issued.
func (c *Certificate) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, name := range c.pair.Leaf.DNSNames {
		names = append(names, strings.ToLower(name))
	}
	for _, ip := range c.pair.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// current is the certificate for a connection.
func (c *Certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.times()
	if err == nil && changed == c.changed {
		return c.pair, nil
	}
	var pair *tls.Certificate
	if err == nil {
		pair, err = c.load()
	}
	switch {
	case err == nil:
		c.pair, c.changed = pair, changed
		c.notice("the certificate was renewed; it is good until %s", pair.Leaf.NotAfter.Format(time.RFC3339))
	case changed != c.changed:
		c.changed = changed // told once
		c.notice("warning: %v; the certificate that was read before serves on", err)
	}
	return c.pair, nil
}

// Config is what connections are made with.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{GetCertificate: c.current, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}
