package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is whom the image runs as. Nobody of the machine outside has this number, which others give
// to images as well.
const user = 65532

// blob is what an OCI layout says of a file in blobs/sha256
// (https://github.com/opencontainers/image-spec/blob/v1.1.0/descriptor.md).
type blob struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest is that of an image for one platform.
type manifest struct {
	SchemaVersion int    `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
	Config        blob   `json:"config"`
	Layers        []blob `json:"layers"`
}

// index is a list of manifests.
type index struct {
	SchemaVersion int    `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
	Manifests     []blob `json:"manifests"`
}

// config says how an image is run, and of what it consists once it is unpacked.
type config struct {
	platform
	Created time.Time `json:"created"`
	Config  running   `json:"config"`
	RootFS  rootFS    `json:"rootfs"`
}

type running struct {
	User       string
	Env        []string
	Entrypoint []string
	Cmd        []string
	WorkingDir string
	Labels     map[string]string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

const mediaType = "application/vnd.oci.image."

// layout is an OCI layout that is being made.
type layout struct{ blobs map[string][]byte }

func (l layout) add(kind string, text []byte) blob {
	digest := fmt.Sprintf("%x", sha256.Sum256(text))
	l.blobs["blobs/sha256/"+digest] = text
	return blob{MediaType: mediaType + kind, Digest: "sha256:" + digest, Size: len(text)}
}

func (l layout) addJSON(kind string, v any) (blob, error) {
	text, err := json.Marshal(v)
	return l.add(kind, text), err
}

// image is an archive of an OCI layout: one image for all platforms, which `podman load`, `docker
// load` and `skopeo copy oci-archive:FILE` read. The layout names an index, and that the images:
// what reads one image only then takes the one of its platform.
func (r release) image(programs []program) ([]byte, error) {
	l := layout{map[string][]byte{}}
	images := index{SchemaVersion: 2, MediaType: mediaType + "index.v1+json"}
	for _, p := range programs {
		m, err := r.platform(l, p)
		if err != nil {
			return nil, err
		}
		images.Manifests = append(images.Manifests, m)
	}
	all, err := l.addJSON("index.v1+json", images)
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{
		"io.containerd.image.name":          "localhost/starling:" + r.version,
		"org.opencontainers.image.ref.name": r.version,
	}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: images.MediaType, Manifests: []blob{all}})
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: "oci-layout", mode: 0o644, text: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, text: top},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	for _, name := range slices.Sorted(maps.Keys(l.blobs)) {
		entries = append(entries, entry{name: name, mode: 0o644, text: l.blobs[name]})
	}
	return r.tar(entries)
}

// platform adds the image with one program.
func (r release) platform(l layout, p program) (blob, error) {
	files, err := r.tar(root(p))
	if err != nil {
		return blob{}, err
	}
	packed, err := zip(files)
	if err != nil {
		return blob{}, err
	}
	on := platform{Architecture: p.arch, OS: p.os}
	configured, err := l.addJSON("config.v1+json", config{
		platform: on,
		Created:  r.time,
		Config: running{
			User:       fmt.Sprintf("%d:%d", user, user),
			Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/work"},
			Entrypoint: []string{"/usr/bin/starling"},
			WorkingDir: "/work",
			Labels: map[string]string{
				"org.opencontainers.image.title":    "starling",
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(files))}},
	})
	if err != nil {
		return blob{}, err
	}
	m, err := l.addJSON("manifest.v1+json", manifest{
		SchemaVersion: 2,
		MediaType:     mediaType + "manifest.v1+json",
		Config:        configured,
		Layers:        []blob{l.add("layer.v1.tar+gzip", packed)},
	})
	m.Platform = &on
	return m, err
}

// root is what the image has: the program, whom it runs as, whom it trusts, and two folders that it
// may write to. The program brings time zones itself.
func root(p program) []entry {
	as := fmt.Sprintf("starling:x:%d:", user)
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, text: []byte("root:x:0:\n" + as + "\n")},
		{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:0:root:/root:\n%s%d::/work:\n", as, user)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: authorities()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/starling", mode: 0o755, text: p.bytes},
		{name: "work/", mode: 0o755, owner: user},
	}
}

// authorities are those that Mozilla trusts, without those that it trusts within bounds, which the
// file cannot say.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}
