package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// formula is one of Homebrew (https://docs.brew.sh/Formula-Cookbook) that takes the program out of
// an archive. Without an address it takes the archives that lie beside it.
func (r release) formula(programs []program, files map[string][]byte) []byte {
	from, home := r.url, ""
	if from == "" {
		from = "file://#{__dir__}"
	} else {
		home = fmt.Sprintf("  homepage %q\n", from)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "class Starling < Formula\n  desc \"Run scripts that orchestrate agents and never lose the place\"\n%s", home)
	fmt.Fprintf(&b, "  version %q\n  license \"Apache-2.0\"\n", strings.TrimPrefix(r.version, "v"))
	for _, system := range [][2]string{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		fmt.Fprintf(&b, "\n  %s do\n", system[1])
		for _, p := range programs {
			if p.os == system[0] {
				on := map[string]string{"amd64": "on_intel", "arm64": "on_arm"}[p.arch]
				archive := r.name(p) + ".tar.gz"
				fmt.Fprintf(&b, "    %s do\n      url \"%s/%s\"\n      sha256 \"%x\"\n    end\n", on, from, archive, sha256.Sum256(files[archive]))
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(install)
	return []byte(b.String())
}

const install = `
  def install
    bin.install "starling"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/starling.bash" => "starling"
    zsh_completion.install "completions/_starling"
    fish_completion.install "completions/starling.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/starling --version")
    (testpath/"hello.star").write "def main():\n    return 42\n"
    assert_match "42", shell_output("#{bin}/starling run hello.star")
  end
end
`
