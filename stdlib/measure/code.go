package measure

import (
	"path"
	"slices"
	"sync"

	"github.com/boyter/scc/v3/processor"
)

// Code is what source files hold: lines of each kind, and how often they branch. Complexity is
// that of scc, an estimate of the cyclomatic one by the words that branch (if, for, case, &&, …).
type Code struct {
	Language   string
	Code       int
	Comments   int
	Blank      int
	Complexity int
}

// languages fills scc's tables. They are globals of scc's, for the whole process, so they are
// filled once, and nothing changes them afterwards.
var languages = sync.OnceFunc(processor.ProcessConstants)

// MeasureCode measures a source file. ok is false for what is none: of no language that scc knows,
// binary, or of a language that does not branch, such as Markdown and JSON.
func MeasureCode(name string, content []byte) (c Code, ok bool) {
	languages()
	possible, ending := processor.DetectLanguage(path.Base(name))
	if len(possible) == 0 {
		return c, false
	}
	if possible[0] == processor.SheBang {
		language, err := processor.DetectSheBang(string(content))
		if err != nil {
			return c, false
		}
		possible = []string{language}
	}
	possible = slices.Sorted(slices.Values(possible)) // they come in the order of a map
	job := &processor.FileJob{Filename: path.Base(name), Extension: ending, Content: content, Bytes: int64(len(content))}
	job.Language = processor.DetermineLanguage(job.Filename, possible[0], possible, content)
	if processor.LanguageFeatures[job.Language].ComplexityCheckMask == 0 {
		return c, false
	}
	processor.CountStats(job)
	return Code{Language: job.Language, Code: int(job.Code), Comments: int(job.Comment), Blank: int(job.Blank), Complexity: int(job.Complexity)}, !job.Binary
}
