package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// definitionRow is a version as the store has it.
type definitionRow struct {
	runtime.Definition
	Key string `json:"key,omitempty"`
}

func definitionKey(name string, version int) []byte {
	return binary.BigEndian.AppendUint32([]byte(journal.PrefixDefinition+name+"/"), uint32(version))
}

// Define keeps a script under a name.
func (e *Local) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	if err := need(ctx, runtime.CanDefine, "define scripts"); err != nil {
		return nil, err
	}
	if err := runtime.CheckDefinitionName(r.Name); err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "define: %v", err)
	}
	hash := journal.HashOf(r.Bundle)
	p, err := e.programs.of(hash, func() ([]byte, error) { return r.Bundle, nil })
	if err != nil {
		return nil, run.CheckFailed(err)
	}
	release := e.hold(journal.PrefixDefinition + r.Name)
	defer release()
	versions, err := e.versions(r.Name)
	if err != nil {
		return nil, err
	}
	if d, err := known(versions, r, hash); d != nil || err != nil {
		return d, err
	}
	if err := mayReplace(runtime.CallerOf(ctx), versions); err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		if err := e.mayTake(runtime.CallerOf(ctx), r.Name); err != nil {
			return nil, err
		}
	}
	d := runtime.Definition{Name: r.Name, Version: len(versions) + 1, Script: p.Bundle.Entry().Name, Bundle: hash, Program: fmt.Sprintf("%x", p.Code.Hash),
		By: runtime.CallerOf(ctx).Name, At: e.now(), Foreign: !runtime.CallerOf(ctx).May(runtime.CanAdmin)}
	row, err := json.Marshal(definitionRow{d, r.Key})
	if err != nil {
		return nil, err
	}
	_, named := e.reference(map[string][]byte{hash: r.Bundle})
	err = e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: definitionKey(d.Name, d.Version), Value: row}, {Key: []byte(journal.PrefixBlob + hash), Value: r.Bundle}}})
	named(err)
	return &d, err
}

// mayReplace refuses a further version to anybody but who made the newest one, or an admin: others
// run a name for what they know it to be, and a project grants to it what that needs. A version
// that was made by an admin, or by nobody that is known, belongs to admins.
func mayReplace(c runtime.Caller, versions []definitionRow) error {
	if len(versions) == 0 || c.May(runtime.CanAdmin) {
		return nil
	}
	newest := versions[0]
	if newest.Foreign && newest.By == c.Name {
		return nil
	}
	by := cmp.Or(newest.By, "the local user")
	return runtime.Refusef(runtime.ErrDenied, "%s may not define %s: %s was made by %s", c, newest.Name,
		newest.Address(), by).WithHelp("take another name, or have %s or an admin define it", by)
}

// mayTake refuses a free name to somebody whom the project does not name for it, where it grants
// something to the name: whoever takes it has that. An agent may have changed the file, so what it
// was when it was trusted counts as well.
func (e *Local) mayTake(c runtime.Caller, name string) error {
	if e.opts.Reserves == nil || c.May(runtime.CanAdmin) {
		return nil
	}
	settings, err := e.project()
	if err != nil {
		return err
	}
	trusted := *settings
	if _, now, err := compareTrust(e.store, e.opts.Named, settings); err != nil {
		return err
	} else if now.Was != nil {
		trusted.Project = now.Was
	}
	if !e.opts.Reserves(settings, name, c.Name) && !e.opts.Reserves(&trusted, name, c.Name) {
		return nil
	}
	return runtime.Refusef(runtime.ErrDenied, "%s may not define %s: the project grants something to that name, and "+
		"does not say that %s defines it", c, name, c).
		WithHelp("have an admin define it, or write by = [%q] under [grants.%s]", c.Name, name)
}

// known finds the version that a request has made before, or need not make: the newest has its
// text.
func known(versions []definitionRow, r runtime.DefineRequest, hash string) (*runtime.Definition, error) {
	i := slices.IndexFunc(versions, func(v definitionRow) bool { return r.Key != "" && v.Key == r.Key })
	switch {
	case i >= 0 && versions[i].Bundle != hash:
		return nil, runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used to define another script as %s", r.Key, versions[i].Address()).WithHelp("use a new key for a new request")
	case i < 0 && len(versions) > 0 && versions[0].Bundle == hash:
		i = 0
	case i < 0:
		return nil, nil
	}
	d := versions[i].Definition
	d.Known = true
	return &d, nil
}

// versions reads the versions of a name, the newest first.
func (r *reader) versions(name string) ([]definitionRow, error) {
	var rows []definitionRow
	err := journal.Scan(r.store, journal.PrefixDefinition+name+"/", func(_ string, v []byte) error {
		var row definitionRow
		if err := json.Unmarshal(v, &row); err != nil {
			return fmt.Errorf("%w: a version of the definition %s: %v", runtime.ErrDamaged, name, err)
		}
		rows = append(rows, row)
		return nil
	})
	slices.Reverse(rows)
	return rows, err
}

// Defined lists definitions.
func (r *reader) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	if err := need(ctx, runtime.CanRead, "see definitions"); err != nil {
		return nil, err
	}
	if address == "" {
		return r.newestDefinitions()
	}
	return r.definitions(address)
}

// definitions are all versions of NAME, the newest first, or the one that is NAME@VERSION; at least
// one.
func (r *reader) definitions(address string) ([]runtime.Definition, error) {
	name, version, pinned := strings.Cut(address, "@")
	rows, err := r.versions(name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, r.undefined(name)
	}
	found := []runtime.Definition{}
	for _, row := range rows {
		if !pinned || strconv.Itoa(row.Version) == version {
			found = append(found, row.Definition)
		}
	}
	if len(found) == 0 {
		return nil, runtime.Refusef(runtime.ErrUnknownDefinition, "%s has no version %q; the newest is %s", name, version, rows[0].Address()).
			WithHelp("list them with: starling define %s", name).WithCall("without @VERSION it is the newest")
	}
	return found, nil
}

func (r *reader) undefined(name string) *runtime.Refusal {
	return runtime.Refusef(runtime.ErrUnknownDefinition, "no script is defined as %q", name).
		WithHelp("starling define lists the names; a file's name ends with %s or has a slash", runtime.ScriptSuffix).
		WithCall("define keeps a script under a name; a file's name ends with %s or has a slash", runtime.ScriptSuffix)
}

// definedAs finds the definition whose sources a script has, if it goes by the name of one:
// NAME@VERSION.
func (r *reader) definedAs(script, bundle string) (*runtime.Definition, error) {
	name, version, found := strings.Cut(script, "@")
	if !found || runtime.CheckDefinitionName(name) != nil {
		return nil, nil
	}
	rows, err := r.versions(name)
	i := slices.IndexFunc(rows, func(row definitionRow) bool { return strconv.Itoa(row.Version) == version && row.Bundle == bundle })
	if err != nil || i < 0 {
		return nil, err
	}
	return &rows[i].Definition, nil
}

// newestDefinitions lists the newest version of each name, in the order of names.
func (r *reader) newestDefinitions() ([]runtime.Definition, error) {
	found := []runtime.Definition{}
	err := journal.Scan(r.store, journal.PrefixDefinition, func(_ string, v []byte) error {
		var row definitionRow
		if err := json.Unmarshal(v, &row); err != nil {
			return fmt.Errorf("%w: a definition: %v", runtime.ErrDamaged, err)
		}
		if n := len(found); n > 0 && found[n-1].Name == row.Name {
			found = found[:n-1]
		}
		found = append(found, row.Definition)
		return nil
	})
	return found, err
}

var _, _ runtime.Definitions = (*Local)(nil), (*readOnly)(nil)
