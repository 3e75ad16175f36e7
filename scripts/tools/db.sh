#!/bin/sh
# A tool server for sql.star: a toy database, whose tables are the CSV files of the folder. `select` answers "select COLUMN, count(*) from TABLE group by COLUMN" and nothing else;
# `execute` would drop a table, and is what nobody may call. It speaks the Model Context Protocol on standard input and output.
folder=$(dirname "$0")
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
answer() { say '{"content":[{"type":"text","text":"'"$1"'"}],"structuredContent":'"$2"'}'; }
wrong() { say '{"content":[{"type":"text","text":"'"$1"'"}],"isError":true}'; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{%s}}}' "$1" "$2" "$3"; }

count() {
    query=$(printf '%s' "$1" | tr 'A-Z' 'a-z')
    column=$(printf '%s' "$query" | sed -n 's/^select \([a-z]*\), count(\*) from \([a-z]*\) group by \1$/\1/p')
    table=$(printf '%s' "$query" | sed -n 's/^.* from \([a-z]*\) group by .*$/\1/p')
    [ -n "$column" ] && [ -f "$folder/$table.csv" ] || { wrong 'syntax error: want select COLUMN, count(*) from TABLE group by COLUMN'; return; }
    rows=$(awk -F, -v column="$column" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
        at { if (!($at in n)) order[++kinds] = $at; n[$at]++ }
        END { for (i = 1; i <= kinds; i++) printf "%s{\"value\":\"%s\",\"count\":%d}", (i > 1 ? "," : ""), order[i], n[order[i]] }' "$folder/$table.csv")
    [ -n "$rows" ] || { wrong "no column $column in $table"; return; }
    answer "rows of $table" '{"rows":['"$rows"']}'
}

while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"db","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":['"$(tool describe 'Tables with their columns.' ''),$(tool select 'Ask, and change nothing.' '"query":{"type":"string"}'),$(tool execute 'Change the database.' '"statement":{"type":"string"}')"']}' ;;
    *'"name":"describe"'*) answer "$(cd "$folder" && for t in *.csv; do printf '%s(%s) ' "${t%.csv}" "$(head -1 "$t")"; done)" '{}' ;;
    *'"name":"select"'*) count "$(field query)" ;;
    *'"name":"execute"'*) rm -f "$folder"/*.csv; answer 'done' '{}' ;;
    *) [ -z "$id" ] || say '{}' ;;
    esac
done
