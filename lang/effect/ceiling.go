package effect

import "go.starlark.net/starlark"

// Ceiling bounds what the requests below a call of budget may spend together. A bound of 0 is none.
type Ceiling struct {
	Address  string // of the budget within the run: branch path, "budget", "#n" from the second on
	MicroUSD int64  // millionths of a dollar
	Tokens   int64  // read and written
	Calls    int64  // requests sent to agents
	Ask      bool   // open a gate when it is reached, where others fail
}

// CeilingsPayload is a list of ceilings as journals have it, nil for none.
func CeilingsPayload(list []Ceiling) Payload {
	if len(list) == 0 {
		return nil
	}
	rows := make([]starlark.Value, len(list))
	for i, c := range list {
		rows[i] = starlark.NewList([]starlark.Value{starlark.String(c.Address), starlark.MakeInt64(c.MicroUSD), starlark.MakeInt64(c.Tokens),
			starlark.MakeInt64(c.Calls), starlark.Bool(c.Ask)})
	}
	return MustEncode(starlark.NewList(rows))
}

// CeilingsOf reads what [CeilingsPayload] wrote. Rows that it cannot have written are left out.
func CeilingsOf(p Payload) []Ceiling {
	v, err := p.Value()
	rows, ok := v.(*starlark.List)
	if err != nil || !ok {
		return nil
	}
	var list []Ceiling
	for e := range rows.Elements() {
		row, ok := e.(*starlark.List)
		if !ok || row.Len() != 5 {
			continue
		}
		number := func(i int) int64 {
			n, _ := row.Index(i).(starlark.Int)
			x, _ := n.Int64()
			return x
		}
		address, _ := starlark.AsString(row.Index(0))
		list = append(list, Ceiling{Address: address, MicroUSD: number(1), Tokens: number(2), Calls: number(3), Ask: bool(row.Index(4).Truth())})
	}
	return list
}
