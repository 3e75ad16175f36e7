// Package confine makes the sandboxes of commands, tool servers and agents: what a project wants of
// them, in terms of stdlib/sandbox.
package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/git"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/sandbox"
)

// Order is what a program may do beside what every program may.
type Order struct {
	Level   string   // as [sh] sandbox says it; "" is [project.WholeSandbox]
	Home    string   // a folder of its own, for what it leaves behind
	Read    []string // absolute paths
	Write   []string // absolute paths
	Own     []string // folders that it may change for itself: the user's stay as they are
	Network bool
	Looks   bool // it may read the workspace and not change it
}

// Program puts the program of a Spec into its sandbox, and into its environment where the tools of
// the user are, which lie where HOME does not lead. With [project.NoSandbox] it does nothing.
func Program(a *effect.Attempt, spec *process.Spec, o Order) {
	if o.Level == project.NoSandbox {
		return
	}
	home, _ := os.UserHomeDir()
	tools := sandbox.FindTools(spec.Programs(), home, os.Getenv)
	spec.Env = append(spec.Env, missing(spec.Env, tools.Env)...)
	options := git.Options{Workspace: a.Settings.Workspace, Store: a.Store, Trees: a.Trees,
		Rights: project.Rights(a.Settings)}
	p := &sandbox.Policy{
		Read:    slices.Concat(sandbox.System(), tools.Read, certificates(spec.Env), o.Own, o.Read),
		Write:   o.Write,
		Hide:    []string{a.Store},
		Caches:  tools.Caches,
		Scratch: o.Home,
		Network: o.Network,
		Partial: o.Level == project.PartialSandbox,
	}
	for _, folder := range o.Own {
		p.Caches = append(p.Caches, sandbox.Cache{Folder: folder})
	}
	if o.Home != "" {
		p.Write = append(p.Write, o.Home)
	}
	workspace := []string{a.Settings.Workspace}
	if a.Tree != "" { // git is part of a workspace
		workspace = append(workspace, git.Folders(options)...)
	}
	if o.Looks {
		p.Read = append(p.Read, workspace...)
	} else {
		p.Write = append(p.Write, workspace...)
		p.Protect = git.Protected(options)
		if file := a.Settings.ProjectFile; file != "" && !slices.Contains(p.Protect, file) {
			p.Protect = append(p.Protect, file)
		}
	}
	spec.Sandbox = p
}

// missing are those of further variables that an environment does not have.
func missing(env, further []string) []string {
	return slices.DeleteFunc(further, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	})
}

// certificates are the files by which programs verify whom they talk to.
func certificates(env []string) (files []string) {
	for _, entry := range env {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE":
			if filepath.IsAbs(value) {
				files = append(files, value)
			}
		}
	}
	return files
}

// MakeHome makes an empty folder for an attempt, the same for every attempt of its step, so that
// what a crash has left is found. Whoever asks for it removes it.
func MakeHome(a *effect.Attempt) (string, error) {
	sum := sha256.Sum256([]byte(a.Key + "\x00" + a.Store))
	dir := filepath.Join(os.TempDir(), "starling-"+hex.EncodeToString(sum[:12]))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o700) // fails where somebody else has put something meanwhile
}
