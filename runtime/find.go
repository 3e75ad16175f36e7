package runtime

import (
	"math/bits"
	"strconv"
	"strings"

	"starling/lang/effect"
)

// Facts are what a run can be found by beside its summary. They are bounded: at most 64 values of
// the inputs and as many of the output, none longer than 128 bytes, and 64 agents; what is beyond
// that is not among them.
type Facts struct {
	Inputs   []Fact   `json:"inputs,omitempty"`
	Output   []Fact   `json:"output,omitempty"`
	Agents   []string `json:"agents,omitempty"`    // that were asked, in their order
	MicroUSD int64    `json:"micro_usd,omitempty"` // what they have cost, child runs aside
}

// Fact is one value: a text as it is, anything else as JSON has it. Each element of a list is one.
type Fact struct {
	Path  string `json:"path,omitempty"` // the keys that lead to it, with dots between; "" of an output that is no dict
	Value string `json:"value"`
}

// The bounds of facts.
const (
	MaxFacts = 64
	MaxFact  = 128 // bytes
)

// A term is what an index of runs finds: a field and a value of it.

// TermParent is the field of the run that has started another.
const TermParent = "parent"

// Term is that of a field and a value.
func Term(field, value string) string { return field + "=" + Canonical(value) }

// Canonical is one way to write what is equal: a number that is exact, without an exponent;
// anything else as it is.
func Canonical(value string) string {
	const exact = 1 << 53
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > -exact && n < exact {
		return strconv.FormatFloat(n+0, 'f', -1, 64) // +0 makes -0 a 0
	}
	return value
}

// CostTerm is the term of a cost: costs between two powers of two have the same.
func CostTerm(microUSD int64) string { return Term("cost", strconv.Itoa(costClass(microUSD))) }

func costClass(microUSD int64) int { return bits.Len64(uint64(max(0, microUSD))) }

// CostTerms are those of all costs from one to another.
func CostTerms(least, most int64) (terms []string) {
	for class := costClass(least); class <= costClass(most); class++ {
		terms = append(terms, Term("cost", strconv.Itoa(class)))
	}
	return terms
}

// DefinitionIn is the name, and NAME@VERSION, of the definition that a run was started from, as its
// script says; nothing for a file.
func DefinitionIn(script string) []string {
	name, _, versioned := strings.Cut(script, "@")
	if !versioned || effect.CheckName(name) != nil || !NamesDefinition(script) {
		return nil
	}
	return []string{name, script}
}
