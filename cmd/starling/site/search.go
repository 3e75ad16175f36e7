package site

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Found is a piece that has the words that were looked for.
type Found struct {
	Piece
	Around string `json:"around"` // its text around the first of them
	score  int
}

// most is how many pieces are shown of those that have the words.
const most = 50

// Search finds the pieces that have all words, the best first: a word counts most in a heading,
// more where a word of the text begins with it than within one.
func (s *Site) Search(query string) []Found {
	words := strings.Fields(strings.ToLower(query))
	var found []Found
	for _, p := range s.pieces {
		if score := p.score(words); score > 0 {
			found = append(found, Found{p, p.around(words), score})
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Size, b.Size))
	})
	return found[:min(len(found), most)]
}

// score is 0 where a word is missing. search.js reckons the same.
func (p *Piece) score(words []string) (sum int) {
	title, text := strings.ToLower(p.Title), strings.ToLower(p.Text)
	for _, w := range words {
		switch {
		case title == w:
			sum += 40
		case begins(title, w):
			sum += 15
		case strings.Contains(title, w):
			sum += 8
		case begins(text, w):
			sum += 3
		case strings.Contains(text, w):
			sum++
		default:
			return 0
		}
	}
	return sum
}

// begins tells whether a word of a text begins with w.
func begins(text, w string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], w)
		if i < 0 {
			return false
		}
		at += i
		if at == 0 || !isWord(text[at-1]) {
			return true
		}
		at += len(w)
	}
}

func isWord(c byte) bool {
	return c >= 0x80 || c == '_' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

// around is some of the text where the first of the words stands.
func (p *Piece) around(words []string) string {
	text := strings.Join(strings.Fields(p.Text), " ")
	lower := strings.ToLower(text)
	at := 0
	for _, w := range words {
		if i := strings.Index(lower, w); i >= 0 && i < len(text) {
			at = i
			break
		}
	}
	from, to := max(0, at-60), min(len(text), at+120)
	for from > 0 && text[from] != ' ' {
		from--
	}
	for to < len(text) && text[to] != ' ' {
		to++
	}
	around := strings.TrimSpace(text[from:to])
	if from > 0 {
		around = "… " + around
	}
	if to < len(text) {
		around += " …"
	}
	return strings.ToValidUTF8(around, "")
}

// Handler serves the site, and looks for words itself. Nothing but its own files may be loaded.
func (s *Site) Handler() http.Handler {
	files := s.files()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" || strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		text, ok := files[name]
		if query := r.URL.Query().Get("q"); name == "search.html" && query != "" {
			text, ok = s.render(s.results(query), query), true
		}
		head := w.Header()
		head.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Content-Type", typeOf(name))
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			head.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(s.render(s.missing(name), ""))
		default:
			_, _ = w.Write(text) // who has left misses nothing
		}
	})
}

func typeOf(name string) string {
	switch {
	case strings.HasSuffix(name, ".css"):
		return "text/css; charset=utf-8"
	case strings.HasSuffix(name, ".js"):
		return "text/javascript; charset=utf-8"
	}
	return "text/html; charset=utf-8"
}

// missing is the page of an address that none has. Its links are those of its own folder.
func (s *Site) missing(name string) *page {
	return &page{path: name, title: "Not here", body: "<h1>Not here</h1>\n<p>There is no page at this address.</p>"}
}

// results is the page of what was found.
func (s *Site) results(query string) *page {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n", html.EscapeString(query))
	found := s.Search(query)
	if len(found) == 0 {
		b.WriteString("<p>No page has all of these words.</p>\n")
	}
	for _, f := range found {
		fmt.Fprintf(&b, "<p class=\"found\"><a href=\"%s\">%s</a> <span>%s</span><br />%s</p>\n",
			html.EscapeString((&url.URL{Path: strings.Split(f.Path, "#")[0], Fragment: fragment(f.Path)}).String()), html.EscapeString(f.Title), html.EscapeString(f.Page), html.EscapeString(f.Around))
	}
	return &page{path: "search.html", title: query, body: b.String()}
}

func fragment(path string) string {
	_, anchor, _ := strings.Cut(path, "#")
	return anchor
}
