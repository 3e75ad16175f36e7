package stdlib

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"starling/lang/diagnostic"
)

// The library in the language itself: what scripts load as "@std/NAME.star". A run is pinned to the
// text that its binary had when it was started.
//
//go:embed *.star
var libraryFiles embed.FS

// LibraryPrefix is what the names of the library's files begin with in load.
const LibraryPrefix = "@std/"

// Library serves the library's files by what follows the prefix, such as "retry.star". The error of
// any other name knows what there is.
func Library(name string) ([]byte, error) {
	names := libraryNames()
	if slices.Contains(names, name) {
		return libraryFiles.ReadFile(name)
	}
	return nil, &diagnostic.Absent{Name: LibraryPrefix + name, Beside: names}
}

// LibraryNames lists the library's files as scripts load them, sorted.
func LibraryNames() []string {
	entries := libraryNames()
	for i := range entries {
		entries[i] = LibraryPrefix + entries[i]
	}
	return entries
}

// libraryNames lists the files without their tests, sorted.
func libraryNames() []string {
	names, _ := fs.Glob(libraryFiles, "*.star") // the pattern is well-formed
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.star") })
}
