package graph_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"starling/cmd/starling/graph"
	"starling/cmd/starling/table"
	"starling/runtime"
)

// TestPicturesOfManyBranches: a hundred branches side by side stand in rows, a branch that has
// failed among them, with why.
func TestPicturesOfManyBranches(t *testing.T) {
	page := &runtime.StepPage{Failed: []runtime.FailedBranch{{Branch: "parallel/7", Kind: "script", Message: "no\nway " + strings.Repeat("x", 500)}}}
	for i := range 100 {
		page.Steps = append(page.Steps, runtime.Step{Step: fmt.Sprintf("parallel/%d/look", i), Kind: "agent", Status: "ok"})
	}
	var b strings.Builder
	g := graph.OfRun(&runtime.Run{ID: "k3jc0x7c0x1y", Script: "a.star", Status: runtime.Completed}, page)
	if err := g.Write(graph.SVG, "", table.Paper{}, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	var width, height int
	_, sizes, _ := strings.Cut(b.String(), "width=")
	if _, err := fmt.Sscanf(strings.ReplaceAll(sizes, `"`, " "), "%d height= %d", &width, &height); err != nil {
		t.Fatal(err)
	}
	if width > 1500 || height > 2000 {
		t.Errorf("the picture has %d x %d pixels", width, height)
	}
	for _, want := range []string{">script: no way xxx", `<rect class="box bad"`, ">completed</text>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it has no %s", want)
		}
	}
}
