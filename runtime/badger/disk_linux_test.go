package badger

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkName(t *testing.T) {
	for magic, want := range map[int64]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
		unix.V9FS_MAGIC: "9P", unix.CEPH_SUPER_MAGIC: "Ceph", unix.AFS_FS_MAGIC: "AFS", unix.AFS_SUPER_MAGIC: "AFS",
		unix.CODA_SUPER_MAGIC: "Coda", unix.OCFS2_SUPER_MAGIC: "OCFS2",
		unix.EXT4_SUPER_MAGIC: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.OVERLAYFS_SUPER_MAGIC: "",
	} {
		s := &unix.Statfs_t{Type: magic}
		if got := networkName(s); got != want {
			t.Errorf("file system %#x: got %q, wanted %q", magic, got, want)
		}
		s.Type = int64(int32(magic)) // as 32-bit systems have it
		if got := networkName(s); got != want {
			t.Errorf("file system %#x with its sign extended: got %q, wanted %q", magic, got, want)
		}
	}
}
