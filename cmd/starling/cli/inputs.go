package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/diagnostic"
)

// bindInputs reads the -i flags as the program wants them. What it gives is JSON that the engine
// checks once more.
func bindInputs(p *lang.Program, flags []string) (json.RawMessage, error) {
	args := make([]lang.Arg, len(flags))
	for i, f := range flags {
		var err error
		if args[i], err = lang.ParseArg(f); err != nil {
			return nil, err
		}
	}
	inputs, err := p.BindInputs(nil, args)
	if err != nil {
		return nil, withFlags(err)
	}
	return contract.ToJSON(inputs)
}

// withFlags says of inputs that are missing how a command line gives them.
func withFlags(err error) error {
	var list diagnostic.List
	if !errors.As(err, &list) {
		return err
	}
	list = slices.Clone(list)
	for i, d := range list {
		if d.Got == "nothing" && d.Hint == "" && !strings.ContainsAny(d.Path, ".[") {
			list[i].Hint = "give it with -i " + d.Path + "=…"
		}
	}
	return list
}

// payload reads the operand of --data: JSON, @FILE, or - for standard input. Whether it is the
// right JSON is for the engine to say; that it is JSON is not checked here either, so that the
// refusal is recorded with the run.
func (c *call) payload(flag string) (json.RawMessage, error) {
	var text []byte
	var err error
	switch {
	case flag == "":
		return nil, nil
	case flag == "-":
		text, err = io.ReadAll(io.LimitReader(c.stdin, maxPayloadRead))
	case flag[0] == '@':
		text, err = readLimited(flag[1:])
	default:
		text = []byte(flag)
	}
	if err != nil {
		return nil, usage("", "--data %s: %v", flag, err)
	}
	return text, nil
}

// maxPayloadRead bounds what is read for --data, in bytes: above the engine's own limit, so that
// the engine refuses, and below what would hurt.
const maxPayloadRead = 8 << 20

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPayloadRead))
}
