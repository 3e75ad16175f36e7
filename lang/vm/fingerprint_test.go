package vm_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// TestFingerprints fails when something moves that written bytes depend on and the number that
// stands for it has not. There are two:
//
//	vm.snapshotFormat   the tags, kinds and shapes of a snapshot; for each place of rest in the kept programs, what is live there and in which order
//	compile.Generator   the table of operations, and the code of the kept programs
//
// The first is what makes a snapshot unreadable. The second is told by a snapshot, which is read
// nevertheless: it names no code. -rewrite takes the prints of a number that is new.
func TestFingerprints(t *testing.T) {
	if *rewrite {
		writeWire(t)
	}
	file := filepath.Join(formatDir(), "fingerprint.txt")
	now := fmt.Sprintf("format %d: tags %s, places of rest %s\ngenerator %d: operations %s, code %s\n",
		vm.SnapshotFormat, print(constants(t)), print(places(t)), compile.Generator, print(operations()), print(disassembly(t)))
	before, err := os.ReadFile(file)
	if err == nil && string(before) == now {
		return
	}
	was, is := strings.Split(string(before), "\n"), strings.Split(now, "\n")
	if err == nil && was[0] != is[0] {
		t.Fatalf("the form of snapshots has moved:\n  was %s\n  is  %s\nWhat is on disk may mean something else now. Raise snapshotFormat in lang/vm/snapshot.go, then\n"+
			"  go test ./lang/vm -run 'Wire|Fingerprints' -rewrite\nand commit testdata/wire. Before the first release the folder of the old format is deleted, after it the old format is still read.", was[0], is[0])
	}
	if err == nil && number(was[1]) == number(is[1]) {
		t.Fatalf("the code generator has moved:\n  was %s\n  is  %s\nRaise Generator in lang/compile/compile.go, then\n  go test ./lang/vm -run 'Wire|Fingerprints' -rewrite\nand commit testdata/wire.",
			was[1], is[1])
	}
	if !*rewrite {
		t.Fatalf("%s does not know of\n%srun go test ./lang/vm -run 'Wire|Fingerprints' -rewrite and commit testdata/wire", file, now)
	}
	keep(t, file, []byte(now))
}

// number is "generator N" of a line.
func number(line string) string {
	head, _, _ := strings.Cut(line, ":")
	return head
}

func print(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

// constants renders the numbers that snapshots consist of, from the source: their order is their
// value.
func constants(t *testing.T) string {
	t.Helper()
	fset := token.NewFileSet()
	var out bytes.Buffer
	for _, file := range glob(t, "*.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST && written(g) {
				if err := printer.Fprint(&out, token.NewFileSet(), g); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// A build that does not know the types behind these refuses the runs that have them, by their
	// behaviour.
	for _, typ := range effect.RecordTypes()[:16] {
		fmt.Fprintln(&out, typ.Name, typ.Fields)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// written tells whether the constants of a declaration are written into snapshots.
func written(g *ast.GenDecl) bool {
	name := g.Specs[0].(*ast.ValueSpec).Names[0].Name
	for _, first := range []string{"tagUnset", "objList", "rootFrame", "frameFunction", "parallelKeys", "parallelBase", "isolatedOverlap", "isolatedForking", "treeOpening", "shortText"} {
		if name == first {
			return true
		}
	}
	return false
}

// operations is the table of operations. Code that counts what is reached has a generator of its
// own.
func operations() string {
	var out strings.Builder
	for op := compile.Op(0); op.String() != "illegal"; op++ {
		if op == compile.Reach {
			continue
		}
		fmt.Fprintln(&out, op, op.Picture())
	}
	return out.String()
}

// corpus are the kept programs of the present format, compiled.
func corpus(t *testing.T) []*compile.Module {
	t.Helper()
	var all []*compile.Module
	for _, file := range glob(t, formatDir()+"/*.bundle") {
		bundle, err := lang.Decode([]byte(readText(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		program, err := lang.Compile(bundle, wireEnvironment())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, program.Modules...)
	}
	return all
}

func disassembly(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, m := range corpus(t) {
		for _, f := range m.Functions {
			out.WriteString(f.Disassemble())
		}
	}
	return out.String()
}

// places lists what a snapshot holds of a frame at each place of rest: the order of its sites, and
// what is live there.
func places(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, m := range corpus(t) {
		for _, f := range m.Functions {
			fmt.Fprintln(&out, m.Name, f.Ordinal, f.Name)
			for _, site := range f.Sites {
				needs := f.Across
				if site.Loop {
					needs = f.Before
				}
				fmt.Fprintf(&out, "%d:%d %v", site.Line, site.Col, site.Loop)
				for _, need := range needs(site.PC) {
					if need.Reg < len(f.Locals) {
						fmt.Fprintf(&out, " %s:%d", f.Locals[need.Reg].Name, need.Hold)
					} else {
						fmt.Fprintf(&out, " temporary:%d", need.Hold)
					}
				}
				fmt.Fprintln(&out)
			}
		}
	}
	return out.String()
}

// TestCorpusHasEveryOperation: what the fingerprints look at, and what is read back, leaves nothing
// out.
func TestCorpusHasEveryOperation(t *testing.T) {
	code := disassembly(t)
	// Reach is in code that counts what is reached, Const has the constants from 32,768 on, Loop
	// belongs to while.
	never := []compile.Op{compile.Nop, compile.Break, compile.Reach, compile.Const, compile.Loop}
	for op := compile.Op(0); op.String() != "illegal"; op++ {
		if !slices.Contains(never, op) && !strings.Contains(code, " "+op.String()+" ") {
			t.Errorf("no kept program has the operation %s: add a transcript to testdata/wire", op)
		}
	}
}
