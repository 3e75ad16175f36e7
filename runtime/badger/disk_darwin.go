package badger

import "golang.org/x/sys/unix"

// networkName names the network file system that s describes, or is "": whatever the system does
// not call local.
func networkName(s *unix.Statfs_t) string {
	if s.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(s.Fstypename[:])
}
