package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packed is a release whose programs are this test.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	texts := t.TempDir()
	if err := os.WriteFile(filepath.Join(texts, "LICENSE"), []byte("free\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var programs []program
	for _, name := range []string{"linux-amd64", "linux-arm64", "darwin-arm64"} {
		system, arch, _ := strings.Cut(name, "-")
		programs = append(programs, program{os: system, arch: arch, bytes: []byte(name), info: info})
	}
	files, err := release{version: "v1.2.3", time: time.Unix(1_700_000_000, 0).UTC(), texts: texts}.files(programs)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unpacked are the files of a tar, "NAME MODE OWNER" to text.
func unpacked(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	packed, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(packed)%512 != 0 || !bytes.HasSuffix(packed, make([]byte, 1024)) {
		t.Errorf("a tar of %d bytes has no end, which Go does not miss and others do", len(packed))
	}
	for archive := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files
		}
		text, err2 := io.ReadAll(archive)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if h.ModTime.Unix() != 1_700_000_000 || h.Uid != h.Gid || h.Uname != "" {
			t.Errorf("%s: got %v and %s %d:%d, want the time of the release and no name", h.Name, h.ModTime, h.Uname, h.Uid, h.Gid)
		}
		files[fmt.Sprintf("%s %o %d", h.Name, h.Mode, h.Uid)] = string(text)
	}
}

func unzipped(t *testing.T, text []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArchives(t *testing.T) {
	files := packed(t)
	want := []string{"SHA256SUMS", "starling-v1.2.3-darwin-arm64.cdx.json", "starling-v1.2.3-darwin-arm64.tar.gz", "starling-v1.2.3-image.tar",
		"starling-v1.2.3-linux-amd64.cdx.json", "starling-v1.2.3-linux-amd64.tar.gz", "starling-v1.2.3-linux-arm64.cdx.json",
		"starling-v1.2.3-linux-arm64.tar.gz", "starling.rb"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got := unpacked(t, unzipped(t, files["starling-v1.2.3-linux-arm64.tar.gz"]))
	inside := map[string]string{
		"starling-v1.2.3-linux-arm64/starling 755 0": "linux-arm64",
		"starling-v1.2.3-linux-arm64/LICENSE 644 0":  "free\n", // not with the 0600 that it has here
	}
	if !maps.Equal(got, inside) {
		t.Errorf("got %v, want %v", got, inside)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(files["SHA256SUMS"])), "\n") {
		sum, name, _ := strings.Cut(line, "  ")
		if sum != fmt.Sprintf("%x", sha256.Sum256(files[name])) {
			t.Errorf("%s: the sum of %q is another one", line, name)
		}
	}
	if n := bytes.Count(files["SHA256SUMS"], []byte("\n")); n != len(want)-1 {
		t.Errorf("got %d sums, want %d", n, len(want)-1)
	}
	if again := packed(t); !maps.EqualFunc(files, again, bytes.Equal) {
		t.Error("packed twice, the bytes differ")
	}
}

func TestAProgramOfAnotherVersionIsRefused(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "linux-amd64")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path, "v1.2.3"); err == nil || !strings.HasSuffix(err.Error(), ", want v1.2.3") {
		t.Errorf("got %v, want that the version is another one", err)
	}
}

// TestImage follows each digest of the layout, from index.json to the files of the layers.
func TestImage(t *testing.T) {
	layout := unpacked(t, bytes.NewReader(packed(t)["starling-v1.2.3-image.tar"]))
	named := 0
	follow := func(b blob, v any) {
		t.Helper()
		named++
		digest := strings.TrimPrefix(b.Digest, "sha256:")
		text := layout["blobs/sha256/"+digest+" 644 0"]
		if fmt.Sprintf("%x", sha256.Sum256([]byte(text))) != digest || len(text) != b.Size {
			t.Fatalf("%s: got %d bytes with another digest or size", b.Digest, len(text))
		}
		if raw, ok := v.(*string); ok {
			*raw = text
		} else if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
	}
	var top, images index
	if err := json.Unmarshal([]byte(layout["index.json 644 0"]), &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("got %v %v, want one index", top, err)
	}
	follow(top.Manifests[0], &images)
	for i, arch := range []string{"amd64", "arm64"} {
		var m manifest
		var c config
		var layer string
		follow(images.Manifests[i], &m)
		follow(m.Config, &c)
		follow(m.Layers[0], &layer)
		if on := *images.Manifests[i].Platform; on.Architecture != arch || on != c.platform {
			t.Errorf("got %v, in the config %v, want %s", on, c.platform, arch)
		}
		files, err := io.ReadAll(unzipped(t, []byte(layer)))
		if err != nil || c.RootFS.DiffIDs[0] != fmt.Sprintf("sha256:%x", sha256.Sum256(files)) {
			t.Errorf("%v, or the layer is not the one that the config names", err)
		}
		root := unpacked(t, bytes.NewReader(files))
		if root["usr/bin/starling 755 0"] != "linux-"+arch || c.Config.Entrypoint[0] != "/usr/bin/starling" {
			t.Errorf("got %v, want the program and that it is started", slices.Collect(maps.Keys(root)))
		}
		for _, folder := range []string{"tmp/ 1777 0", "work/ 755 65532"} {
			if _, ok := root[folder]; !ok {
				t.Errorf("%s: got %v", folder, slices.Collect(maps.Keys(root)))
			}
		}
		if !x509.NewCertPool().AppendCertsFromPEM([]byte(root["etc/ssl/certs/ca-certificates.crt 644 0"])) {
			t.Error("the image trusts nobody")
		}
	}
	if blobs := len(layout) - len([]string{"oci-layout", "index.json", "blobs/", "blobs/sha256/"}); named != blobs {
		t.Errorf("the layout has %d blobs, and names %d", blobs, named)
	}
}

// TestFormula has no Homebrew. Where the archives are, and what they must be, is what can go wrong.
func TestFormula(t *testing.T) {
	files := packed(t)
	archive := "starling-v1.2.3-darwin-arm64.tar.gz"
	want := fmt.Sprintf("  on_macos do\n    on_arm do\n      url \"file://#{__dir__}/%s\"\n      sha256 \"%x\"\n    end\n  end\n", archive, sha256.Sum256(files[archive]))
	if !strings.Contains(string(files["starling.rb"]), want) {
		t.Errorf("got\n%s\nwant in it\n%s", files["starling.rb"], want)
	}
}

func TestBill(t *testing.T) {
	var bill cycloneDX
	if err := json.Unmarshal(packed(t)["starling-v1.2.3-linux-amd64.cdx.json"], &bill); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, c := range bill.Components {
		purls = append(purls, strings.SplitN(c.Purl, "@", 2)[0])
	}
	if want := []string{"pkg:golang/stdlib", "pkg:golang/golang.org/x/crypto/x509roots/fallback"}; !slices.Equal(purls, want) {
		t.Errorf("got %v, want %v", purls, want)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte("linux-amd64"))); bill.Metadata.Component.Hashes[0].Content != sum {
		t.Errorf("got %v, want the sum of the program", bill.Metadata.Component.Hashes)
	}
}
