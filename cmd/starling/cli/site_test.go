package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"starling/cmd/starling/site"
	"starling/lang/doc"
	"starling/stdlib/project"
)

// leaf is a page of the site as a parser of XML reads it.
type leaf struct {
	ids, links []string
	loads      []string // what comes with the page
	title      string
}

func read(t *testing.T, name string, text []byte) leaf {
	t.Helper()
	var l leaf
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Entity = xml.HTMLEntity
	for within := ""; ; {
		token, err := d.Token()
		if err == io.EOF {
			return l
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			within = e.Name.Local
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "id":
					l.ids = append(l.ids, a.Value)
				case "href", "action":
					if l.links = append(l.links, a.Value); within == "link" {
						l.loads = append(l.loads, a.Value)
					}
				case "src":
					l.loads, l.links = append(l.loads, a.Value), append(l.links, a.Value)
				}
			}
		case xml.CharData:
			if within == "title" {
				l.title += string(e)
			}
		}
	}
}

func aSite(t *testing.T) (*site.Site, *manualVerb) {
	t.Helper()
	v := &manualVerb{call: &call{program: "starling", getenv: func(string) (string, bool) { return "", false }, env: environment}}
	s, err := v.site()
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// TestSite writes all pages, and reads them: they are well-formed, each link leads to a page and an
// anchor that there is, nothing is loaded from elsewhere, and nothing that there is lacks a page.
func TestSite(t *testing.T) {
	s, v := aSite(t)
	dir := t.TempDir()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	files, leaves := map[string]bool{}, map[string]leaf{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		files[filepath.ToSlash(name)] = true
		if text, err := os.ReadFile(file); err != nil || path.Ext(name) != ".html" {
			return err
		} else {
			leaves[filepath.ToSlash(name)] = read(t, name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(leaves) < 150 {
		t.Fatalf("got %d pages, which cannot be all", len(leaves))
	}
	if page, err := os.ReadFile(filepath.Join(dir, "contracts.html")); err != nil || !bytes.Contains(page, []byte("<code>A | B</code>")) {
		t.Errorf("%v, or the bar in a cell of a table has its backslash still", err)
	}
	for name, l := range leaves {
		checkLeaf(t, name, l, leaves, files)
	}
	for _, cmd := range v.call.whole().Commands() {
		if !cmd.Hidden && !files["commands/"+cmd.Name()+".html"] {
			t.Errorf("starling %s has no page", cmd.Name())
		}
	}
	for _, e := range doc.Of(v.call.environmentOf("x_test.star")) {
		owner, _, member := strings.Cut(e.Name, ".")
		if l, ok := leaves["names/"+owner+".html"]; !ok || member && !slices.Contains(l.ids, e.Name) {
			t.Errorf("%s has no page", e.Name)
		}
	}
	for _, k := range project.Keys() {
		if !slices.Contains(leaves["starling.toml.html"].ids, k.Path) {
			t.Errorf("the key %s has no row", k.Path)
		}
	}
}

func checkLeaf(t *testing.T, name string, l leaf, leaves map[string]leaf, files map[string]bool) {
	if l.title == "" {
		t.Errorf("%s has no title", name)
	}
	slices.Sort(l.ids)
	if n := len(l.ids); len(slices.Compact(l.ids)) < n {
		t.Errorf("%s has an anchor twice", name)
	}
	for _, load := range l.loads {
		if strings.Contains(load, ":") {
			t.Errorf("%s loads %s", name, load)
		}
	}
	for _, link := range l.links {
		u, err := url.Parse(link)
		if err != nil || u.Scheme != "" {
			if err != nil || u.Scheme != "https" && u.Scheme != "http" {
				t.Errorf("%s: the link %q: %v", name, link, err)
			}
			continue
		}
		to := name
		if u.Path != "" {
			to = path.Join(path.Dir(name), u.Path)
		}
		if !files[to] || u.Fragment != "" && !slices.Contains(leaves[to].ids, u.Fragment) {
			t.Errorf("%s links to %s, which is not there", name, link)
		}
	}
}

// TestSiteServes asks the server: it finds words without scripts, and lets nothing else be loaded.
func TestSiteServes(t *testing.T) {
	s, _ := aSite(t)
	h := s.Handler()
	get := func(method, target string, code int) string {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Code != code {
			t.Errorf("%s %s: got %d, want %d", method, target, w.Code, code)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") {
			t.Errorf("%s: got the policy %q", target, csp)
		}
		return w.Body.String()
	}
	front := get("GET", "/", 200)
	if !strings.Contains(front, `href="docs/tutorial.html"`) {
		t.Errorf("the first page does not lead to the tutorial")
	}
	if get("GET", "/commands/", 200) != get("GET", "/commands/index.html", 200) {
		t.Errorf("a folder is not its index")
	}
	found := get("GET", "/search.html?q=idempotency+key", 200)
	l := read(t, "search", []byte(found))
	if len(l.loads) != 1 || !slices.ContainsFunc(l.links, func(link string) bool { return strings.HasPrefix(link, "commands/run.html") }) {
		t.Errorf("got the links %q, loads %q", l.links, l.loads)
	}
	hostile := get("GET", "/search.html?q="+url.QueryEscape(`<script>alert(1)</script>"&`), 200)
	if read(t, "hostile", []byte(hostile)); strings.Contains(hostile, "<script>") {
		t.Errorf("what was asked for is part of the page:\n%s", hostile)
	}
	read(t, "missing", []byte(get("GET", "/a/b/%3Cnowhere%3E", 404)))
	get("POST", "/", 405)
}

// TestSearchInTheBrowser has node run the script over a page of few parts: it finds what the
// program finds, in the same order.
func TestSearchInTheBrowser(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	s, _ := aSite(t)
	dir := t.TempDir()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	const browser = `
const vm = require("vm"), fs = require("fs");
const element = () => ({ children: [], append(...c) { this.children.push(...c); }, replaceChildren() { this.children = []; } });
const list = element(), heading = element();
const world = { URLSearchParams, location: { search: "?q=" + encodeURIComponent(process.argv[2]) },
  document: { getElementById: () => list, querySelector: () => heading, createElement: element } };
vm.runInNewContext(fs.readFileSync(process.argv[1] + "/index.js", "utf8") + fs.readFileSync(process.argv[1] + "/search.js", "utf8"), world);
console.log(JSON.stringify(list.children.map((p) => (p.children || []).map((c) => c.href).filter(Boolean)).flat()));
`
	for _, query := range []string{"gate", "idempotency key", "on_uncertain", "STEP", "cassette record", "Ünlikely", "retry.with", "tim"} {
		out, err := exec.Command(node, "-e", browser, dir, query).Output()
		var got []string
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		var want []string
		for _, f := range s.Search(query) {
			want = append(want, f.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the script finds\n%q\nand the program\n%q", query, got, want)
		}
	}
}
