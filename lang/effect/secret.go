package effect

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Secret is a reference to a secret: its name and the text around it. The value itself is known to
// no script, snapshot or journal; the handler that performs a request resolves it. It refuses str,
// formatting, comparison and hashing.
type Secret struct {
	Name string // as declared in the project file
	Wrap string // text in which "{}" stands for the value; "" is the value alone
}

// String never shows anything but the reference.
func (s *Secret) String() string { return fmt.Sprintf("secret(%q)", s.Name) }

// Type is "secret".
func (*Secret) Type() string { return "secret" }

// Freeze does nothing: a secret is immutable.
func (*Secret) Freeze() {}

// Truth is true.
func (*Secret) Truth() starlark.Bool { return true }

// Hash fails: secrets are unhashable.
func (*Secret) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: secret") }

// CompareSameType fails: comparing would tell something of the values.
func (s *Secret) CompareSameType(syntax.Token, starlark.Value, int) (bool, error) {
	return false, fmt.Errorf("secrets cannot be compared")
}

// Attr gives wrap(text), which puts the secret into a text.
func (s *Secret) Attr(name string) (starlark.Value, error) {
	if name == "wrap" {
		return wrapSecret.Method(s, name), nil
	}
	return nil, nil
}

// AttrNames lists the methods.
func (*Secret) AttrNames() []string { return []string{"wrap"} }

// Reveal composes the text with the secret's value. Handlers call it when they perform.
func (s *Secret) Reveal(value string) string {
	if s.Wrap == "" {
		return value
	}
	return strings.ReplaceAll(s.Wrap, "{}", value)
}

var wrapSecret = &Builtin{
	FullName: "secret.wrap",
	Doc:      "Put the secret into a text, where {} stands for it: s.wrap(\"Bearer {}\").",
	Params:   []Param{{Name: "text", Type: "string", Doc: "The text around the secret; {} is replaced when the request is performed."}},
	Result:   "secret",
	Pure: func(c *Call) (starlark.Value, error) {
		recv, _ := c.Builtin.Receiver()
		s := recv.(*Secret)
		text := c.Text("text", "")
		if !strings.Contains(text, "{}") {
			return nil, fmt.Errorf("secret.wrap: got %q, want a text that contains {}", text)
		}
		if s.Wrap != "" {
			text = strings.ReplaceAll(text, "{}", s.Wrap)
		}
		return &Secret{Name: s.Name, Wrap: text}, nil
	},
}
