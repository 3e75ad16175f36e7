package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/stdlib/redact"
)

var seed = flag.Uint64("redact-seed", uint64(time.Now().UnixNano()), "of the random texts")

// quoted is how an encoder of JSON writes a text, without the quotation marks.
func quoted(text string) string {
	out, _ := json.Marshal(text) // cannot fail
	return string(out[1 : len(out)-1])
}

// escaped writes some characters as the escapes that JSON has for all.
func escaped(text string, r *rand.Rand) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c > 0xffff:
			b.WriteString(string(c))
		case c == '"' || c == '\\' || c < ' ' || r.IntN(3) == 0:
			fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], c)
		case c == '/':
			b.WriteString(`\/`)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func percented(text string, r *rand.Rand) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 0x80 || strings.IndexByte("%\\ \"\n+&", c) >= 0 || r.IntN(3) == 0 {
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[r.IntN(2)], c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func folded(text string, at int) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		if i > 0 && i%at == 0 {
			b.WriteByte('\n')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// spellings are what programs make of a value.
func spellings(value string, r *rand.Rand) map[string]string {
	around := "user" + strings.Repeat("x", r.IntN(3)) + ":" + value + ":end"
	return map[string]string{
		"plain": value, "json": quoted(value), "json in json": quoted(quoted(value)), "json thrice": quoted(quoted(quoted(value))),
		"unicode escapes": escaped(value, r), "query": url.QueryEscape(value), "path": url.PathEscape(value), "percent": percented(value, r),
		"percent twice": url.QueryEscape(percented(value, r)), "percent in json": quoted(percented(value, r)),
		"base64": base64.StdEncoding.EncodeToString([]byte(around)), "base64 for urls": base64.RawURLEncoding.EncodeToString([]byte(around)),
		"base64 in lines": folded(base64.StdEncoding.EncodeToString([]byte(around)), 20), "base64 in json": strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(around)), "/", `\/`),
		"base64 in a url": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(around))),
		"hex":             hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
}

// A value is found in every spelling.
func TestSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, value := range []string{"sesame-key-12345", `p+a/s"s\=w&o<r>d'`, "-----BEGIN\nMII/x=\t\r\nabcdef", "pässwörd-日本-🔑x", "100%zz-percent", `C:\new\table\u0041`, "pass phrase with spaces", "hunter"} {
		for how, text := range spellings(value, r) {
			h := new(redact.Redactor)
			h.Hide("KEY", value)
			got := h.Redact("a line with <<" + text + ">> in it\n")
			if !strings.Contains(got, "[KEY]") || how[0] != 'b' && got != "a line with <<[KEY]>> in it\n" {
				t.Errorf("%q as %s, %q: got %q", value, how, text, got)
			}
		}
	}
}

// What contains a value as JSON is JSON without it.
func TestJSONStaysJSON(t *testing.T) {
	h := new(redact.Redactor)
	h.Hide("A", `ab"cd\ef`)
	h.Hide("B", `trailing\`)
	h.Hide("C", `"quoted"`)
	inner, _ := json.Marshal([]string{`x ab"cd\ef y`, `\trailing\`, `say "quoted"`, `\"quoted"\`})
	outer, _ := json.Marshal(map[string]string{"inner": string(inner)})
	for _, text := range []string{string(inner), string(outer)} {
		if got := h.Redact(text); !json.Valid([]byte(got)) || strings.Count(got, "[A]") != 1 || strings.Count(got, "[B]") != 1 || strings.Count(got, "[C]") != 2 {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	for _, value := range []string{"", "1", "true", "False", "8080", "20261122", "127.0.0.1", "2026-11-22", "12:30:05", "-273.15", "abc", "default", "Production", "  yes  "} {
		h := new(redact.Redactor)
		h.Hide("NAME", value)
		text := "it says " + value + " and goes on"
		if got := h.Redact(text); got != text || redact.Plain(value) == "" {
			t.Errorf("%q: got %q, plain because it %s", value, got, redact.Plain(value))
		}
	}
	for _, value := range []string{"secret", "12345678901", "127.0.0.1:80", "sesame", "a1b2c3", "hunter2hunter2"} {
		if why := redact.Plain(value); why != "" {
			t.Errorf("%q %s", value, why)
		}
	}
}

// A line that ends with how a key begins may just speak of it; a text that breaks off there may
// not.
func TestBeginnings(t *testing.T) {
	h := new(redact.Redactor)
	h.Hide("KEY", "github_pat_11ABCDEFG")
	for _, c := range [][3]string{
		{"pushed to github\n", "pushed to github\n", "pushed to github\n"},
		{"pushed to github", "pushed to github", "pushed to [KEY]"},
		{"key: github_pat_11A", "key: github_pat_11A", "key: [KEY]"},
		{"key: githu", "key: githu", "key: githu"},
		{`{"key": "github\u005fpat\u00`, `{"key": "github\u005fpat\u00`, `{"key": "[KEY]`},
		{"github_pat_11ABCDEFG", "[KEY]", "[KEY]"},
	} {
		if whole, cut := h.Redact(c[0]), h.Cut(c[0]); whole != c[1] || cut != c[2] {
			t.Errorf("%q: got %q and %q, want %q and %q", c[0], whole, cut, c[1], c[2])
		}
	}
}

// One value may begin with another, and be hidden whole.
func TestOverlappingValues(t *testing.T) {
	h := new(redact.Redactor)
	h.Hide("SHORT", "abcdef")
	h.Hide("LONG", "abcdefghijkl")
	h.Hide("OTHER", "jklmnopqr")
	s := h.Stream()
	var got strings.Builder
	for _, c := range []byte("abcdef-abcdefghijkl-abcdefghijklmnopqr") {
		got.Write(s.Next([]byte{c}))
	}
	got.Write(s.Rest())
	if want := "[SHORT]-[LONG]-[LONG]"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

// Nil and zero hide nothing; and what has nothing to hide holds nothing back.
func TestNothingToHide(t *testing.T) {
	var none *redact.Redactor
	for _, h := range []*redact.Redactor{none, new(redact.Redactor)} {
		s := h.Stream()
		if got := h.Redact("text") + h.Cut("text") + string(s.Next([]byte("text"))) + string(s.Rest()); got != "texttexttext" {
			t.Errorf("got %q", got)
		}
	}
}

// An endless run of what a spelling may hold is not kept.
func TestStreamsAreBounded(t *testing.T) {
	h := new(redact.Redactor)
	h.Hide("KEY", "sesame-key-12345")
	for _, piece := range []string{`\`, "%25", "\n", "sesame-", "s\n"} {
		s, given, shown := h.Stream(), 0, 0
		for given < 1<<20 {
			p := strings.Repeat(piece, 4096)
			given, shown = given+len(p), shown+len(s.Next([]byte(p)))
		}
		if held := given - shown; held > 64<<10 {
			t.Errorf("%q: holds %d bytes back", piece, held)
		}
	}
}

// Random values in random spellings at random places of random texts, in random pieces that may end
// anywhere: no six characters of one are left.
func TestNothingOfAValueIsLeft(t *testing.T) {
	t.Logf("-redact-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 0))
	for range 400 {
		values := make([]string, 1+r.IntN(5))
		h := new(redact.Redactor)
		for i := range values {
			values[i] = random(r, 6+r.IntN(60))
			for redact.Plain(values[i]) != "" {
				values[i] = random(r, 12)
			}
			h.Hide(fmt.Sprintf("K%d", i), values[i])
		}
		text, encoded := scattered(r, values)
		end := r.IntN(len(text) + 1)
		if strings.HasSuffix(text[:end], "\n") {
			end = len(text)
		}
		if n := h.Cut(text[:end]); left(n, encoded) != "" {
			t.Fatalf("of %q is left %q: %q became %q", values, left(n, encoded), text[:end], n)
		}
		s := h.Stream()
		var got bytes.Buffer
		for rest := []byte(text[:end]); len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(100)))
			got.Write(s.Next(rest[:n]))
			rest = rest[n:]
		}
		got.Write(s.Rest())
		if what := left(got.String(), encoded); what != "" {
			t.Fatalf("in pieces, of %q is left %q: %q became %q", values, what, text[:end], got.String())
		}
	}
}

// left is the first six characters of one of the values that are in a text. Backslashes are JSON's
// as well.
func left(text string, values []string) string {
	for _, v := range values {
		for i := 0; i+redact.Least <= len(v); i++ {
			if six := v[i : i+redact.Least]; !strings.Contains(six, `\`) && strings.Contains(text, six) {
				return v[i : i+redact.Least]
			}
		}
	}
	return ""
}

// The letters of values are not those of what is around them.
const letters = `abcdefghijklmnopqrstuvwxyz0123456789-_./+=&"\<> é`

func random(r *rand.Rand, n int) string {
	all := []rune(letters)
	var b strings.Builder
	for range n {
		b.WriteRune(all[r.IntN(len(all))])
	}
	return strings.TrimSpace(b.String())
}

// scattered is a text with spellings of values in it, and what of these must not be left. A value
// may end or begin with signs, which in front of other text have no meaning: these may be left.
func scattered(r *rand.Rand, values []string) (text string, encoded []string) {
	var b strings.Builder
	for range 3 + r.IntN(6) {
		for range r.IntN(40) {
			b.WriteByte("ABCDEFGHIJ KLMNOP QRSTUV\n,;:"[r.IntN(28)])
		}
		b.WriteString(" ")
		v := values[r.IntN(len(values))]
		all := spellings(v, r)
		names := []string{"plain", "json", "json in json", "json thrice", "unicode escapes", "query", "percent", "percent twice", "percent in json", "base64", "hex", "HEX"}
		name := names[r.IntN(len(names))]
		b.WriteString(all[name])
		b.WriteString(" ")
		if name == "plain" || name == "hex" || name == "HEX" {
			encoded = append(encoded, all[name])
		}
		encoded = append(encoded, strings.Trim(v, `\%`))
	}
	return b.String(), encoded
}

// spent is what this process has had of the processor.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A hundred megabytes with twenty values to hide, beside copying them.
func BenchmarkStream(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	h := new(redact.Redactor)
	for i := range 20 {
		h.Hide(fmt.Sprintf("K%d", i), random(r, 40))
	}
	for name, line := range map[string]string{"text": "The quick brown fox jumps over 13 lazy dogs and goes home to sleep until 12:30.\n",
		"json": `{"type": "text", "text": "He said \"no\", and then\nnothing for 100% of a day.", "at": 1234567890}` + "\n"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 100<<20/len(line)))
			out := make([]byte, 32<<10)
			var copying, hiding time.Duration // of the processor: the machine may be shared
			for b.Loop() {
				began := spent()
				for rest := text; len(rest) > 0; rest = rest[copy(out, rest):] {
				}
				copying += spent() - began
				began = spent()
				s := h.Stream()
				for rest := text; len(rest) > 0; rest = rest[min(len(rest), 32<<10):] {
					copy(out, s.Next(rest[:min(len(rest), 32<<10)]))
				}
				copy(out, s.Rest())
				hiding += spent() - began
			}
			b.ReportMetric(float64(hiding)/float64(copying), "x-copy")
			b.ReportMetric(float64(len(text))*float64(b.N)/hiding.Seconds()/1e6, "MB/s")
		})
	}
}
