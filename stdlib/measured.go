package stdlib

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/measure"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

const (
	maxMeasured  = 64 << 20 // bytes of standard output that are read of a command that reports
	maxArtifact  = 1 << 20  // bytes of the end of its outputs that are kept as artifacts
	maxOutputEnd = 8000     // bytes of the end of its outputs that scripts are given
	maxSources   = 20_000   // files that measure.code reads
	maxDensest   = 10
	reportsWord  = "{reports}"
	reportsPlace = "reports" // the folder in the command's home
)

// measureHandler performs requests of kind "measure".
func measureHandler() *effect.Handler {
	return &effect.Handler{
		Workspace: true,
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			args, err := r.Args.View()
			if err != nil {
				return effect.Errorf(effect.KindRefused, "measure: %v", err)
			}
			if args.Text("do") == "code" {
				return grantedFiles(s, project.ReadFiles)
			}
			return resolveCommand(s, r)
		},
		Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			if effect.ViewOf(a.Args).Text("do") == "code" {
				return measureCode(ctx, a)
			}
			c := command{attempt: a, args: effect.ViewOf(a.Args), resolved: effect.ViewOf(a.Resolved)}
			return c.perform(ctx, command.reporting)
		},
	}
}

// reporting prepares a command whose reports are read when it has ended.
func (c command) reporting(spec *process.Spec) reader {
	folder := filepath.Join(c.home, reportsPlace)
	for i, arg := range spec.Argv {
		spec.Argv[i] = strings.ReplaceAll(arg, reportsWord, folder)
	}
	spec.MaxStdout, spec.MaxStderr = maxMeasured, maxMeasured
	before, err := c.written()
	err = cmp.Or(err, os.MkdirAll(folder, 0o700))
	return func(r process.Result) effect.Reply {
		reply := effect.Reply{Blobs: map[string][]byte{"stdout.txt": ending(r.Stdout), "stderr.txt": ending(r.Stderr)}}
		v, err := c.read(r, folder, before, err)
		if err != nil {
			fault := c.failed(effect.KindUnavailable, "what it measures is not known: %v%s", err, lastWords(r)).Err
			var o effect.Object
			o.Text("reason", "not_measured").Int("code", int64(r.ExitCode))
			if c.args.Flag("output") {
				o.Text("output", c.outputEnd(r))
			}
			fault.Data = o.Payload()
			reply.Err = fault
			return reply
		}
		reply.Value = v
		return reply
	}
}

// ending keeps the end, where programs say how it came out.
func ending(output []byte) []byte {
	return []byte(textOf(output[max(0, len(output)-maxArtifact):]))
}

// written is when each report in the workspace was written, by path.
func (c command) written() (map[string]fs.FileInfo, error) {
	patterns := c.args.Texts("reports")
	if len(patterns) == 0 {
		return nil, nil
	}
	tree, err := jail.Open(c.attempt.Settings.Workspace, c.attempt.Store, jail.Rights{})
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	times := map[string]fs.FileInfo{}
	for _, pattern := range patterns {
		paths, err := tree.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			if info, err := os.Lstat(filepath.Join(c.attempt.Settings.Workspace, filepath.FromSlash(p))); err == nil && info.Mode().IsRegular() {
				times[p] = info
			}
		}
	}
	return times, nil
}

// read makes what the command has reported a value.
func (c command) read(r process.Result, folder string, before map[string]fs.FileInfo, err error) (*starlark.Dict, error) {
	if err != nil {
		return nil, err
	}
	if r.Signal != "" || r.ExitCode < 0 {
		return nil, fmt.Errorf("it was ended by %s", cmp.Or(r.Signal, "a signal"))
	}
	given, err := c.reports(folder, before)
	if err != nil {
		return nil, err
	}
	if c.args.Text("do") == "scan" {
		return c.readScan(r, given)
	}
	return c.readTests(r, given)
}

// reports reads the files that the command has written, by their paths in the workspace or in its
// folder for reports.
func (c command) reports(folder string, before map[string]fs.FileInfo) ([]measure.Report, error) {
	given, err := reportsIn(folder)
	if err != nil {
		return nil, err
	}
	after, err := c.written()
	if err != nil {
		return nil, err
	}
	tree, err := jail.Open(c.attempt.Settings.Workspace, c.attempt.Store, jail.Rights{})
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	for p, info := range after {
		if had := before[p]; had != nil && os.SameFile(had, info) && had.ModTime().Equal(info.ModTime()) && had.Size() == info.Size() {
			delete(after, p)
		}
	}
	paths := make([]string, 0, len(after))
	for p := range after {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		content, err := tree.Read(p, maxReport)
		if err != nil {
			return nil, err
		}
		given = append(given, measure.Report{Name: p, Text: string(content)})
	}
	if patterns := c.args.Texts("reports"); len(patterns) > 0 && len(paths) == 0 {
		return nil, fmt.Errorf("it has written no report %s", strings.Join(patterns, ", "))
	}
	return given, nil
}

// reportsIn reads the files of the folder that the command was given, which holds nothing else.
func reportsIn(folder string) (given []measure.Report, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > maxReport {
			err = fmt.Errorf("the report %s has more than %d bytes", path, maxReport)
		}
		if err != nil {
			return err
		}
		content, err := root.ReadFile(path)
		given = append(given, measure.Report{Name: reportsWord + "/" + path, Text: string(content)})
		return err
	})
	return given, err
}

func (c command) readScan(r process.Result, given []measure.Report) (*starlark.Dict, error) {
	if len(given) == 0 {
		given = measure.Texts([]string{string(r.Stdout)})
	}
	for _, report := range given {
		if !utf8.ValidString(report.Text) {
			return nil, fmt.Errorf("%s is not text in UTF-8", cmp.Or(report.Name, "its report"))
		}
	}
	scan, err := measure.ReadSARIF(given)
	if err != nil {
		return nil, err
	}
	for i, found := range scan.Results {
		if below, err := filepath.Rel(c.attempt.Settings.Workspace, found.File); err == nil && filepath.IsAbs(found.File) && filepath.IsLocal(below) {
			scan.Results[i].File = filepath.ToSlash(below)
		}
		scan.Results[i].Message = c.hide.Redact(found.Message)
	}
	v := scanValue(scan)
	set(v, "code", starlark.MakeInt(r.ExitCode))
	return v, nil
}

// readTests sorts reports by what they are: results in the format that was named, or coverage.
// Where no file has results they are in what the command has said.
func (c command) readTests(r process.Result, given []measure.Report) (*starlark.Dict, error) {
	format := c.args.Text("format")
	var results, covered []measure.Report
	for _, report := range given {
		if isCoverage(report.Text) {
			covered = append(covered, report)
		} else {
			results = append(results, report)
		}
	}
	if len(results) == 0 {
		said := r.Stdout
		if format == "unittest" {
			said = r.Stderr
		}
		results = measure.Texts([]string{string(said)})
	}
	for i := range results {
		results[i].Text = c.portable(results[i].Text)
	}
	t, err := measure.Read(format, results)
	if err != nil {
		return nil, err
	}
	if r.ExitCode != 0 && len(t.Failed) == 0 {
		return nil, fmt.Errorf("it exited with %d, and no test has failed", r.ExitCode)
	}
	if len(covered) > 0 {
		t.Coverage, err = measure.ReadCoverage(covered)
		if err != nil && (len(t.Failed) == 0 || !errors.Is(err, measure.ErrNoLines)) {
			return nil, err
		}
	}
	v := testsValue(t)
	set(v, "code", starlark.MakeInt(r.ExitCode))
	if c.args.Flag("output") {
		set(v, "output", starlark.String(c.outputEnd(r)))
	}
	return v, nil
}

// outputEnd is the end of what a command has written, as scripts and agents may see it.
func (c command) outputEnd(r process.Result) string {
	text := c.portable(string(r.Stdout) + string(r.Stderr))
	return strings.ToValidUTF8(text[max(0, len(text)-maxOutputEnd):], "")
}

// portable leaves the place of the workspace out of ids, and values that nobody may see.
func (c command) portable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return c.hide.Redact(strings.ReplaceAll(text, c.attempt.Settings.Workspace+string(filepath.Separator), ""))
}

// isCoverage tells by its beginning whether a report is about coverage.
func isCoverage(text string) bool {
	head := strings.TrimLeft(strings.TrimPrefix(text[:min(len(text), 4096)], "\ufeff"), " \t\r\n")
	for _, begin := range []string{"mode:", "TN:", "SF:"} {
		if strings.HasPrefix(head, begin) {
			return true
		}
	}
	return strings.HasPrefix(head, "<") && (strings.Contains(head, "<coverage") || strings.Contains(head, "-//JACOCO//"))
}

// measureCode performs measure.code.
func measureCode(ctx context.Context, a *effect.Attempt) effect.Reply {
	v, err := codeValue(ctx, a)
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "measure.code: %v", err)}
	}
	return effect.Reply{Value: v}
}

// source is one file that was measured.
type source struct {
	path string
	measure.Code
}

func codeValue(ctx context.Context, a *effect.Attempt) (starlark.Value, error) {
	tree, err := jail.Open(a.Settings.Workspace, a.Store, jail.Rights{})
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	paths, err := workspaceFiles(ctx, a, tree)
	if err != nil {
		return nil, err
	}
	patterns := effect.ViewOf(a.Args).Texts("paths")
	paths = slices.DeleteFunc(paths, func(p string) bool { return !meant(patterns, p) })
	if len(paths) > maxSources {
		return nil, fmt.Errorf("%d files are meant, the most are %d", len(paths), maxSources)
	}
	var sources []source
	for _, p := range paths {
		content, err := tree.Read(p, effect.MaxPayload)
		if err != nil || !utf8.Valid(content) {
			continue // too large, a link out of the workspace, no text
		}
		if m, ok := measure.MeasureCode(p, content); ok {
			sources = append(sources, source{p, m})
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return sourcesValue(sources), nil
}

// meant tells whether a path is one of the patterns, matches one, or is below a folder that does.
func meant(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.TrimSuffix(pattern, "/")
		return pattern == "." || jail.Match(pattern, path) || jail.Match(pattern+"/**", path)
	})
}

func sourcesValue(sources []source) starlark.Value {
	var all measure.Code
	for _, s := range sources {
		all.Code, all.Comments, all.Blank, all.Complexity = all.Code+s.Code.Code, all.Comments+s.Comments, all.Blank+s.Blank, all.Complexity+s.Complexity
	}
	slices.SortFunc(sources, func(a, b source) int {
		return cmp.Or(cmp.Compare(b.Complexity, a.Complexity), strings.Compare(a.path, b.path))
	})
	var densest []starlark.Value
	for _, s := range sources[:min(len(sources), maxDensest)] {
		densest = append(densest, dictOf([]string{"path", "code", "complexity"}, starlark.String(s.path), starlark.MakeInt(s.Code.Code), starlark.MakeInt(s.Complexity)))
	}
	return dictOf([]string{"files", "code", "comments", "blank", "complexity", "densest"}, starlark.MakeInt(len(sources)), starlark.MakeInt(all.Code), starlark.MakeInt(all.Comments),
		starlark.MakeInt(all.Blank), starlark.MakeInt(all.Complexity), starlark.NewList(densest))
}
