package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// bill is CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/): what a program is built of, from
// what it says itself. The standard library is in it, since that has its own vulnerabilities.
func (r release) bill(p program) []byte {
	whole := component{
		Type: "application", Ref: "starling", Name: "starling", Version: r.version,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(p.bytes))}},
	}
	of := []component{library("stdlib", strings.TrimPrefix(strings.Fields(p.info.GoVersion)[0], "go"))}
	for _, m := range p.info.Deps {
		of = append(of, dependency(m))
	}
	uses := dependencies{Ref: whole.Ref}
	for _, c := range of {
		uses.DependsOn = append(uses.DependsOn, c.Ref)
	}
	text, err := json.MarshalIndent(cycloneDX{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata:     metadata{r.time, whole},
		Components:   of,
		Dependencies: []dependencies{uses},
	}, "", " ")
	if err != nil {
		panic(err) // only texts and a time of this era
	}
	return append(text, '\n')
}

type cycloneDX struct {
	Format       string         `json:"bomFormat"`
	SpecVersion  string         `json:"specVersion"`
	Version      int            `json:"version"`
	Metadata     metadata       `json:"metadata"`
	Components   []component    `json:"components"`
	Dependencies []dependencies `json:"dependencies"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Hashes  []hash `json:"hashes,omitempty"`
	Purl    string `json:"purl,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependencies struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// dependency is a module as it was built in: what replaces it, if something does.
func dependency(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return library(m.Path, m.Version)
}

func library(path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: "library", Ref: purl, Name: path, Version: version, Purl: purl}
}
