package site

import (
	"bytes"
	"html"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/gomarkdown/markdown"
	"github.com/gomarkdown/markdown/ast"
	mdhtml "github.com/gomarkdown/markdown/html"
	"github.com/gomarkdown/markdown/parser"
)

// text is a text of the repository as XHTML. Its links to what the site has lead there; those to
// other files of the repository are left as words.
func (s *shelf) text(name, source, at string) (title, body string) {
	const how = parser.NoIntraEmphasis | parser.Tables | parser.FencedCode | parser.SpaceHeadings | parser.NoEmptyLineBeforeBlock
	doc := markdown.Parse([]byte(source), parser.NewWithExtensions(how))
	used := map[string]bool{}
	var unlinked []*ast.Link
	ast.WalkFunc(doc, func(node ast.Node, entering bool) ast.WalkStatus {
		if !entering {
			return ast.GoToNext
		}
		switch n := node.(type) {
		case *ast.Heading:
			words := plainText(n)
			if n.Level == 1 && title == "" {
				title = words
			}
			n.HeadingID = unique(anchor(words), used)
		case *ast.Link:
			if to := s.link(name, string(n.Destination), at); to != "" {
				n.Destination = []byte(to)
			} else {
				unlinked = append(unlinked, n)
			}
		case *ast.TableCell:
			unescapeBars(n)
		}
		return ast.GoToNext
	})
	for _, n := range unlinked {
		unlink(n)
	}
	r := mdhtml.NewRenderer(mdhtml.RendererOptions{Flags: mdhtml.UseXHTML | mdhtml.SkipHTML})
	aligned := regexp.MustCompile(` align="(\w+)"`) // which HTML has no more
	return title, aligned.ReplaceAllString(string(markdown.Render(doc, r)), ` class="$1"`)
}

// unescapeBars takes the backslash from the bars of code in a cell, where it only says that the
// cell goes on: the parser leaves it.
func unescapeBars(cell *ast.TableCell) {
	ast.WalkFunc(cell, func(node ast.Node, _ bool) ast.WalkStatus {
		if code, ok := node.(*ast.Code); ok {
			code.Literal = bytes.ReplaceAll(code.Literal, []byte(`\|`), []byte("|"))
		}
		return ast.GoToNext
	})
}

// unlink puts the words of a link in its place.
func unlink(n *ast.Link) {
	parent := n.GetParent()
	var children []ast.Node
	for _, c := range parent.GetChildren() {
		if c != ast.Node(n) {
			children = append(children, c)
			continue
		}
		for _, inner := range n.GetChildren() {
			inner.SetParent(parent)
			children = append(children, inner)
		}
	}
	parent.SetChildren(children)
}

// plainText is the text within a node.
func plainText(n ast.Node) string {
	var b bytes.Buffer
	ast.WalkFunc(n, func(node ast.Node, entering bool) ast.WalkStatus {
		if leaf := node.AsLeaf(); leaf != nil && entering {
			b.Write(leaf.Literal)
		}
		return ast.GoToNext
	})
	return b.String()
}

// anchor is the anchor of a heading, as GitHub makes it: links in the texts are made for both.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func unique(id string, used map[string]bool) string {
	if id == "" {
		id = "part"
	}
	for used[id] {
		id += "-1"
	}
	used[id] = true
	return id
}

// link is where a link of a text leads, seen from the page at a path; "" for a file that the site
// does not have.
func (s *shelf) link(from, to, at string) string {
	file, fragment, _ := strings.Cut(to, "#")
	if file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
		return to
	}
	page := s.pageOf(path.Join(path.Dir(from), file))
	if page == "" {
		return ""
	}
	if fragment != "" {
		fragment = "#" + fragment
	}
	return relative(at, page) + fragment
}

// pageOf is the page that has a file of the repository, "" for none.
func (s *shelf) pageOf(file string) string {
	switch {
	case file == "README.md":
		return "index.html"
	case file == "lang/spec.md":
		return "language.html"
	case file == "lang/contract/grammar.md":
		return "contracts.html"
	case s.docs[file] != "":
		return "docs/" + strings.TrimSuffix(path.Base(file), ".md") + ".html"
	}
	if name, ok := strings.CutPrefix(file, "scripts/gallery/"); ok {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".star"), "_test")
		if s.examples[name] {
			return "gallery/" + name + ".html"
		}
	}
	if name, ok := strings.CutPrefix(file, "stdlib/"); ok && s.modules[name] {
		return "library/" + strings.TrimSuffix(name, ".star") + ".html"
	}
	return ""
}

// relative is how a page names another.
func relative(at, page string) string { return strings.Repeat("../", strings.Count(at, "/")) + page }

// code is a block of code.
func code(text string) string {
	return "<pre><code>" + html.EscapeString(strings.TrimRight(text, "\n")) + "</code></pre>\n"
}

// quoted are what stands between backquotes, or in double quotes, in a sentence.
var quoted = regexp.MustCompile("`([^`]+)`")

// sentence is a text of one paragraph; what stands between backquotes is code.
func sentence(text string) string {
	return quoted.ReplaceAllString(html.EscapeString(strings.TrimSpace(text)), "<code>$1</code>")
}

// prose is a text in paragraphs; what is indented is a block.
func prose(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lead, block := part, ""
		if i := strings.Index("\n"+part, "\n  "); i >= 0 {
			lead, block = part[:i], part[i:]
		}
		if strings.TrimSpace(lead) != "" {
			b.WriteString("<p>" + sentence(lead) + "</p>\n")
		}
		if strings.TrimSpace(block) != "" {
			b.WriteString(code(block))
		}
	}
	return b.String()
}
