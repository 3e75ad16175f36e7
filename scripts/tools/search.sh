#!/bin/sh
# A tool server for web.star that answers as a search engine does, without a network: what it finds stands in found.tsv, a line "WORD TAB URL TAB TITLE" each.
folder=$(dirname "$0")
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }

find() {
    results=$(awk -F '\t' -v query="$(printf '%s' "$1" | tr 'A-Z' 'a-z')" '
        index(query, $1) { printf "%s{\"url\":\"%s\",\"title\":\"%s\"}", (n++ ? "," : ""), $2, $3 }' "$folder/found.tsv")
    say '{"content":[{"type":"text","text":"results"}],"structuredContent":{"results":['"$results"']}}'
}

while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"search","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"brave_web_search","description":"Search the web.","inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}]}' ;;
    *'"name":"brave_web_search"'*) find "$(field query)" ;;
    *) [ -z "$id" ] || say '{}' ;;
    esac
done
