package contract

// A Contract is a type of values. It never changes, and any number of goroutines may use it at
// once.
type Contract struct {
	definitions []*named // in the order of the text
	root        typ
	text        string // canonical
}

// String is the canonical text: definitions on a line each, then the type, everything spaced and
// quoted in one way, comments gone. Parsing it gives an equal contract with the same text.
func (c *Contract) String() string { return c.text }

// Equal says whether two contracts have the same canonical text.
func (c *Contract) Equal(other *Contract) bool { return c.text == other.text }

// A Profile is a way to write and to answer a contract as JSON Schema.
type Profile int

// The profiles. Validate states all that JSON Schema can state. Strict is the subset that model
// APIs with strict output accept: every key is required and none may be added; what may be absent
// is null instead.
const (
	Validate Profile = iota
	Strict
)

// An Audience is who gets to see a value.
type Audience string

// The audiences. Fields marked @agent are hidden from people.
const (
	Agents Audience = "agent"
	People Audience = "people"
)
