package badger

import "golang.org/x/sys/unix"

// networkName names the network or cluster file system that s describes, or is "". The numbers are
// those of statfs(2) and linux/magic.h. A file system in user space (FUSE) does not tell whether it
// is a far one, and is let through.
func networkName(s *unix.Statfs_t) string {
	switch uint32(s.Type) {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB"
	case 0x01021997:
		return "9P"
	case 0x00c36400:
		return "Ceph"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x73757245:
		return "Coda"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x7461636f:
		return "OCFS2"
	case 0x01161970:
		return "GFS2"
	}
	return ""
}
