// Package mutant is starling test --mutate: it plays tests against scripts of which one place has
// been changed, and reports which changes no test notices. The changes are made by lang/mutate.
package mutant
