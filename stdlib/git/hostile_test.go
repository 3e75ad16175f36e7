package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"starling/stdlib/git"
	"starling/stdlib/jail"
)

// hostile is a repository that names a program wherever git takes one, also in the configuration of
// a user whose home somebody else could write. Each program leaves a canary of its name.
type hostile struct {
	user
	canaries string
}

func newHostile(t *testing.T) hostile {
	h := hostile{newUser(t), ""}
	h.canaries = h.path(".git/canaries")
	h.must(os.Mkdir(h.canaries, 0o777))
	h.must(os.Chmod(h.canaries, 0o777))
	h.write("merged", "1\n2\n3\n4\n5\n6\n7\n")
	h.write("sub/x", "x")
	sub := user{t, h.path("sub")}
	sub.git("init", "-q")
	sub.git("-c", "user.name=A", "-c", "user.email=a@b.c", "add", ".")
	sub.git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "in the submodule")
	h.git("add", "merged", "sub")
	h.git("commit", "-qm", "with a submodule")
	sub.git("config", "core.fsmonitor", h.canary("submodule.fsmonitor"))
	sub.git("config", "filter.evil.clean", h.canary("submodule.filter"))
	sub.write(".gitattributes", "* filter=evil")
	sub.write("x", "changed")

	h.write(".gitattributes", "* diff=evil merge=evil\n*.bin filter=evil\n")
	h.write("data.bin", "bytes\r\n")
	h.write(".git/info/attributes", "*.info filter=evil\n")
	h.write(".git/included", h.settings("included"))
	h.write(".git/attributes", "*.global filter=evil\n")
	hooks := []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout",
		"post-index-change", "reference-transaction", "post-rewrite", "pre-auto-gc", "fsmonitor-watchman"}
	for _, dir := range []string{".git/hooks", ".git/hooks2"} {
		for _, name := range hooks {
			h.write(dir+"/"+name, "#!/bin/sh\n"+h.canary(name)+"\n")
			h.must(os.Chmod(h.path(dir+"/"+name), 0o755))
		}
	}
	h.append(".git/config", h.settings("own"))
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	h.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(h.settings("home")), 0o644))
	return h
}

func (h hostile) canary(name string) string {
	return fmt.Sprintf("touch %s/%s; cat", h.canaries, name)
}

// settings name a program for every key of git's configuration that takes one.
func (h hostile) settings(where string) string {
	var text strings.Builder
	for _, key := range []string{
		"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "core.editor", "core.pager", "core.askPass",
		"core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "diff.external", "diff.evil.textconv",
		"diff.evil.command", "merge.evil.driver", "credential.helper", "gpg.program", "gpg.ssh.program", "sequence.editor",
		"interactive.diffFilter", "uploadpack.packObjectsHook", "trailer.starling-step.command",
		"trailer.starling-step.cmd", "alias.ls-files", "alias.commit", "pager.log", "pager.diff-tree",
		"submodule.sub.update", "remote.origin.uploadpack", "browser.x.cmd", "help.browser",
	} {
		section, name, _ := strings.Cut(key, ".")
		if at := strings.LastIndexByte(name, '.'); at >= 0 {
			section, name = fmt.Sprintf("%s %q", section, name[:at]), name[at+1:]
		}
		fmt.Fprintf(&text, "[%s]\n\t%s = %q\n", section, name, "!"[:strings.Count(section, "alias")]+h.canary(where+"."+key))
	}
	fmt.Fprintf(&text, "[core]\n\thooksPath = %s\n\tattributesFile = %s\n", h.path(".git/hooks2"), h.path(".git/attributes"))
	fmt.Fprintf(&text, "[filter \"evil\"]\n\trequired = true\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n")
	if where == "own" {
		fmt.Fprintf(&text, "[include]\n\tpath = included\n[includeIf \"gitdir:/\"]\n\tpath = %s\n", h.path(".git/included"))
		fmt.Fprintf(&text, "[core]\n\tworktree = /\n\tbare = true\n\tautocrlf = maybe\n\tsparseCheckout = what\n")
		fmt.Fprintf(&text, "[remote \"origin\"]\n\turl = \"ext::sh -c %% %s\"\n\tpromisor = true\n[protocol]\n\tallow = always\n",
			strings.ReplaceAll(h.canary("promisor"), " ", "% "))
		text.WriteString("[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n")
	}
	return text.String()
}

func (h hostile) append(name, text string) {
	old, err := os.ReadFile(h.path(name))
	h.must(err)
	h.write(name, string(old)+text)
}

func (h hostile) sung() []string {
	var names []string
	entries, err := os.ReadDir(h.canaries)
	h.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Whatever a repository names, nothing of it is executed, and all that is done for scripts works.
func TestHostileRepository(t *testing.T) {
	h := newHostile(t)
	var warned []string
	o := git.Options{Workspace: h.dir, Store: h.path(".starling"), Trees: h.path(treesOf),
		Warn: func(text string) { warned = append(warned, text) }}
	r := opened(o)
	t.Cleanup(r.Close)
	did := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if sung := h.sung(); len(sung) > 0 {
			t.Fatalf("%s ran %v", what, sung)
		}
	}
	ctx := t.Context()
	did("checkpoint", r.Checkpoint(ctx, "c"))
	files, err := r.Files(ctx)
	did("files", err)
	if !slices.Contains(files, "data.bin") {
		t.Errorf("got the files %v", files)
	}
	h.write("kept.txt", "changed\n")
	_, _, err = r.Diff(ctx, "c")
	did("diff", err)
	_, _, err = r.Diff(ctx, "")
	did("diff since the last commit", err)
	h.write("sub/x", "and again")
	_, err = r.Commit(ctx, "k", "committed", "", []string{"kept.txt", "sub", "src"})
	did("commit", err)
	h.write("kept.txt", "changed again\n")
	_, _, err = r.Rollback(ctx, "c", "u", 1)
	did("rollback", err)
	h.merge(ctx, r, did)
	if git.Head(h.dir) == "" {
		t.Error("git.Head tells of no commit")
	}
	if _, err := r.Commit(ctx, "k2", "filtered", "", []string{"data.bin"}); !errors.Is(err, git.ErrFilter) ||
		!strings.Contains(err.Error(), `data.bin through "evil"; name it in filters under [git]`) {
		t.Errorf("a file that goes through a filter: got %v", err)
	}
	did("commit of what is filtered", nil)
	if len(warned) > 0 {
		t.Errorf("warned: %q", warned)
	}
	h.control()
}

// merge has two branches change one file in worktrees, and git put them together.
func (h hostile) merge(ctx context.Context, r *git.Repository, did func(string, error)) {
	began, err := r.Fork(ctx, "RUN/fork")
	did("fork", err)
	var sides []string
	for name, text := range map[string]string{left: "LEFT\n2\n3\n4\n5\n6\n7\n", right: "1\n2\n3\n4\n5\n6\nRIGHT\n"} {
		did("open", r.OpenTree(ctx, name, began))
		h.in(name).write("merged", text)
		made, err := r.CloseTree(ctx, name, "RUN/"+name, began)
		did("close", err)
		sides = append(sides, made.Commit)
	}
	c, err := r.Compare(ctx, began, sides, []string{"merged"})
	did("compare", err)
	if !c.Merges {
		h.t.Error("it does not merge")
	}
	so, err := r.Fold(ctx, "RUN/fold", began, sides, true)
	did("fold", err)
	_, err = r.Apply(ctx, began, so)
	did("apply", err)
	if text, _ := os.ReadFile(h.path("merged")); string(text) != "LEFT\n2\n3\n4\n5\n6\nRIGHT\n" {
		h.t.Errorf("merged: got %q", text)
	}
}

// control makes sure that the canaries live: git itself, asked by somebody who trusts the
// repository, starts many of them.
func (h hostile) control() {
	h.t.Helper()
	text, err := os.ReadFile(h.path(".git/config"))
	h.must(err)
	for _, broken := range []string{"autocrlf = maybe", "sparseCheckout = what", "bare = true", "worktree = /"} {
		text = bytes.ReplaceAll(text, []byte(broken), nil)
	}
	h.must(os.WriteFile(h.path(".git/config"), text, 0o644))
	env := append(os.Environ(), "GIT_WORK_TREE="+h.dir, "GIT_DIR="+h.path(".git"))
	for _, args := range [][]string{{"add", "-A"}, {"diff", "HEAD~1"}, {"commit", "-qm", "x", "--trailer", "Starling-Step: x"},
		{"status"}, {"log", "-p", "--ext-diff"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = h.dir, env
		_ = cmd.Run() // what it says does not count
	}
	if sung := h.sung(); len(sung) < 4 {
		h.t.Errorf("git itself starts no more than %v: the repository is not hostile", sung)
	}
}

// A configuration that git cannot read costs a sentence.
func TestBrokenConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts programs, for long: the gate plays it without the race detector")
	}
	for name, c := range map[string]struct {
		breaks func(u user, config string)
		warns  string
	}{
		"no configuration": {func(u user, config string) { u.must(os.Remove(config)) }, ""},
		"not parsed": {func(u user, config string) { u.write(".git/config", "[core\nx = ") },
			"the repository's configuration cannot be read, so git goes on without it: bad config line 1 in file theirs"},
		"too large": {func(u user, config string) { u.write(".git/config", strings.Repeat("# much\n", 200_000)) },
			"the repository's configuration cannot be read, so git goes on without it: it has more than 1048576 bytes"},
		"a pipe": {func(u user, config string) {
			u.must(errors.Join(os.Remove(config), syscall.Mkfifo(config, 0o600)))
		}, "the repository's configuration cannot be read, so git goes on without it: it is no file"},
		"a folder": {func(u user, config string) { u.must(errors.Join(os.Remove(config), os.Mkdir(config, 0o700))) },
			"the repository's configuration cannot be read, so git goes on without it: it is no file"},
		"values of no sense": {func(u user, config string) {
			u.write(".git/config", "[core]\nrepositoryformatversion = x\nfilemode = perhaps\nautocrlf = 7\nlogallrefupdates = ?\n")
		}, ""},
		"it includes itself": {func(u user, config string) { u.write(".git/config", "[include]\npath = config\n") }, ""},
		"the user's own is broken": {func(u user, config string) {
			home := u.t.TempDir()
			u.t.Setenv("HOME", home)
			u.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user"), 0o600))
		}, "your own configuration of git cannot be read, so git goes on without it: bad config line 2 in file"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			var warned []string
			c.breaks(u, u.path(".git/config"))
			r := opened(git.Options{Workspace: u.dir, Store: u.path(".starling"),
				Warn: func(text string) { warned = append(warned, text) }})
			t.Cleanup(r.Close)
			u.must(r.Checkpoint(t.Context(), "c"))
			u.write("kept.txt", "changed\n")
			_, paths, err := r.Diff(t.Context(), "c")
			if err != nil || fmt.Sprint(paths) != "[kept.txt]" {
				t.Errorf("the diff: %v, %v", paths, err)
			}
			if _, err := r.Commit(t.Context(), "k", "m", "c", nil); err != nil {
				t.Error(err)
			}
			_, _, err = r.Rollback(t.Context(), "c", "u", 1)
			u.must(err)
			got := strings.Join(warned, "\n")
			if c.warns == "" && got != "" || !strings.HasPrefix(got, c.warns) || strings.Contains(got, "\n") {
				t.Errorf("warned\n%s\nwant\n%s", got, c.warns)
			}
		})
	}
}

// A filter that the project names runs as the user has it, whatever the repository says of it.
func TestFilterByName(t *testing.T) {
	u := newUser(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	own := "[filter \"big\"]\n\tclean = tr a-z A-Z\n\trequired = true\n[user]\n\tname = Ada\n\temail = a@b.c\n"
	u.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(own), 0o600))
	u.git("config", "filter.big.clean", "touch "+u.path(".git/canary")+"; cat")
	u.write(".gitattributes", "*.bin filter=big\n*.x filter=unknown\n")
	u.write("a.bin", "large\n")
	u.write("b.x", "as it is\n")
	r := opened(git.Options{Workspace: u.dir, Filters: []string{"big", "lfs"}})
	t.Cleanup(r.Close)
	_, err := r.Commit(t.Context(), "k", "m", "", []string{"a.bin", "b.x"})
	u.must(err)
	if got := u.git("cat-file", "blob", "HEAD:a.bin") + u.git("cat-file", "blob", "HEAD:b.x"); got != "LARGE\nas it is\n" {
		t.Errorf("committed as %q", got)
	}
	if _, err := os.Stat(u.path(".git/canary")); err == nil {
		t.Error("the repository's own command was run")
	}
	u.write(".gitattributes", "*.bin filter=lfs\n")
	u.write("c.bin", "large\n")
	_, err = r.Commit(t.Context(), "k2", "m", "", []string{"c.bin"})
	want := `files go through a filter of git that is not run: c.bin through "lfs", which your own configuration of git does not define`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A commit on a HEAD that is no branch moves it, and one that somebody else moves meanwhile stays.
func TestDetachedHead(t *testing.T) {
	u := newUser(t)
	u.git("checkout", "-q", "--detach")
	r := u.open()
	commit, err := r.Commit(t.Context(), "k", "m", "", []string{"kept.txt", "src"})
	u.must(err)
	if got := strings.TrimSpace(u.git("rev-parse", "HEAD")); got != commit || commit == "" {
		t.Errorf("HEAD is %s, the commit %s", got, commit)
	}
	if got := u.git("reflog", "-1"); !strings.Contains(got, "commit: m") {
		t.Errorf("the log of HEAD: %s", got)
	}
	u.write(".git/HEAD.lock", "")
	u.write("kept.txt", "more\n")
	if _, err := r.Commit(t.Context(), "k2", "m", "", []string{"kept.txt"}); !errors.Is(err, git.ErrBusy) {
		t.Errorf("where HEAD is locked: got %v", err)
	}
}

// An object that the repository has stand for another one hides no change: neither the last
// commit's replacement nor a checkpoint's.
func TestReplacedObjects(t *testing.T) {
	u := newUser(t)
	r := u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	u.write("kept.txt", "changed in secret\n")
	u.must(r.Checkpoint(t.Context(), "forged"))
	u.git("add", "kept.txt")
	tree := strings.TrimSpace(u.git("write-tree"))
	u.git("reset", "-q")
	last := strings.TrimSpace(u.git("rev-parse", "HEAD"))
	u.git("replace", last, strings.TrimSpace(u.git("commit-tree", tree, "-m", "forged")))
	u.git("replace", "refs/starling/checkpoints/c", "refs/starling/checkpoints/forged")
	for _, since := range []string{"", last, "c"} {
		patch, paths, err := r.Diff(t.Context(), since)
		u.must(err)
		if !slices.Contains(paths, "kept.txt") || !strings.Contains(patch, "+changed in secret") {
			t.Errorf("since %q: got %v\n%s", since, paths, patch)
		}
	}
}

// Attributes hide no change: neither those that come with it, nor those of the repository.
func TestAttributesHideNothing(t *testing.T) {
	for _, file := range []string{".gitattributes", ".git/info/attributes"} {
		u := newUser(t)
		r := u.open()
		u.must(r.Checkpoint(t.Context(), "c"))
		u.write("kept.txt", "changed in secret\n")
		u.write(file, "* -diff\nkept.txt binary\n")
		u.write("picture", "\x89PNG\x00\x01")
		for _, since := range []string{"", "c"} {
			patch, _, err := r.Diff(t.Context(), since)
			u.must(err)
			if !strings.Contains(patch, "+changed in secret") || !strings.Contains(patch, "GIT binary patch") {
				t.Errorf("%s, since %q: got\n%s", file, since, patch)
			}
		}
	}
}

// A split index is read, and not torn apart.
func TestSplitIndex(t *testing.T) {
	u := newUser(t)
	u.git("update-index", "--split-index")
	u.write("kept.txt", "changed\n")
	r := u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	_, err := r.Commit(t.Context(), "k", "m", "", []string{"kept.txt"})
	u.must(err)
	_, _, err = r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	if got := u.git("status", "--porcelain"); !strings.Contains(got, " M kept.txt") {
		t.Errorf("got %s", got)
	}
}

// What decides what runs may do is neither undone nor merged, which is said; all else is.
func TestRightsStay(t *testing.T) {
	u := newUser(t)
	u.write("starling.toml", "as it was")
	u.write("judge.py", "as it was")
	var warned []string
	r := opened(git.Options{Workspace: u.dir, Store: u.path(".starling"), Trees: u.path(treesOf),
		Rights: jail.NewRights([]string{"judge.py"}, nil),
		Warn:   func(text string) { warned = append(warned, text) }})
	t.Cleanup(r.Close)
	u.must(r.Checkpoint(t.Context(), "c"))
	for _, name := range []string{"starling.toml", "judge.py", "kept.txt"} {
		u.write(name, "changed")
	}
	_, _, err := r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	u.must(r.OpenTree(t.Context(), left, began))
	if text, _ := os.ReadFile(u.in(left).path("judge.py")); string(text) != "changed" {
		t.Errorf("in the tree: %q", text)
	}
	for _, name := range []string{"starling.toml", "new/starling.toml", "judge.py", "kept.txt"} {
		u.in(left).write(name, "of a branch")
	}
	made, err := r.CloseTree(t.Context(), left, "RUN/left", began)
	u.must(err)
	_, err = r.Apply(t.Context(), began, made.Commit)
	u.must(err)
	for name, want := range map[string]string{"starling.toml": "changed", "judge.py": "changed", "kept.txt": "of a branch"} {
		if text, _ := os.ReadFile(u.path(name)); string(text) != want {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
	}
	if _, err := os.Stat(u.path("new/starling.toml")); err == nil {
		t.Error("new/starling.toml is there")
	}
	const said = " stays as it is: it decides what runs may do and what is run for them, so no script changes it; edit it by hand"
	want := []string{"judge.py" + said, "starling.toml" + said, "new/starling.toml" + said}
	if fmt.Sprint(warned) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", warned, want)
	}
}
