package lang_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"starling/lang"
)

func TestEncodeDecode(t *testing.T) {
	for entry, f := range map[string]files{
		"scripts/review.star": project,
		"loop.star":           {"loop.star": `run("loop.star")`},
		"empty.star":          {"empty.star": ""},
	} {
		b := read(t, entry, f)
		data := b.Encode()
		got, err := lang.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		if !bytes.Equal(got.Encode(), data) {
			t.Errorf("%s: encoding what was decoded gives other bytes", entry)
		}
		if names(got.Files()) != names(b.Files()) || got.Entry().Name != entry || got.Hash() != b.Hash() {
			t.Errorf("%s: got %s, want %s", entry, names(got.Files()), names(b.Files()))
		}
		for i, m := range got.Files() {
			if !bytes.Equal(m.Source, b.Files()[i].Source) {
				t.Errorf("%s: %s has another text", entry, m.Name)
			}
		}
	}
}

// The bytes themselves are a format: stores hold them.
func TestEncodedBytes(t *testing.T) {
	b := read(t, "a.star", files{"a.star": "load('b.star', 'x')\nrun('./c')", "b.star": "x=1", "c": ""})
	want := strings.Join([]string{
		"53544231", // STB1
		"01", "03", // the second of three is the entry
		"06" + "622e73746172", // b.star
		"03" + "783d31",       // x=1
		"00", "00",            //
		"06" + "612e73746172", // a.star
		"1e" + "6c6f61642827622e73746172272c20277827290a72756e28272e2f632729",
		"01" + "00", "01" + "02", // loads the first, runs the third
		"01" + "63", "00", "00", "00", // c, empty
	}, "")
	data := b.Encode()
	if got := hex.EncodeToString(data[:len(data)-sha256.Size]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// seal gives a body the checksum that makes it worth reading.
func seal(body string) []byte {
	sum := sha256.Sum256([]byte(body))
	return append([]byte(body), sum[:]...)
}

func TestDecodeRefuses(t *testing.T) {
	good := read(t, "a.star", files{"a.star": "x"}).Encode()
	flipped := bytes.Clone(good)
	flipped[8] ^= 1
	const a = "\x01a\x00\x00\x00" // the module "a", empty
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "bundle: this is not a bundle, or one of another version"},
		{"another version", seal("STB2\x00\x00"), "bundle: this is not a bundle, or one of another version"},
		{"a flipped bit", flipped, "bundle: damaged: the checksum does not match"},
		{"a cut", good[:len(good)-1], "bundle: damaged: the checksum does not match"},
		{"no modules", seal("STB1\x00\x00"), "bundle: no entry"},
		{"an entry out of range", seal("STB1\x01\x01" + a), "bundle: no entry"},
		{"too many modules", seal("STB1\x00\xff\xff\x03"), "bundle: malformed count, want at most 3"},
		{"an overlong count", seal("STB1\x00\x81\x00" + a), "bundle: not in the form in which bundles are written"},
		{"text past the end", seal("STB1\x00\x01\x09a"), "bundle: malformed count, want at most 2"},
		{"a load of itself", seal("STB1\x00\x01\x01a\x00\x01\x00\x00"), "bundle: malformed count, want at most 0"},
		{"a later load", seal("STB1\x00\x02\x01b\x00\x01\x01\x00" + a), "bundle: malformed count, want at most 0"},
		{"a load twice", seal("STB1\x01\x02" + a + "\x01b\x00\x00\x02\x00\x00"), "bundle: a module is listed twice"},
		{"a module twice", seal("STB1\x01\x02" + a + a), `bundle: "a" stands in it twice`},
		{"a file that nothing needs", seal("STB1\x01\x02" + a + "\x01b\x00\x00\x00"), "bundle: its files are not in order"},
		{"a name outside", seal("STB1\x00\x01\x04../a\x00\x00\x00"), `bundle: "../a" is not a file name`},
		{"bytes too many", seal("STB1\x00\x01" + a + "\x00"), "bundle: 1 bytes too many"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := lang.Decode(test.data)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	const sum = sha256.Size
	for entry, from := range map[string]files{
		"scripts/review.star": project,
		"loop.star":           {"loop.star": `run("loop.star")`},
	} {
		b, err := lang.Read(entry, from.read, standard.read)
		if err != nil {
			f.Fatal(err)
		}
		data := b.Encode()
		f.Add(data[:len(data)-sum])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data := seal(string(body)) // a mutant with the right checksum reaches the decoder
		b, err := lang.Decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(b.Encode(), data) {
			t.Fatal("accepted bytes that Encode does not write")
		}
		modules := b.Modules()
		for i, m := range modules {
			for _, l := range m.Loads() {
				if !slices.Contains(modules[:i], l) {
					t.Fatalf("%s stands before %s, which it loads", m.Name, l.Name)
				}
			}
		}
	})
}
