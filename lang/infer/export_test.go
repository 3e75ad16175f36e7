package infer

import "starling/lang/effect"

// FilesInTurns is [Files] that never goes over a function from within another: the same comes of it
// by another way.
func FilesInTurns(files []*File, env *effect.Environment) *Result {
	return inferred(files, env, nil, 0)
}
