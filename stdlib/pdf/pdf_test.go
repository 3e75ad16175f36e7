package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"

	"starling/stdlib/pdf"
)

// What is set can be read from the file again, and the same is the same bytes.
func TestText(t *testing.T) {
	d := pdf.Document{Title: "Über Gannets (§1)", Body: "They dive — “fast” — for €5.\r\n\nΚαι στα ελληνικά\tи по-русски; e\u0301 ﬁ \\ ( )"}
	file := made(t, d)
	want := []string{"Über Gannets (§1)", "They dive — “fast” — for €5.", "Και στα ελληνικά    и по-русски; é ﬁ \\ ( )"}
	if got := lines(t, file); !slices.Equal(got, want) {
		t.Errorf("got the lines %q, want %q", got, want)
	}
	if !bytes.Equal(file, made(t, d)) {
		t.Error("the same document makes other bytes")
	}
	if !bytes.Contains(file, []byte("/Title <FEFF00DC0062")) {
		t.Error("the file has no title")
	}
}

// Each place in the table of the file is that of its object (7.5.4).
func TestPlaces(t *testing.T) {
	file := made(t, pdf.Document{Body: strings.Repeat("All work and no play. ", 500) + "\fnext"})
	_, after, _ := bytes.Cut(file, []byte("startxref\n"))
	start, _, _ := bytes.Cut(after, []byte("\n"))
	at, err := strconv.Atoi(string(start))
	if err != nil || !bytes.HasPrefix(file[at:], []byte("xref\n0 ")) {
		t.Fatalf("startxref is %s: %v", start, err)
	}
	for i, row := range regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllSubmatch(file[at:], -1) {
		place, _ := strconv.Atoi(string(row[1]))
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(file[place:], []byte(want)) {
			t.Errorf("at %d there is %.20q, want %q", place, file[place:], want)
		}
	}
}

func TestLinesAndPages(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("lorem ipsum ", 100))
	got := lines(t, made(t, pdf.Document{Body: long}))
	if len(got) < 5 || strings.Join(got, " ") != long {
		t.Errorf("a long paragraph is broken into %q", got)
	}
	for body, pages := range map[string]int{"": 1, "a": 1, "a\fb": 2, strings.Repeat("a\n", 200): 4, strings.Repeat("x", 20000): 4} {
		file := made(t, pdf.Document{Body: body})
		if got := bytes.Count(file, []byte("/Type /Page ")); got != pages {
			t.Errorf("%.10q… is on %d pages, want %d", body, got, pages)
		}
	}
}

// A font has 256 codes in the file; further glyphs of it are in another.
func TestManyGlyphs(t *testing.T) {
	var body strings.Builder
	for _, in := range []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic} {
		for _, r := range characters(t, goregular.TTF, in) {
			body.WriteString(string(r) + " ")
		}
	}
	got := strings.Join(lines(t, made(t, pdf.Document{Body: body.String()})), " ")
	if want := strings.TrimSpace(body.String()); got != want || len([]rune(want)) < 2*257 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What no font has is named, with its script; nothing stands in its place.
func TestMissing(t *testing.T) {
	for body, want := range map[string]string{
		"a 漢 b 字":      `no installed font has "字" (U+5B57), "漢" (U+6F22): install one with outlines for the script Hani (ISO 15924), such as one of Noto; 0 files were looked at`,
		"کتاب क":       "for the script Arab, Deva (ISO 15924)",
		"\x07":         `no installed font has "\a" (U+0007): install one that has it and has outlines`,
		"ⴰⴱⴲⴳⴴⴵⴶⴷⴸⴹⴺⴻ": `"ⴹ" (U+2D39), and 2 more`,
	} {
		_, err := pdf.Make(t.Context(), pdf.Document{Body: body}, []string{t.TempDir(), "/none"})
		var missing *pdf.MissingError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want %s", body, err, want)
		}
	}
}

// Fonts are found in folders, at any depth. Of those that suffice an upright one is taken, and
// files that are none are passed over.
func TestInstalledFonts(t *testing.T) {
	folder := t.TempDir()
	for path, font := range map[string][]byte{
		"a/broken.ttf": []byte("no font"), "a/cut.ttf": goregular.TTF[:4000], "a/bold.ttf": withLetters(t, gobold.TTF, 0x5D0, 0x6F22),
		"LastResort-Regular.ttf": withLetters(t, goregular.TTF, 0x1F600, 26), "b/hebrew.ttf": withLetters(t, goregular.TTF, 0x5D0, 26), "b/han.TTF": withLetters(t, goregular.TTF, 0x6F22, 2),
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, font, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := pdf.Make(t.Context(), pdf.Document{Body: "abc 漢 def\nאבג 12 דה"}, []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pdf.Make(t.Context(), pdf.Document{Body: "😀"}, []string{folder}); err == nil {
		t.Error("the boxes of a font of last resort stand for what no font has")
	}
	// As it is seen, from left to right: the letters of Hebrew run the other way, its numbers do
	// not.
	if got, want := lines(t, file), []string{"abc 漢 def", "הד 12 גבא"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Make(ctx, pdf.Document{Body: "a"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want that of the context", err)
	}
}

// Any text is a file, or an error that names what is missing.
func FuzzMake(f *testing.F) {
	for _, body := range []string{"a\u0301\u200d\u0301", "\u202eabc\u202c", "1א2\nאa(", "\f\f\n", strings.Repeat("a", 300), "क्षि", "\U000e0100x"} {
		f.Add(body, body)
	}
	f.Fuzz(func(t *testing.T, title, body string) {
		file, err := pdf.Make(t.Context(), pdf.Document{Title: title, Body: body}, nil)
		var missing *pdf.MissingError
		if err != nil && !errors.As(err, &missing) {
			t.Fatal(err)
		}
		if err == nil {
			lines(t, file)
		}
	})
}

func made(t *testing.T, d pdf.Document) []byte {
	t.Helper()
	file, err := pdf.Make(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var (
	object = regexp.MustCompile(`(?s)(\d+) 0 obj\n(.*?)\nendobj\n`)
	ref    = func(key string) *regexp.Regexp { return regexp.MustCompile(key + ` (\d+) 0 R`) }
	shown  = regexp.MustCompile(`BT /F(\d+) \d+ Tf \S+ (\S+) Td \[(.*?)\] TJ`)
	strs   = regexp.MustCompile(`<([0-9a-f]*)>`)
	meant  = regexp.MustCompile(`(?m)^<([0-9A-F]{2})> <([0-9A-F]{4,})>$`)
)

// lines are what a file shows, as a reader of PDF finds it: what the codes of its fonts mean, from
// left to right, the runs of one height together.
func lines(t *testing.T, file []byte) (all []string) {
	t.Helper()
	objects := map[string][]byte{}
	for _, o := range object.FindAllSubmatch(file, -1) {
		objects[string(o[1])] = o[2]
	}
	fonts := map[string]map[string]string{}
	for _, o := range objects {
		if n := ref("/ToUnicode").FindSubmatch(o); n != nil {
			name := regexp.MustCompile(`/Name /F(\d+)`).FindSubmatch(o)
			fonts[string(name[1])] = meanings(t, content(t, objects[string(n[1])]))
		}
	}
	height := ""
	for _, page := range object.FindAllSubmatch(file, -1) {
		n := ref("/Contents").FindSubmatch(page[2])
		if n == nil {
			continue
		}
		for _, run := range shown.FindAllSubmatch(content(t, objects[string(n[1])]), -1) {
			if at := string(page[1]) + " " + string(run[2]); at != height {
				all, height = append(all, ""), at
			}
			all[len(all)-1] += text(run[3], fonts[string(run[1])])
		}
	}
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return all
}

func text(shown []byte, means map[string]string) (out string) {
	for _, s := range strs.FindAllSubmatch(shown, -1) {
		for code := range slices.Chunk(s[1], 2) {
			out += means[strings.ToUpper(string(code))]
		}
	}
	return out
}

func meanings(t *testing.T, cmap []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range meant.FindAllSubmatch(cmap, -1) {
		raw, err := hex.DecodeString(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		var units []uint16
		for pair := range slices.Chunk(raw, 2) {
			units = append(units, binary.BigEndian.Uint16(pair))
		}
		out[string(m[1])] = string(utf16.Decode(units))
	}
	return out
}

func content(t *testing.T, object []byte) []byte {
	t.Helper()
	_, packed, _ := bytes.Cut(object, []byte("stream\n"))
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
