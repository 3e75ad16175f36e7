#!/bin/sh
# Installs the real tool servers of sql.star, docs.star and web.star with npm, and copies the scripts
# and their database beside them:
#
#   sh servers.sh FOLDER && cd FOLDER && starling run sql.star --fake sql_agents.star
#
# DBHub reads SQLite with the module that Node has since 22.5, so nothing is compiled; where Node is
# older, one is installed beside the servers. fetch reads pages of the web, and none of this machine.
set -e
from=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
to=$(pwd)
[ "$from" != "$to" ] || { echo "want another folder than that of the scripts" >&2; exit 2; }
command -v npm >/dev/null || { echo "npm is not installed: the tool servers come from its registry" >&2; exit 1; }

mkdir -p servers
printf '{"private": true, "allowScripts": {"node": true}}\n' >servers/package.json
(
    cd servers
    npm install --no-audit --no-fund --ignore-scripts --omit=optional \
        @bytebase/dbhub@1.4.0 @modelcontextprotocol/server-filesystem@2026.8.31 mcp-fetch-server@1.1.2
    mkdir -p bin
    if node -e 'require("node:sqlite")' 2>/dev/null; then
        ln -sf "$(command -v node)" bin/node
    else
        npm install --no-audit --no-fund node@24
        ln -sf ../node_modules/node/bin/node bin/node
    fi
)
cp -R "$from"/*.star "$from"/pages "$from"/orders.sql .
rm -f shop.db
servers/bin/node -e '
    const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync("shop.db").exec(require("fs").readFileSync("orders.sql", "utf8"));' 2>/dev/null

cat >dbhub.toml <<TOML
[[sources]]
id = "shop"
dsn = "sqlite://$to/shop.db"

[[tools]]
name = "search_objects"
source = "shop"

[[tools]]
name = "execute_sql"
source = "shop"
readonly = true
max_rows = 100
TOML
cat >starling.toml <<TOML
[tools.db]
command = ["servers/bin/node", "servers/node_modules/@bytebase/dbhub/dist/index.js", "--transport", "stdio", "--config", "dbhub.toml"]
allow = ["search_objects", "execute_sql"]

[tools.files]
command = ["servers/bin/node", "servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "pages"]
allow = ["directory_tree", "read_text_file"]

# With env = ["NODE_USE_ENV_PROXY"], set to 1, it goes through the proxy that HTTP_PROXY names.
[tools.web]
command = ["servers/bin/node", "servers/node_modules/mcp-fetch-server/dist/index.js"]
allow = ["fetch_markdown"]
TOML
echo "installed in $to"
