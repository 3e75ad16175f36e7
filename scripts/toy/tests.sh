#!/bin/sh
# The tests of price.sh in the Test Anything Protocol, and how many of its commands they ran: sh -x tells which.
n=0
failed=0
try() { # NAME WANT COMMAND...
    name=$1 want=$2
    shift 2
    n=$((n + 1))
    got=$({ sh -x -c '. ./price.sh; "$@"' price "$@"; } 2>>"$trace")
    if [ "$got" = "$want" ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        echo "# got $got, want $want"
        failed=1
    fi
}

trace=$(mktemp "${TMPDIR:-.}/trace.XXXXXX")
try "price times count" 300 total 100 3 0
try "the rebate is taken off" 250 total 100 3 50
echo "1..$n"

commands=$(grep -c '^ *echo' price.sh)
ran=$(grep '^+ echo' "$trace" | sed 's/[0-9-][0-9]*$//; s/ 0$/zero/' | sort -u | wc -l)
echo "# coverage: $((100 * ran / commands)).0%"
rm -f "$trace"
exit $failed
