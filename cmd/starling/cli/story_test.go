package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"starling/cmd/starling/place"
	"strings"
	"testing"
	"time"
)

var (
	killSeed    = flag.Uint64("kill-seed", 0, "the seed of the kills at random moments; 0 draws one, which is printed")
	everyCommit = flag.Bool("every-commit", false, "each script is killed at every commit, not at some that -kill-seed draws")
	killings    = flag.Int("killings", 1, "how often each script is played with kills at random moments")
)

// story is what users do with a script: they start it, and answer its gates. Whoever finds that a
// command was killed types it again, with its key.
type story struct {
	name    string
	script  string            // a file of scripts/, or the text of one
	files   map[string]string // beside the text
	Toy     bool              `json:"toy"`     // the working folder is a repository with scripts/toy in it
	Servers bool              `json:"servers"` // it starts tool servers
	folder  string            // what lies in the working folder, "" for nothing
	Args    []string          `json:"args"`    // of run; SINK is the address of the world, which serves the folder
	Varies  []string          `json:"varies"`  // fields of the output that no two tellings share, such as times
	Answers [][]string        `json:"answers"` // GATE and the flags of signal; where there are none, each gate gets its first option
}

var branchStories = []story{
	{name: "branches", script: `
def ask(name):
    print("asking", name)
    return [name, gate(name, options = ["yes", "no"]).choice]
def main():
    before = {"squares": [x * x for x in range(5)]}
    return [before, parallel({k: (ask, k) for k in ["a", "b", "c"]}), before]
`, Answers: [][]string{{"parallel/b/b", "--choice", "yes"}, {"c", "--choice", "no"}, {"parallel/a/a", "--choice", "yes"}}},
	{name: "failing branches", script: `
def fails(name):
    sleep("1ms")
    fail(name)
def main():
    ends = parallel({"a": (fails, "a"), "b": lambda: gate("b", options = ["yes"]).choice, "c": lambda: 1 // 0}, on_error = "collect")
    return [[k, ends[k].status, str(ends[k].error)] for k in ends]
`, Answers: [][]string{{"parallel/b/b", "--choice", "yes"}}},
	{name: "keys and natives", script: `
def main():
    ids = [uuid(), uuid()]
    names = sorted(["x", "y"], key = lambda n: gate("g-" + n, options = ["1", "2"]).choice)
    sleep("20ms")
    o = attempt(lambda: 1 // 0)
    emit("half", names = names)
    return [names, o.error.message, len({i: None for i in ids}), random() < 1]
`, Answers: [][]string{{"g-x", "--choice", "2"}, {"g-y", "--choice", "1"}}},
	{name: "memory", script: `
def main():
    memory.vars.set("n", memory.vars.get("n", 0) + 1)
    memory.chat.add("one")
    first = gate("first", options = ["on"]).choice
    memory.chat.add("two")
    memory.chat.keep(2)
    memory.vars.set("n", memory.vars.get("n") + 1)
    sleep("20ms")
    memory.chat.add("three")
    return [memory.vars.all(), [e["text"] for e in memory.chat.all()], first]
`, Answers: [][]string{{"first", "--choice", "on"}}},
	{name: "queue", script: `
def main():
    for v in ["a", "b", "c"]:
        queue.push("jobs", v)
    done = []
    for _ in range(2):
        item = queue.take("jobs")
        done.append([item.value, item.tries, gate("g-" + item.value, options = ["on"]).choice])
        queue.ack(item) if item.value == "a" else queue.park(item, "odd")
    memory.project.set("done", memory.project.get("done", 0) + len(done))
    return [done, memory.project.get("done"), [[i.value, i.status, i.reason] for i in queue.all("jobs")]]
`, Answers: [][]string{{"g-a", "--choice", "on"}, {"g-b", "--choice", "on"}}},
	{name: "child", script: `
def main():
    h = gate("late", options = ["on"], wait = False)
    r = run("child.star", {"x": 2})
    return [r, h.decision().choice]
`, files: map[string]string{"child.star": `
def main(x):
    print("child")
    return [x, gate("ok", options = ["yes", "no"]).choice]
`}, Answers: [][]string{{"child/ok", "--choice", "yes"}, {"late", "--choice", "on"}}},
}

// stories are those above and one for each script of scripts/, and for those in its folders that
// have agents beside them. A script that says nothing is started without inputs; NAME_agents.star
// beside it are its agents, and what testdata/stories/NAME holds lies in its working folder,
// story.json there saying how it is started and answered.
func stories(t *testing.T) []story {
	t.Helper()
	root := filepath.Join("..", "..", "..", "scripts")
	scripts, err := filepath.Glob(filepath.Join(root, "*.star"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	inFolders, err := filepath.Glob(filepath.Join(root, "*", "*_agents.star"))
	if err != nil {
		t.Fatal(err)
	}
	for _, agents := range inFolders {
		scripts = append(scripts, strings.TrimSuffix(agents, "_agents.star")+".star")
	}
	all := slices.Clone(branchStories)
	for _, file := range scripts {
		name := filepath.ToSlash(strings.TrimSuffix(strings.TrimPrefix(file, root+string(filepath.Separator)), ".star"))
		if strings.HasSuffix(name, "_agents") || strings.HasSuffix(name, "_test") {
			continue
		}
		s := story{name: name, script: name + ".star"}
		if fake := strings.TrimSuffix(file, ".star") + "_agents.star"; place.Exists(fake) {
			s.Args = []string{"--fake", "scripts/" + name + "_agents.star"}
		}
		if folder := filepath.Join("..", "..", "..", "testdata", "stories", name); place.Exists(folder) {
			s.folder = folder
			s.read(t, filepath.Join(folder, "story.json"))
		}
		all = append(all, s)
	}
	foldersAreTold(t, all)
	return all
}

// foldersAreTold refuses what nobody plays: a folder of testdata/stories without its script.
func foldersAreTold(t *testing.T, all []story) {
	t.Helper()
	told := map[string]bool{}
	for _, s := range all {
		told[s.folder] = true
	}
	folder := filepath.Join("..", "..", "..", "testdata", "stories")
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "story.json" && !told[filepath.Dir(path)] {
			t.Errorf("%s is the story of no script", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *story) read(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	args := s.Args
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	s.Args = append(args, s.Args...)
}

// killer says when a command is killed: at one of its commits, or after a while. The zero killer
// never does.
type killer struct {
	command int           // which command of the story
	crash   string        // at which commit, see crashVariable
	within  time.Duration // after how long
	moments []time.Duration
}

// of is the killer of one command.
func (k killer) of(command int) killer {
	if k.moments == nil && k.command != command {
		return killer{}
	}
	if k.moments != nil {
		return k.next()
	}
	return k
}

// next is the killer of the command that is typed again.
func (k killer) next() killer {
	if len(k.moments) == 0 {
		return killer{}
	}
	return killer{within: k.moments[0], moments: k.moments[1:]}
}

// A20 (1). Each story is told once without a crash, then again for the first commit of every
// command and for those that follow as a seed draws them, for every one with -every-commit, with
// SIGKILL before and after it. Of a story that takes long the seed draws the first one too, and of
// the toys' stories whether it is cut at all. The end must be the same.
func TestSIGKILLAtCommits(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.tell(t, killer{})
			r := drawn(t)
			if s.passed(t, r) {
				return
			}
			for _, command := range s.commands(r) {
				s.killAll(t, r, command, want)
			}
		})
	}
}

// Then it is told while its commands are killed at moments that a seed draws, up to three times
// each.
func TestSIGKILLAtRandomMoments(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	for i, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			if s.long() && !given("killings") && r.IntN(3) > 0 {
				t.Log("it takes long, and the seed does not draw it; -killings N plays it in any case")
				return
			}
			began := time.Now()
			want := s.tell(t, killer{})
			longest := time.Since(began) / time.Duration(2+len(s.Answers))
			for range *killings {
				moments := make([]time.Duration, 3)
				for i := range moments {
					moments[i] = 1 + time.Duration(r.Int64N(int64(longest)))
				}
				got := s.tell(t, killer{moments: moments})
				t.Logf("%d kills: %v", got.kills, moments)
				if diff := want.differs(got); diff != "" {
					t.Errorf("-kill-seed %d: killed after %v: %s", seed, moments, diff)
				}
			}
		})
	}
}

// tell plays the story in a folder of its own, killing its commands. Without answers of its own, it
// learns which gates there are.
func (s *story) tell(t *testing.T, k killer) *ending {
	t.Helper()
	return s.telling(&telling{t: t, dir: t.TempDir(), end: &ending{}}, k)
}

func (s *story) telling(p *telling, k killer) *ending {
	t := p.t
	t.Helper()
	p.sink = newSink()
	p.sink.dir = p.dir
	p.sink.server = httptest.NewServer(p.sink)
	defer p.sink.close()
	command := []string{"run", s.lay(p), "--key", "start", "--json"}
	for _, a := range s.Args {
		command = append(command, strings.ReplaceAll(a, "SINK", p.sink.server.URL))
	}
	var run struct{ ID string }
	first := p.do(k.of(0), command...)
	if err := json.Unmarshal(first, &run); err != nil || run.ID == "" {
		t.Fatalf("run printed %s", first)
	}
	learn := s.Answers == nil
	for i := 0; ; i++ {
		p.retryUncertain(run.ID)
		if learn {
			s.Answers = append(s.Answers, p.firstOptions(run.ID)...)
		}
		if i >= len(s.Answers) {
			break
		}
		p.answer(k.of(i+1), run.ID, s.Answers[i], fmt.Sprintf("answer-%d", i))
	}
	p.do(killer{}, "wait", run.ID, "--timeout", "20s")
	p.retryUncertain(run.ID)
	return p.look(run.ID, s.Varies, p.check()[run.ID])
}

// firstOptions answers the gate that has been open for longest with the first of its options.
func (p *telling) firstOptions(run string) [][]string {
	p.t.Helper()
	gates := p.get(run).Gates
	if len(gates) == 0 {
		return nil
	}
	g := gates[0]
	if len(g.Options) == 0 {
		p.t.Fatalf("gate %s has no options: say in testdata/stories/NAME/story.json how it is answered", g.Gate)
	}
	answer := []string{g.Gate, "--choice", g.Options[0].Name}
	if g.Target != "" {
		answer = append(answer, "--as", g.Target)
	}
	return [][]string{answer}
}

// repository makes the working folder one, in which everything is committed.
func (p *telling) repository() {
	p.t.Helper()
	p.write(".gitignore", ".starling/\nend\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "toy"}} {
		git := exec.Command("git", args...)
		git.Dir = p.dir
		if out, err := git.CombinedOutput(); err != nil {
			p.t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// scripts copies what lies beside a script, and the toy. All of scripts/ is not needed, and a story
// is told hundreds of times: to make its files may take longer than all else.
func (p *telling) scripts(script string) {
	from, folder := filepath.Join("..", "..", "..", "scripts"), path.Dir(script)
	err := os.MkdirAll(filepath.Join(p.dir, "scripts"), 0o755)
	for _, part := range []string{"toy", folder} {
		if part != "." && err == nil {
			err = os.CopyFS(filepath.Join(p.dir, "scripts", part), os.DirFS(filepath.Join(from, part)))
		}
	}
	files, _ := filepath.Glob(filepath.Join(from, "*.star")) // the pattern is right
	for _, file := range files {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(file)
		}
		p.write(filepath.Join("scripts", filepath.Base(file)), string(text))
	}
	if err != nil || len(files) == 0 {
		p.t.Fatal(files, err)
	}
}

// lay puts the story's files into its folder.
func (s *story) lay(p *telling) (script string) {
	if strings.Contains(s.script, "\n") {
		p.scripts("")
	} else {
		p.scripts(s.script)
	}
	if s.folder != "" {
		if err := os.CopyFS(p.dir, os.DirFS(s.folder)); err != nil {
			p.t.Fatal(err)
		}
	}
	if s.Toy {
		if err := os.CopyFS(p.dir, os.DirFS(filepath.Join(p.dir, "scripts", "toy"))); err != nil {
			p.t.Fatal(err)
		}
		p.repository()
	}
	for name, text := range s.files {
		p.write(name, text)
	}
	if !strings.Contains(s.script, "\n") {
		return "scripts/" + s.script
	}
	p.write("story.star", s.script)
	return "story.star"
}
