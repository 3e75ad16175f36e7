//go:build !linux

package process

import "time"

// clock is the one on the wall, which may be set.
func clock() time.Duration { return time.Duration(time.Now().UnixNano()) }
