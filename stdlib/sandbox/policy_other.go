//go:build unix && !linux

package sandbox

import "syscall"

// Namespaces does nothing: there are none here.
func (p Policy) Namespaces(*syscall.SysProcAttr) {}

// Enforce does nothing here and says so.
func (p Policy) Enforce(bool) (lacks []string, err error) {
	lacks = []string{"files outside of the workspace, and the store, are not protected: this system has no Landlock"}
	if !p.Network {
		lacks = append(lacks, "the network is open: this system has no network namespaces")
	}
	return lacks, nil
}

// Lacks says what this machine cannot enforce.
func Lacks() string { return "there is no sandbox on this system: commands are not confined" }
