package site

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"starling/lang/doc"
	"starling/scripts/gallery"
	"starling/stdlib/project"
)

// Sources are what a site is made of.
type Sources struct {
	Version   string // stands below each page
	Root      *cobra.Command
	Entries   []doc.Entry
	Keys      []project.Key
	Example   string            // of starling.toml
	Docs      map[string]string // texts in Markdown by their files: "docs/tutorial.md"
	Language  string            // lang/spec.md
	Contracts string            // lang/contract/grammar.md
	Library   []Module
	Gallery   []gallery.Example
}

// Module is a file of the library.
type Module struct {
	Name    string      // "@std/retry.star"
	Entries []doc.Entry // what it says of itself, if it does, and its functions
}

// shelf is what is known while pages are made.
type shelf struct {
	*Site
	Sources
	docs     map[string]string
	examples map[string]bool
	modules  map[string]bool
}

// New makes the site.
func New(from Sources) (*Site, error) {
	s := &shelf{Site: &Site{version: from.Version}, Sources: from, docs: from.Docs, examples: map[string]bool{}, modules: map[string]bool{}}
	for _, e := range from.Gallery {
		s.examples[e.Name] = true
	}
	for _, m := range from.Library {
		s.modules[path.Base(m.Name)] = true
	}
	s.guide()
	s.commands()
	s.names()
	s.library()
	s.gallery()
	s.keys()
	title, body := s.text("lang/contract/grammar.md", from.Contracts, "contracts.html")
	s.add(&page{"contracts.html", title, "Contracts", body, "starling doc contracts"})
	title, body = s.text("lang/spec.md", from.Language, "language.html")
	s.add(&page{"language.html", title, "Language", body, "starling doc lang/spec.md"})
	s.front()
	s.add(&page{"search.html", "Search", "", "<h1>Search</h1>\n<div id=\"found\"><p>What is looked for stands in the field above. Without scripts, and without a server, <a href=\"all.html\">all headings</a> are on one page.</p></div>\n<script src=\"index.js\"></script>\n<script src=\"search.js\"></script>", ""})
	if err := s.finish(); err != nil {
		return nil, err
	}
	s.all()
	return s.Site, nil
}

// first are the pages of docs that come before the others, in their order.
func first() []string {
	return []string{"tutorial", "agents", "commands", "repl", "watching", "editors", "testing", "gallery", "pipelines"}
}

func (s *shelf) guide() {
	order := func(file string) int {
		if i := slices.Index(first(), strings.TrimSuffix(path.Base(file), ".md")); i >= 0 {
			return i
		}
		return len(first())
	}
	files := slices.SortedFunc(maps.Keys(s.docs), func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })
	var list strings.Builder
	for _, file := range files {
		at := s.pageOf(file)
		title, body := s.text(file, s.docs[file], at)
		s.add(&page{at, title, "Guide", body, "starling doc " + file})
		fmt.Fprintf(&list, "<li><a href=\"%s\">%s</a></li>\n", path.Base(at), html.EscapeString(title))
	}
	s.add(&page{"docs/index.html", "Guide", "Guide", "<h1>Guide</h1>\n<ul>\n" + list.String() + "</ul>", ""})
}

func (s *shelf) commands() {
	var list strings.Builder
	for _, g := range s.Root.Groups() {
		fmt.Fprintf(&list, "<h2 id=\"%s\">%s</h2>\n<table>\n", g.ID, html.EscapeString(strings.TrimSuffix(g.Title, ":")))
		for _, cmd := range s.Root.Commands() {
			if cmd.GroupID != g.ID || cmd.Hidden {
				continue
			}
			fmt.Fprintf(&list, "<tr><td><a href=\"%s.html\"><code>%s</code></a></td><td>%s</td></tr>\n", cmd.Name(), cmd.Name(), sentence(cmd.Short))
			body := "<h1>starling " + cmd.Name() + "</h1>\n" + command(cmd)
			for _, sub := range cmd.Commands() {
				if !sub.Hidden {
					body += fmt.Sprintf("<h2 id=\"%s\">starling %s %s</h2>\n", sub.Name(), cmd.Name(), sub.Name()) + command(sub)
				}
			}
			s.add(&page{"commands/" + cmd.Name() + ".html", cmd.Name(), "Commands", body, "starling help " + cmd.Name()})
		}
		list.WriteString("</table>\n")
	}
	body := "<h1>Commands</h1>\n" + list.String() + "<h2 id=\"everywhere\">For every command</h2>\n" + flags(s.Root.PersistentFlags()) + prose(s.Root.Long)
	s.add(&page{"commands/index.html", "Commands", "Commands", body, "starling help"})
}

// command is what there is to say of one.
func command(cmd *cobra.Command) string {
	body := "<p>" + sentence(cmd.Short) + ".</p>\n" + code(cmd.UseLine())
	if cmd.Long != "" {
		body += prose(cmd.Long)
	}
	if cmd.Example != "" {
		body += code(dedent(cmd.Example))
	}
	return body + flags(cmd.LocalNonPersistentFlags())
}

// flags is the table of some flags.
func flags(set *pflag.FlagSet) string {
	var rows strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		takes, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if takes != "" {
			name += " " + takes
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&rows, "<tr><td><code>%s</code></td><td>%s</td></tr>\n", html.EscapeString(name), sentence(usage))
	})
	if rows.Len() == 0 {
		return ""
	}
	return "<table>\n" + rows.String() + "</table>\n"
}

func dedent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}

// names are a page for each name, with the members of modules and types.
func (s *shelf) names() {
	members := map[string][]doc.Entry{}
	for _, e := range s.Entries {
		if owner, _, ok := strings.Cut(e.Name, "."); ok {
			members[owner] = append(members[owner], e)
		}
	}
	rows := map[string]string{}
	for _, e := range s.Entries {
		if strings.Contains(e.Name, ".") {
			continue
		}
		body := "<h1>" + html.EscapeString(e.Name) + "</h1>\n" + entry(e)
		for _, m := range members[e.Name] {
			body += fmt.Sprintf("<h2 id=\"%s\">%s</h2>\n", html.EscapeString(m.Name), html.EscapeString(m.Name)) + entry(m)
		}
		delete(members, e.Name)
		s.add(&page{"names/" + e.Name + ".html", e.Name, "Names", body, "starling doc " + e.Name})
		rows[e.Kind] += row(e, e.Name+".html")
	}
	for _, owner := range slices.Sorted(maps.Keys(members)) { // string, list: types without an entry
		body := "<h1>" + html.EscapeString(owner) + "</h1>\n"
		for _, m := range members[owner] {
			body += fmt.Sprintf("<h2 id=\"%s\">%s</h2>\n", html.EscapeString(m.Name), html.EscapeString(m.Name)) + entry(m)
			rows[m.Kind] += row(m, owner+".html#"+m.Name)
		}
		s.add(&page{"names/" + owner + ".html", owner, "Names", body, "starling doc " + owner})
	}
	body := "<h1>Names</h1>\n"
	for _, kind := range doc.Kinds() {
		if rows[kind] != "" {
			body += fmt.Sprintf("<h2 id=\"%s\">%s</h2>\n<table>\n%s</table>\n", kind, strings.ToUpper(kind[:1])+kind[1:]+"s", rows[kind])
		}
	}
	s.add(&page{"names/index.html", "Names", "Names", body, "starling doc --list"})
}

func row(e doc.Entry, to string) string {
	return fmt.Sprintf("<tr><td><a href=\"%s\"><code>%s</code></a></td><td>%s</td></tr>\n", html.EscapeString(to), html.EscapeString(e.Name), sentence(e.Summary))
}

// entry is what there is to say of a name.
func entry(e doc.Entry) string {
	var b strings.Builder
	if e.Signature != "" {
		b.WriteString(code(e.Signature))
	}
	kind := e.Kind
	if e.Class != "" {
		kind += ", " + e.Class
	}
	fmt.Fprintf(&b, "<p class=\"kind\">%s</p>\n", html.EscapeString(kind))
	b.WriteString(prose(strings.TrimSpace(e.Summary + " " + e.Text)))
	documented := func(p doc.Param) bool { return p.Doc != "" }
	if slices.ContainsFunc(e.Params, documented) {
		b.WriteString("<table>\n")
		for _, p := range e.Params {
			takes := p.Type
			if len(p.OneOf) > 0 {
				takes = strings.Join(p.OneOf, " | ")
			}
			fmt.Fprintf(&b, "<tr><td><code>%s</code></td><td>%s</td><td>%s</td></tr>\n", html.EscapeString(p.Name), html.EscapeString(takes), sentence(p.Doc))
		}
		b.WriteString("</table>\n")
	}
	if e.Example != "" {
		b.WriteString(code(e.Example))
	}
	return b.String()
}

func (s *shelf) library() {
	body := "<h1>The library</h1>\n<p>Scripts load these files as <code>load(\"@std/retry.star\", \"retry\")</code>.</p>\n<table>\n"
	for _, m := range s.Library {
		name := strings.TrimSuffix(path.Base(m.Name), ".star")
		text, about := "<h1>"+m.Name+"</h1>\n", ""
		for _, e := range m.Entries {
			if e.Kind == doc.Module {
				about = e.Summary
				text += prose(strings.TrimSpace(e.Summary + " " + e.Text))
				continue
			}
			text += fmt.Sprintf("<h2 id=\"%s\">%s</h2>\n", e.Name, e.Name) + entry(e)
		}
		s.add(&page{"library/" + name + ".html", m.Name, "Library", text, "starling doc " + m.Name})
		body += fmt.Sprintf("<tr><td><a href=\"%s.html\"><code>%s</code></a></td><td>%s</td></tr>\n", name, m.Name, sentence(about))
	}
	s.add(&page{"library/index.html", "Library", "Library", body + "</table>", ""})
}

func (s *shelf) gallery() {
	body := "<h1>Gallery</h1>\n<p>Scripts to copy, each with its test: <code>starling new NAME --from EXAMPLE</code>.</p>\n<table>\n"
	for _, e := range s.Gallery {
		text := fmt.Sprintf("<h1>%s</h1>\n<p>%s</p>\n<h2 id=\"script\">%s.star</h2>\n%s<h2 id=\"test\">%s_test.star</h2>\n%s",
			e.Name, sentence(e.Summary), e.Name, code(e.Script), e.Name, code(e.Test))
		s.add(&page{"gallery/" + e.Name + ".html", e.Name, "Gallery", text, "starling new " + e.Name + " --from " + e.Name})
		body += fmt.Sprintf("<tr><td><a href=\"%s.html\">%s</a></td><td>%s</td></tr>\n", e.Name, e.Name, sentence(e.Summary))
	}
	s.add(&page{"gallery/index.html", "Gallery", "Gallery", body + "</table>", "starling new --list"})
}

// keys are those of starling.toml, a heading for each table.
func (s *shelf) keys() {
	body := "<h1>starling.toml</h1>\n" + code(s.Example)
	table, used := "-", map[string]bool{}
	for _, k := range s.Keys {
		above, name := "", k.Path
		if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
			above, name = k.Path[:i], k.Path[i+1:]
		}
		if above != table {
			if table != "-" {
				body += "</table>\n"
			}
			table = above
			heading := "[" + above + "]"
			if above == "" {
				heading = "At the top"
			}
			body += fmt.Sprintf("<h2 id=\"%s\">%s</h2>\n<table>\n<tr><th>key</th><th>takes</th><th>default</th><th>meaning</th></tr>\n", unique("table-"+anchor(above), used), heading)
		}
		body += fmt.Sprintf("<tr id=\"%s\"><td><code>%s</code></td><td>%s</td><td>%s</td><td>%s</td></tr>\n", html.EscapeString(k.Path), html.EscapeString(name),
			html.EscapeString(k.Takes), html.EscapeString(k.Default), sentence(k.Doc))
	}
	s.add(&page{"starling.toml.html", "starling.toml", "starling.toml", body + "</table>", "starling doc starling.toml"})
}

// front is the first page: the parts, and the pages of the guide.
func (s *shelf) front() {
	body := "<h1>Starling</h1>\n<p>Starling runs Starlark scripts that orchestrate agents, and never loses its place.</p>\n<ul>\n"
	for _, g := range groups() {
		body += fmt.Sprintf("<li><a href=\"%s\">%s</a></li>\n", g[1], g[0])
	}
	body += "</ul>\n<h2 id=\"guide\">Guide</h2>\n<ul>\n"
	for _, p := range s.pages {
		if p.group == "Guide" && path.Base(p.path) != "index.html" {
			body += fmt.Sprintf("<li><a href=\"%s\">%s</a></li>\n", p.path, html.EscapeString(p.title))
		}
	}
	s.add(&page{"index.html", "Starling", "", body + "</ul>", ""})
}

// all is the page with every heading, for who has neither scripts nor a server.
func (s *shelf) all() {
	pieces := slices.Clone(s.pieces)
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	body := "<h1>All headings</h1>\n<ul>\n"
	for _, p := range pieces {
		body += fmt.Sprintf("<li><a href=\"%s\">%s</a> <span>%s</span></li>\n", html.EscapeString(p.Path), html.EscapeString(p.Title), html.EscapeString(p.Page))
	}
	s.add(&page{"all.html", "All headings", "", body + "</ul>", ""})
}
