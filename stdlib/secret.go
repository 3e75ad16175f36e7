package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/secret"
)

// secretsModule gives references and never values, for what a script holds goes into snapshots and
// journals. The value is looked up where the request is performed.
func secretsModule() []*effect.Builtin {
	return []*effect.Builtin{{
		FullName: "secrets.get",
		Doc: "A reference to a secret that starling.toml declares, for the headers of a request. The script never has its value: that is looked up when the request is " +
			"performed, and is in no journal. It refuses to be shown, compared and put into a text but by wrap.",
		Params: []effect.Param{{Name: "name", Type: "string", Doc: "The name under [secrets]."}},
		Result: "secret",
		Pure: func(c *effect.Call) (starlark.Value, error) {
			name := c.Text("name", "")
			if err := effect.CheckName(name); err != nil {
				return nil, wrong(c, "name", "%w", err)
			}
			return &effect.Secret{Name: name}, nil
		},
	}}
}

// usableSecrets refuses a request with a secret that the project does not declare, or that is not
// the script's to use.
func usableSecrets(s *effect.Settings, args effect.View) *effect.Error {
	headers, _ := args.Value("headers").(*starlark.Dict)
	if headers == nil {
		return nil
	}
	for _, v := range headers.Entries() {
		ref, ok := v.(*effect.Secret)
		if !ok {
			continue
		}
		if s.Grant != "" {
			return effect.Errorf(effect.KindDenied, "the script is not the project's own: it cannot use the secret %s", ref.Name)
		}
		if _, err := secret.Declared(s, ref.Name); err != nil {
			return effect.Errorf(effect.KindRefused, "%v", err)
		}
	}
	return nil
}
