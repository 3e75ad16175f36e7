#!/bin/sh
# A tool server that plays what a real one has said: sh played.sh RECORDING. A recording has lines
# "> METHOD PARAMS" and, behind each, "< ANSWER", byte for byte but for the id. What is not on it is
# an error that says so. servers.sh installs the real ones.
tape=$1
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    method=$(printf '%s' "$line" | sed -n 's/^[^{]*{"jsonrpc":"2.0","id":[0-9]*,"method":"\([^"]*\)".*/\1/p')
    asked=$method
    [ "$method" != tools/call ] || asked="$method ${line#*'"params":'}"
    printf '> %s\n' "$asked" | awk -v id="$id" -v tape="$tape" '{
        while ((getline on < tape) > 0)
            if (on == $0 || on "}" == $0) {
                getline on < tape; sub(/"id":ID/, "\"id\":" id, on); print substr(on, 3); found = 1; exit
            }
    } END {
        if (!found) printf "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"%s does not have this on it; sh servers.sh FOLDER installs the real server\"}}\n", id, tape
    }'
done
