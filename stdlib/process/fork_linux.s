// The runtime's own preparations for a fork have no body here: see fork_linux.go.
