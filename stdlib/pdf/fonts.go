package pdf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/font/opentype/tables"
	"github.com/go-text/typesetting/harfbuzz"
	"github.com/go-text/typesetting/language"
	"golang.org/x/image/font/gofont/goregular"
)

const (
	maxFiles = 20_000    // font files that are looked at
	maxFile  = 256 << 20 // bytes of one of them
	shown    = 10        // characters that an error names
)

// Folders are those in which this system has its fonts: those of macOS, or of the XDG Base
// Directory Specification and what fontconfig looks into by default; the files of fontconfig are
// not read. None of them need be there.
func Folders() []string {
	home, _ := os.UserHomeDir() // "" leaves out what is below it
	if runtime.GOOS == "darwin" {
		return existing("/System/Library/Fonts", "/Library/Fonts", "/Network/Library/Fonts", under(home, "Library/Fonts"))
	}
	data := filepath.SplitList(cmp.Or(os.Getenv("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"))
	data = append([]string{cmp.Or(os.Getenv("XDG_DATA_HOME"), under(home, ".local/share"))}, data...)
	for i, dir := range data {
		data[i] = under(dir, "fonts")
	}
	return existing(append(data, under(home, ".fonts"), "/usr/local/share/fonts", "/usr/share/fonts",
		"/usr/share/texmf/fonts/opentype/public", "/usr/X11R6/lib/X11/fonts")...)
}

// under is a folder below another, "" below "".
func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// existing are the absolute paths that are folders, each once.
func existing(paths ...string) (folders []string) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if filepath.IsAbs(p) && err == nil && info.IsDir() && !slices.Contains(folders, p) {
			folders = append(folders, p)
		}
	}
	return folders
}

// MissingError is what Make returns for characters that no font has.
type MissingError struct {
	Runes  []rune // sorted, each once
	Looked int    // font files that were looked at
}

// Error names characters and scripts: `no installed font has "漢" (U+6F22): install one with
// outlines for the script Hani (ISO 15924), such as one of Noto; 22 files were looked at`.
func (e *MissingError) Error() string {
	var named, scripts []string
	for i, r := range e.Runes {
		if i < shown {
			named = append(named, fmt.Sprintf("%q (U+%04X)", string(r), r))
		}
		if s := language.LookupScript(r); s != language.Common && s != language.Unknown && !slices.Contains(scripts, s.String()) {
			scripts = append(scripts, s.String())
		}
	}
	if more := len(e.Runes) - shown; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	want := "one that has it and has outlines"
	if len(scripts) > 0 {
		want = "one with outlines for the script " + strings.Join(scripts, ", ") + " (ISO 15924), such as one of Noto"
	}
	return fmt.Sprintf("no installed font has %s: install %s; %d files were looked at", strings.Join(named, ", "), want, e.Looked)
}

// candidate is an installed font.
type candidate struct {
	path   string
	index  int   // within a collection
	styled bool  // bold, italic, or otherwise not what text is set in
	covers []int // what of the characters that are wanted it has, as indices
}

// choose gives fonts that together have all characters: Go Regular, and as few installed ones as it
// takes, each time the one that has most of what is left. Of equals the first by path is taken.
func choose(ctx context.Context, text []rune, folders []string) ([]*font.Face, error) {
	own, err := font.ParseTTF(bytes.NewReader(goregular.TTF))
	if err != nil {
		return nil, err
	}
	faces, left := []*font.Face{own}, lacking(own, text)
	if len(left) == 0 {
		return faces, nil
	}
	all, looked, err := scan(ctx, left, folders)
	if err != nil {
		return nil, err
	}
	open := make(map[int]bool, len(left))
	for i := range left {
		open[i] = true
	}
	for len(open) > 0 {
		best, most := candidate{}, 0
		for _, c := range all {
			if n := c.fills(open); n > 0 && (most == 0 || best.styled && !c.styled || best.styled == c.styled && n > most) {
				best, most = c, n
			}
		}
		if most == 0 {
			return nil, missing(left, open, looked)
		}
		face, err := best.load()
		if err != nil {
			all = slices.DeleteFunc(all, func(c candidate) bool { return c.path == best.path && c.index == best.index })
			continue
		}
		faces = append(faces, face)
		for _, i := range best.covers {
			delete(open, i)
		}
	}
	return faces, nil
}

func missing(wanted []rune, open map[int]bool, looked int) error {
	e := &MissingError{Looked: looked}
	for i, r := range wanted {
		if open[i] {
			e.Runes = append(e.Runes, r)
		}
	}
	return e
}

// fills counts what a font has of what is left.
func (c *candidate) fills(open map[int]bool) (n int) {
	for _, i := range c.covers {
		if open[i] {
			n++
		}
	}
	return n
}

// lacking are the characters of a text that a font has no glyph for, sorted. Blanks need none, nor
// does what only says how others are drawn.
func lacking(face *font.Face, text []rune) []rune {
	var left []rune
	for _, r := range text {
		if glyph, found := face.NominalGlyph(r); (!found || glyph == 0) && drawn(r) {
			left = append(left, r)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

func drawn(r rune) bool {
	return r != '\n' && !unicode.Is(unicode.Zs, r) && !harfbuzz.IsDefaultIgnorable(r)
}

// scan looks at the fonts of the folders. What cannot be read, or is no font, is passed over.
func scan(ctx context.Context, wanted []rune, folders []string) (all []candidate, looked int, err error) {
	files := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && len(files) < maxFiles && isFont(path) {
				files[path] = true
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for path := range files {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		all = append(all, candidates(path, wanted)...)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.index, b.index))
	})
	return all, len(files), nil
}

// isFont goes by the name. Fonts of last resort have a box for every character, which is what a
// text is not to have.
func isFont(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.Contains([]string{".ttf", ".otf", ".ttc", ".otc"}, filepath.Ext(name)) &&
		!strings.HasPrefix(name, "lastresort") && !strings.HasPrefix(name, "adobeblank") && !strings.HasPrefix(name, "adobenotdef")
}

// candidates are the fonts of a file that have outlines and some of what is wanted.
func candidates(path string, wanted []rune) (found []candidate) {
	file, loaders := open(path)
	if file == nil {
		return nil
	}
	defer file.Close()
	for i, l := range loaders {
		if !outlined(l) {
			continue
		}
		covers := coverage(l, wanted)
		if len(covers) == 0 {
			continue
		}
		d, _ := font.Describe(l, nil)
		found = append(found, candidate{path, i, d.Aspect.Style != font.StyleNormal || d.Aspect.Weight != font.WeightNormal, covers})
	}
	return found
}

// open gives a file that has fonts, and these; nil for one that has none.
func open(path string) (*os.File, []*opentype.Loader) {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() || i.Size() > maxFile {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	loaders, err := opentype.NewLoaders(file)
	if err != nil {
		file.Close()
		return nil, nil
	}
	return file, loaders
}

func outlined(l *opentype.Loader) bool {
	return slices.ContainsFunc([]string{"glyf", "CFF ", "CFF2"}, func(table string) bool {
		return l.HasTable(opentype.MustNewTag(table))
	})
}

func coverage(l *opentype.Loader, wanted []rune) (covers []int) {
	raw, err := l.RawTable(opentype.MustNewTag("cmap"))
	if err != nil {
		return nil
	}
	table, _, err := tables.ParseCmap(raw)
	if err != nil {
		return nil
	}
	characters, _, err := font.ProcessCmap(table, tables.FPNone)
	if err != nil {
		return nil
	}
	for i, r := range wanted {
		if glyph, found := characters.Lookup(r); found && glyph != 0 {
			covers = append(covers, i)
		}
	}
	return covers
}

func (c *candidate) load() (*font.Face, error) {
	file, loaders := open(c.path)
	if file == nil || c.index >= len(loaders) {
		return nil, fmt.Errorf("%s: no font any more", c.path)
	}
	defer file.Close()
	f, err := font.NewFont(loaders[c.index])
	if err != nil {
		return nil, err
	}
	return font.NewFace(f), nil
}
