package project

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"starling/lang/effect"
)

// maxDigested is how many bytes of a file count.
const maxDigested = 64 << 20

// Digests are those of the files that the commands of a project name, as they are now, by their
// paths below the project's folder. One that is not there has none.
func Digests(s *effect.Settings) map[string]string {
	if s.ProjectFile == "" {
		return nil
	}
	f, err := Parse(s.ProjectFile, s.Project)
	if err != nil {
		return nil
	}
	folder := filepath.Dir(s.ProjectFile)
	found := map[string]string{}
	for _, name := range f.Named(folder) {
		if !strings.HasPrefix(name, ".starling/") {
			if sum, err := digest(filepath.Join(folder, filepath.FromSlash(name))); err == nil && sum != "" {
				found[name] = sum
			}
		}
	}
	return found
}

// digest is that of a file, "" for anything else.
func digest(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxDigested)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
