package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Git executes what a configuration names: hooks, filters, drivers for diffs and merges, monitors,
// commands for keys, editors, aliases, and whatever the next version adds. A repository's own
// configuration may have been written by whoever works in it, and git cannot be told to leave it
// unread. So git never sees the repository's folder, but a private one that is made for each
// session: its config is ours, and objects, references and logs in it are links to the
// repository's, as git-new-workdir has them. From the configurations of the repository and of the
// user a few keys are taken over, of which none names a program and each has a value that git can
// read. The private folder lies beside other temporary files, where no sandbox that may change the
// repository reaches.
//
// HEAD cannot be a link, so it is a copy, taken before each command and put back when it has
// changed.

// private is a folder that git takes for the repository's.
type private struct {
	of   *Repository
	dir  string
	head []byte // HEAD as it was taken
}

// configuration is what is taken over of the configurations of the repository and of the user.
type configuration struct {
	text    string          // as git reads it
	filters map[string]bool // filters that either defines, and whether they are run
}

const maxConfig = 1 << 20 // bytes of a configuration that is read

// kept are the keys that are taken over of every configuration, and what their values must look
// like.
var kept = map[string]func(string) bool{
	"core.autocrlf":      oneOf("true", "false", "input"),
	"core.eol":           oneOf("lf", "crlf", "native"),
	"user.name":          plainText,
	"user.email":         plainText,
	"user.useconfigonly": flag,
	"author.name":        plainText,
	"author.email":       plainText,
	"committer.name":     plainText,
	"committer.email":    plainText,
}

// keptOfRepository are those that say how a repository is stored.
var keptOfRepository = map[string]func(string) bool{
	"core.repositoryformatversion": number,
	"core.filemode":                flag,
	"core.symlinks":                flag,
	"core.ignorecase":              flag,
	"core.precomposeunicode":       flag,
	"core.sparsecheckout":          flag,
	"core.sparsecheckoutcone":      flag,
	"core.logallrefupdates":        oneOf("true", "false", "always"),
	"core.sharedrepository":        shared,
}

// What a value must look like is said by functions: patterns would be compiled whenever the program
// starts, as the guard of a single git, too.

func oneOf(words ...string) func(string) bool {
	return func(value string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(value, w) })
	}
}

func flag(value string) bool {
	return oneOf("true", "false", "yes", "no", "on", "off", "1", "0")(value)
}

func number(value string) bool { return consists(value, "0123456789") }

// shared takes the words of core.sharedRepository, and a mode in octal.
func shared(value string) bool {
	return oneOf("umask", "group", "all", "world", "everybody", "true", "false")(value) ||
		consists(value, "01234567") && (len(value) == 3 || len(value) == 4 && value[0] == '0')
}

// plainText is a line of at most 500 characters.
func plainText(value string) bool {
	n := utf8.RuneCountInString(value)
	return 1 <= n && n <= 500 && !strings.ContainsFunc(value, func(c rune) bool {
		return c < 0x20 || c == 0x7f
	})
}

// extension is the key of an extension of the format.
func extension(key string) bool {
	name, ok := strings.CutPrefix(key, "extensions.")
	return ok && consists(name, "abcdefghijklmnopqrstuvwxyz0123456789")
}

// consists tells whether a text has characters, and these alone.
func consists(text, of string) bool { return text != "" && strings.Trim(text, of) == "" }

// safeExtensions say nothing that matters here: git need not fetch what is missing, and reads
// neither configurations of single trees nor paths of trees.
var safeExtensions = []string{
	"extensions.partialclone", "extensions.worktreeconfig", "extensions.relativeworktrees",
}

// ours is what git is told in any case.
const ours = `[core]
	bare = false
	hooksPath = /dev/null
	fsmonitor = false
	splitIndex = false
	commitGraph = false
	askPass =
[gc]
	auto = 0
[maintenance]
	auto = false
[commit]
	gpgSign = false
[protocol]
	allow = never
[submodule]
	recurse = false
`

// private gives the private folder of a repository, as it is served in this session.
func (s *shell) private(ctx context.Context, r *Repository) (*private, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if p := s.now.private[r.dir]; p != nil {
		return p, nil
	}
	p := &private{of: r, dir: filepath.Join(s.now.apart, fmt.Sprint("git-", len(s.now.private)))}
	if err := p.make(); err != nil {
		return nil, err
	}
	if s.now.config == nil {
		c, err := p.configure(ctx)
		if err != nil {
			return nil, err
		}
		s.now.config = c
	}
	s.now.private[r.dir] = p
	return p, p.write("config", s.now.config.text)
}

// make links what git needs. What is not there yet is linked, too, so that it is made in its place.
func (p *private) make() error {
	r := p.of
	for _, dir := range []string{"info", "logs"} {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			return err
		}
	}
	// What cannot be made belongs to a repository that can only be read.
	_ = os.MkdirAll(filepath.Join(r.dir, "logs"), 0o777)
	_ = os.MkdirAll(filepath.Join(r.common, "logs", "refs"), 0o777)
	links := map[string]string{"logs/HEAD": filepath.Join(r.dir, "logs", "HEAD")}
	for _, name := range []string{"objects", "refs", "packed-refs", "logs/refs", "info/exclude",
		"info/attributes"} {
		links[name] = filepath.Join(r.common, name)
	}
	links["info/sparse-checkout"] = filepath.Join(r.dir, "info", "sparse-checkout")
	for _, name := range []string{"shallow", "reftable"} {
		if _, err := os.Stat(filepath.Join(r.common, name)); err == nil {
			links[name] = filepath.Join(r.common, name)
		}
	}
	shared, _ := filepath.Glob(filepath.Join(escaped(r.dir), "sharedindex.*"))
	for _, file := range shared {
		links[filepath.Base(file)] = file
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			return err
		}
	}
	return cmp.Or(p.write("config", ours), p.makePlain())
}

// plain is a repository of the same objects, without a workspace and without attributes.
func (p *private) plain() string { return filepath.Join(p.dir, "plain") }

func (p *private) makePlain() error {
	if err := os.Mkdir(p.plain(), 0o700); err != nil {
		return err
	}
	for name, target := range map[string]string{"objects": filepath.Join(p.of.common, "objects"),
		"refs": filepath.Join(p.of.common, "refs"), "config": filepath.Join(p.dir, "config")} {
		if err := os.Symlink(target, filepath.Join(p.plain(), name)); err != nil {
			return err
		}
	}
	return p.write("plain/HEAD", "ref: refs/heads/none\n")
}

// escaped is a path as a pattern that matches it alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (p *private) write(name, text string) error {
	return os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600)
}

// configure reads the configurations. One that cannot be read costs a warning.
func (p *private) configure(ctx context.Context) (*configuration, error) {
	c := &configuration{filters: map[string]bool{}}
	var text strings.Builder
	text.WriteString(ours)
	if err := p.takeHead(); err != nil {
		return nil, err
	}
	user, err := p.users(ctx)
	if err != nil {
		return nil, err
	}
	theirs, err := p.repositorys(ctx)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	for _, name := range []string{"ignore", "attributes"} { // which git would look for by itself
		file := filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", name)
		key := map[string]string{"ignore": "core.excludesfile", "attributes": "core.attributesfile"}[name]
		set(&text, key, file)
	}
	for _, s := range user {
		c.user(&text, s, p.of.o.Filters, home)
	}
	for _, s := range theirs {
		c.repository(&text, s)
	}
	c.text = text.String()
	return c, nil
}

// setting is a key in lower case, but for a name in its middle, and its value.
type setting struct{ key, value string }

// user takes over a setting of the user's.
func (c *configuration) user(text *strings.Builder, s setting, filters []string, home string) {
	name, what := s.filter()
	switch {
	case what == "clean" || what == "process":
		c.filters[name] = slices.Contains(filters, name)
		fallthrough
	case what == "required":
		if slices.Contains(filters, name) && plainText(s.value) {
			set(text, s.key, s.value)
		}
	case s.key == "core.excludesfile" || s.key == "core.attributesfile":
		if rest, ok := strings.CutPrefix(s.value, "~/"); ok {
			s.value = filepath.Join(home, rest)
		}
		if filepath.IsAbs(s.value) && plainText(s.value) {
			set(text, s.key, s.value)
		}
	case kept[s.key] != nil && kept[s.key](s.value):
		set(text, s.key, s.value)
	}
}

// repository takes over a setting of the repository's.
func (c *configuration) repository(text *strings.Builder, s setting) {
	want := kept[s.key]
	if want == nil {
		want = keptOfRepository[s.key]
	}
	if extension(s.key) && !slices.Contains(safeExtensions, s.key) {
		want = plainText // git refuses what it does not know
	}
	if want != nil && want(s.value) {
		set(text, s.key, s.value)
	}
	if name, what := s.filter(); what == "clean" || what == "process" {
		if _, known := c.filters[name]; !known {
			c.filters[name] = false // known from now on, and run only as the user has it
		}
	}
}

// filter gives the name of a filter that a setting is about, and what it says of it.
func (s setting) filter() (name, what string) {
	rest, ok := strings.CutPrefix(s.key, "filter.")
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 0 {
		return "", ""
	}
	return rest[:at], rest[at+1:]
}

// set writes a setting as git reads it.
func set(text *strings.Builder, key, value string) {
	section, name, _ := strings.Cut(key, ".")
	head := "[" + section + "]"
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		head, name = "["+section+" "+inQuotes(name[:at])+"]", name[at+1:]
	}
	fmt.Fprintf(text, "%s\n\t%s = %s\n", head, name, inQuotes(value))
}

func inQuotes(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

// users reads what the user and the system say, with what they include.
func (p *private) users(ctx context.Context) ([]setting, error) {
	line := "cd " + quoted(p.dir) + " && GIT_DIR=" + quoted(p.dir) + " git config -z --list --includes --show-origin"
	entries, err := p.settings(ctx, line, "your own configuration of git")
	var list []setting
	for pair := range slices.Chunk(entries, 2) {
		if file, ok := strings.CutPrefix(pair[0], "file:"); ok && !strings.HasPrefix(file, p.dir) {
			p.of.shell.now.made.note(file)
		}
		if len(pair) == 2 {
			list = append(list, settingOf(pair[1]))
		}
	}
	return list, err
}

// repositorys reads what the repository says. What it would include is not read.
func (p *private) repositorys(ctx context.Context) ([]setting, error) {
	const name = "the repository's configuration"
	text, err := limited(filepath.Join(p.of.common, "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = p.write("theirs", string(text))
	}
	if err != nil {
		p.of.warn("%s cannot be read, so git goes on without it: %v", name, err)
		return nil, nil
	}
	line := "cd " + quoted(p.dir) + " &&"
	for _, v := range p.environment(false) {
		name, value, _ := strings.Cut(v, "=")
		line += " " + name + "=" + quoted(value)
	}
	line += " git config --file theirs --no-includes -z --list"
	entries, err := p.settings(ctx, line, name)
	var list []setting
	for _, entry := range entries {
		list = append(list, settingOf(entry))
	}
	return list, err
}

// settings are the entries that a command lists.
func (p *private) settings(ctx context.Context, line, name string) (entries []string, err error) {
	a, err := p.of.shell.run(ctx, line, nil)
	if err != nil {
		return nil, err
	}
	if a.code != 0 {
		said, _, _ := strings.Cut(strings.TrimSpace(a.said), "\n")
		p.of.warn("%s cannot be read, so git goes on without it: %s", name, strings.TrimPrefix(said, "fatal: "))
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(a.out, "\x00"), "\x00"), nil
}

func settingOf(entry string) setting {
	key, value, given := strings.Cut(entry, "\n")
	if !given {
		value = "true"
	}
	return setting{key, value}
}

// limited reads a file that is one and not too large. What stands there may be a pipe by now.
func limited(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("it has more than %d bytes", maxConfig)
	}
	return text, err
}

// takeHead copies the repository's HEAD.
func (p *private) takeHead() error {
	text, err := limited(filepath.Join(p.of.dir, "HEAD"))
	if err != nil {
		return fmt.Errorf("%w: its HEAD: %w", ErrNoRepository, err)
	}
	if bytes.Equal(text, p.head) {
		return nil
	}
	p.head = text
	return p.write("HEAD", string(text))
}

// returnHead puts HEAD back where a command has changed it, with git's own lock, and not over what
// somebody else has made of it.
func (p *private) returnHead() error {
	text, err := os.ReadFile(filepath.Join(p.dir, "HEAD"))
	if err != nil || bytes.Equal(text, p.head) {
		return err
	}
	head := filepath.Join(p.of.dir, "HEAD")
	lock, err := os.OpenFile(head+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("%w: HEAD: %w", ErrBusy, err)
	}
	_, err = lock.Write(text)
	err = errors.Join(err, lock.Sync(), lock.Close())
	if now, failed := limited(head); err == nil && (failed != nil || !bytes.Equal(now, p.head)) {
		err = errors.Join(fmt.Errorf("%w: HEAD was changed meanwhile", ErrBusy), failed)
	}
	if err == nil {
		err = os.Rename(lock.Name(), head)
	}
	if err != nil {
		return errors.Join(err, os.Remove(lock.Name()))
	}
	p.head = text
	return nil
}

// warn says what git went without, once a session.
func (r *Repository) warn(format string, args ...any) {
	if r.o.Warn != nil {
		r.o.Warn(fmt.Sprintf(format, args...))
	}
}

// environment is what tells git where everything is, and keeps it from other configurations.
func (p *private) environment(plain bool) []string {
	of := []string{"GIT_DIR=" + p.dir, "GIT_WORK_TREE=" + p.of.o.Workspace,
		"GIT_INDEX_FILE=" + filepath.Join(p.of.dir, "index")}
	if plain {
		of = []string{"GIT_DIR=" + p.plain()}
	}
	return append(of,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",              // refs/replace would have one commit stand for another
		"HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, // a git that knows no GIT_CONFIG_GLOBAL
	)
}
