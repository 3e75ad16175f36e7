// Release makes a release of programs that are built: archives, an image for containers, a formula
// of Homebrew, and of each program what it is made of. It is called by .ci/release.
//
// It writes tar and gzip itself, so that the bytes follow from what is packed and from the version
// of Go, and not from the tar and gzip of the machine.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// release is what a release is made of.
type release struct {
	version string    // v1.2.3, as the tag says
	time    time.Time // of the commit; everything packed has it
	texts   string    // the folder of what archives have beside the program
	url     string    // where the archives will lie, or "" for the formula's own folder
}

// program is one that is built, by the name of its file: linux-amd64.
type program struct {
	os, arch string
	bytes    []byte
	info     *debug.BuildInfo
}

func main() {
	log.SetFlags(0)
	var r release
	var seconds int64
	flag.StringVar(&r.version, "version", "", "the `version`, v1.2.3")
	flag.Int64Var(&seconds, "time", 0, "the time of the commit, in `seconds` since 1970")
	flag.StringVar(&r.texts, "texts", "", "the `folder` of what archives have beside the program")
	flag.StringVar(&r.url, "url", "", "where the archives will lie")
	into := flag.String("into", "", "the `folder` that takes all of it")
	flag.Parse()
	r.time = time.Unix(seconds, 0).UTC()
	var programs []program
	for _, path := range flag.Args() {
		p, err := read(path, r.version)
		if err != nil {
			log.Fatal(err)
		}
		programs = append(programs, p)
	}
	files, err := r.files(programs)
	if err == nil {
		err = write(*into, files)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// read takes in a program OS-ARCH. The version that it was built with must be that of the release.
func read(path, version string) (program, error) {
	os_, arch, ok := strings.Cut(filepath.Base(path), "-")
	if !ok {
		return program{}, fmt.Errorf("%s: want a file named OS-ARCH, such as linux-amd64", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(text))
	if err != nil {
		return program{}, fmt.Errorf("%s: %w", path, err)
	}
	if info.Main.Version != version {
		return program{}, fmt.Errorf("%s: says that it is %s, want %s", path, info.Main.Version, version)
	}
	return program{os: os_, arch: arch, bytes: text, info: info}, nil
}

// files are all of a release, by name.
func (r release) files(programs []program) (map[string][]byte, error) {
	files := map[string][]byte{}
	var linux []program
	for _, p := range programs {
		archive, err := r.archive(p)
		if err != nil {
			return nil, err
		}
		files[r.name(p)+".tar.gz"] = archive
		files[r.name(p)+".cdx.json"] = r.bill(p)
		if p.os == "linux" {
			linux = append(linux, p)
		}
	}
	files["starling.rb"] = r.formula(programs, files)
	image, err := r.image(linux)
	if err != nil {
		return nil, err
	}
	files["starling-"+r.version+"-image.tar"] = image
	files["SHA256SUMS"] = sums(files)
	return files, nil
}

// name is that of the archive of a program, and of the folder in it.
func (r release) name(p program) string {
	return "starling-" + r.version + "-" + p.os + "-" + p.arch
}

// sums are what `sha256sum --check` reads.
func sums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.Bytes()
}

func write(folder string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
