package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// RefusalOf turns any error into a refusal that helps who has tools. Diagnostics are rendered with
// their source, for a model reads them as people do.
func RefusalOf(err error) *runtime.Refusal {
	var list diagnostic.List
	var one diagnostic.Diagnostic
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = diagnostic.List{one}
	default:
		return runtime.AsRefusal(err).ForTools()
	}
	kind := runtime.ErrCheckFailed
	if own := runtime.ErrorKind(list[0].Kind); own == runtime.ErrBadInput || own == runtime.ErrUsage {
		kind = own
	}
	r := runtime.Refuse(kind, list[0].Hint, "%s", check.Render(list...))
	r.Data, _ = json.Marshal(list) // plain data
	return r
}

// badCall refuses the arguments of a tool.
func badCall(tool string, wrong contract.Violations) *runtime.Refusal {
	r := runtime.Refuse(runtime.ErrUsage, fmt.Sprintf("the schema of %s is in tools/list; over HTTP in /openapi.json", tool), "%s: %s", tool, wrong.Error())
	r.Data, _ = json.Marshal(wrong) // plain data
	return r
}
