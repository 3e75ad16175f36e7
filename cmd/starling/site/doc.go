// Package site makes pages of what is known: the commands, the names of the language, contracts,
// starling.toml, the library, the gallery, and the texts of docs.
//
// A site is a set of files that link to each other and to nothing else. It can be written into a
// folder ([Site.Write]), served ([Site.Handler]), and searched in a terminal ([Search]). Every page
// is complete without scripts: the one script there is looks for words where no server does it.
package site
