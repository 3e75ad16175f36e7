package measure

import (
	"encoding/json"
	"strings"
)

// jestReport is what jest --json writes:
// https://jestjs.io/docs/configuration#testresultsprocessor-string.
type jestReport struct {
	NumTotalTests *int
	TestResults   []struct {
		Name             string
		Status           string
		AssertionResults []struct {
			AncestorTitles []string
			Title          string
			Status         string
		}
	}
}

// readJest reads the JSON of jest, which vitest writes as well. A file that has failed without a
// test that did is a failed test: it could not be loaded, or what its tests need could not be made,
// whose tests vitest calls skipped. Ids have no file in them: its path is that of the machine.
func readJest(text string, t *tally) error {
	var r jestReport
	start := strings.IndexByte(text, '{')
	if start < 0 || json.Unmarshal([]byte(text[start:]), &r) != nil || r.NumTotalTests == nil {
		return unreadable("it is no JSON with numTotalTests and testResults")
	}
	for _, file := range r.TestResults {
		explained := false
		for _, a := range file.AssertionResults {
			o := jestOutcome(a.Status)
			explained = explained || o == failed
			t.add(strings.Join(append(a.AncestorTitles, a.Title), " > "), o)
		}
		if file.Status == "failed" && !explained {
			t.add(file.Name[strings.LastIndexByte(file.Name, '/')+1:]+" (file)", failed)
		}
	}
	return nil
}

func jestOutcome(status string) outcome {
	switch status {
	case "passed":
		return passed
	case "failed":
		return failed
	}
	return skipped // pending, skipped, todo, disabled
}
