package site

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Site is all pages, by their paths.
type Site struct {
	version string
	pages   []*page
	pieces  []Piece
}

// page is one page of a group, such as that of the commands.
type page struct {
	path  string // "names/gate.html"
	title string
	group string // "Names"
	body  string // XHTML
	read  string // the command that shows it in a terminal
}

// Piece is a part of a page under a heading, for who looks for words.
type Piece struct {
	Title string `json:"title"`
	Page  string `json:"page"` // its title
	Path  string `json:"path"` // with the anchor
	Read  string `json:"read"` // the command that shows the page in a terminal
	Text  string `json:"text"`
	Size  int    `json:"size"` // of the text, in bytes: the script counts otherwise
}

func (s *Site) add(p *page) { s.pages = append(s.pages, p) }

// finish takes the pages apart for the search.
func (s *Site) finish() error {
	for _, p := range s.pages {
		pieces, err := p.pieces()
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		for i := range pieces {
			pieces[i].Size = len(pieces[i].Text)
		}
		s.pieces = append(s.pieces, pieces...)
	}
	return nil
}

// pieces are the texts under the headings of a page that have an anchor.
func (p *page) pieces() (list []Piece, _ error) {
	now, heading := Piece{Title: p.title, Page: p.title, Path: p.path, Read: p.read}, false
	d := xml.NewDecoder(strings.NewReader("<body>" + p.body + "</body>"))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return append(list, now), nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			id := slices.IndexFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == "id" })
			if heading = isHeading(t.Name.Local) && id >= 0; heading {
				if now.Text != "" || now.Title != p.title {
					list = append(list, now)
				}
				now = Piece{Page: p.title, Path: p.path + "#" + t.Attr[id].Value, Read: p.read}
			} else if now.Text != "" {
				now.Text += spaceOf(t.Name.Local)
			}
		case xml.EndElement:
			heading = heading && !isHeading(t.Name.Local)
		case xml.CharData:
			if heading {
				now.Title += string(t)
			} else {
				now.Text += string(t)
			}
		}
	}
}

func isHeading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '3'
}

// spaceOf is what stands for the beginning of an element in a text.
func spaceOf(element string) string {
	switch element {
	case "a", "code", "em", "strong", "span":
		return ""
	}
	return " "
}

// Write writes all files of the site into a folder, which is made.
func (s *Site) Write(folder string) error {
	for name, text := range s.files() {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files are all files by their paths.
func (s *Site) files() map[string][]byte {
	files := map[string][]byte{"style.css": []byte(style), "search.js": []byte(script), "index.js": s.index()}
	for _, p := range s.pages {
		files[p.path] = s.render(p, "")
	}
	return files
}

// index is the pieces for the script: behind an assignment, for a file that is opened without a
// server may load scripts, and nothing else.
func (s *Site) index() []byte {
	text, err := json.Marshal(s.pieces)
	if err != nil {
		panic(err) // texts can be written
	}
	return slices.Concat([]byte("const pieces = "), text, []byte(";\n"))
}

// groups are the parts of the site, with the page that lists each.
func groups() [][2]string {
	return [][2]string{
		{"Guide", "docs/index.html"}, {"Commands", "commands/index.html"}, {"Names", "names/index.html"}, {"Library", "library/index.html"},
		{"Gallery", "gallery/index.html"}, {"starling.toml", "starling.toml.html"}, {"Contracts", "contracts.html"}, {"Language", "language.html"},
	}
}

// render is a page as it is sent, with what was looked for in its field.
func (s *Site) render(p *page, asked string) []byte {
	up := strings.Repeat("../", strings.Count(p.path, "/"))
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
`)
	fmt.Fprintf(&b, "<title>%s - Starling</title>\n<link rel=\"stylesheet\" href=\"%sstyle.css\" />\n</head>\n<body>\n<header>\n<a class=\"home\" href=\"%sindex.html\">Starling</a>\n<nav aria-label=\"Parts\">\n", html.EscapeString(p.title), up, up)
	for _, g := range groups() {
		current := ""
		if g[0] == p.group {
			current = ` aria-current="true"`
		}
		fmt.Fprintf(&b, "<a href=\"%s%s\"%s>%s</a>\n", up, g[1], current, g[0])
	}
	fmt.Fprintf(&b, "</nav>\n<form action=\"%ssearch.html\" role=\"search\"><input type=\"search\" name=\"q\" aria-label=\"Search\" placeholder=\"Search\" value=\"%s\" /></form>\n</header>\n<div class=\"sheet\">\n", up, html.EscapeString(asked))
	s.beside(&b, p, up)
	fmt.Fprintf(&b, "<main>\n%s\n</main>\n</div>\n<footer><p>%s</p></footer>\n</body>\n</html>\n", p.body, html.EscapeString(s.version))
	return []byte(b.String())
}

// beside lists the pages of the same group.
func (s *Site) beside(b *strings.Builder, p *page, up string) {
	var group []*page
	for _, other := range s.pages {
		if other.group == p.group && path.Base(other.path) != "index.html" {
			group = append(group, other)
		}
	}
	if len(group) < 2 || p.group == "" {
		return
	}
	slices.SortFunc(group, func(a, b *page) int { return cmp.Compare(strings.ToLower(a.title), strings.ToLower(b.title)) })
	b.WriteString("<nav class=\"beside\" aria-label=\"Pages\">\n<ul>\n")
	for _, other := range group {
		current := ""
		if other == p {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(b, "<li><a href=\"%s%s\"%s>%s</a></li>\n", up, other.path, current, html.EscapeString(other.title))
	}
	b.WriteString("</ul>\n</nav>\n")
}
