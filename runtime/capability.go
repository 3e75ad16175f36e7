package runtime

import (
	"slices"
	"strings"

	"starling/lang/diagnostic"
)

// Capability is one thing that a caller may do; several are or-ed.
type Capability uint16

// The capabilities.
const (
	CanDefine    Capability = 1 << iota // keep scripts under names
	CanRun                              // start runs, carry them on, feed sessions
	CanRead                             // see runs, gates, events and contents
	CanSignal                           // answer gates, leave messages and items of queues
	CanCancel                           // end runs
	CanActAs                            // answer in somebody else's name
	CanOverride                         // answer a gate that is for somebody else
	CanAdmin                            // bring a project file of one's own, care for the store, its tokens and its owner
	CanSeeHidden                        // be shown what contracts mark as for agents alone
)

var capabilityNames = []string{"define", "run", "read", "signal", "cancel", "act-as", "override", "admin", "see-hidden"}

// allCapabilities is the name of every one of them together.
const allCapabilities = "all"

// ParseCapabilities reads names of capabilities; "all" is every one of them. A name that is none is
// refused with usage.
func ParseCapabilities(names []string) (Capability, error) {
	var all Capability
	for _, name := range names {
		i := slices.Index(capabilityNames, name)
		switch {
		case name == allCapabilities:
			all |= 1<<len(capabilityNames) - 1
		case i < 0:
			known := CapabilityNames()
			return 0, Refusef(ErrUsage, "got the capability %q, want %s", name, strings.Join(known, ", ")).WithHelp("%s", diagnostic.DidYouMean(name, known))
		default:
			all |= 1 << i
		}
	}
	return all, nil
}

// CapabilityNames are all the names there are.
func CapabilityNames() []string { return append([]string{allCapabilities}, capabilityNames...) }

// Names lists the capabilities.
func (c Capability) Names() []string {
	names := []string{}
	for i, name := range capabilityNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// agentCan is what whoever works for an attempt may do: see, and answer what is targeted at the
// agent.
const agentCan = CanRead | CanSignal

// May tells whether the caller has all of these capabilities.
func (c Caller) May(want Capability) bool {
	switch {
	case c.Name == "":
		return false
	case c.Agent != "":
		return want&^agentCan == 0
	}
	return c.Local || want&^c.Can == 0
}

// Lacks is the refusal of a caller who may not do something, nil for one who may; doing is how the
// refusal calls it.
func (c Caller) Lacks(want Capability, doing string) *Refusal {
	if c.May(want) {
		return nil
	}
	r := Refusef(ErrDenied, "%s may not %s", c, doing)
	if c.Name != "" && c.Agent == "" {
		r.WithHelp("the token needs the capability %s", strings.Join((want&^c.Can).Names(), ", "))
	}
	return r
}

// Capabilities is all that the caller may do.
func (c Caller) Capabilities() (all Capability) {
	for i := range capabilityNames {
		if one := Capability(1 << i); c.May(one) {
			all |= one
		}
	}
	return all
}
