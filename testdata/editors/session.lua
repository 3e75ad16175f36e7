-- A session of Neovim without a screen:
--
--	nvim --headless -u NONE -c 'luafile session.lua'
--
-- STARLING is the program, OUT the file in which it writes one line for each thing that it asks for.
local out = io.open(os.getenv("OUT"), "w")
local function tell(what, value)
  out:write(what .. ": " .. tostring(value) .. "\n")
  out:flush()
end

local ok, why = pcall(function()
  vim.cmd("edit review.star")
  local client = vim.lsp.start_client({ name = "starling", cmd = { os.getenv("STARLING"), "lsp" }, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, client)
  local function ready() return vim.lsp.buf_get_clients(0)[client] ~= nil and vim.lsp.get_client_by_id(client).initialized end
  tell("attached", vim.wait(20000, ready))

  local function find(text)
    for i, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
      local from, to = line:find(text, 1, true)
      if from then return { i, to } end
    end
  end
  local function params(behind)
    local at = find(behind)
    vim.api.nvim_win_set_cursor(0, { at[1], at[2] - 1 })
    local p = vim.lsp.util.make_position_params(0, "utf-16")
    p.position.character = at[2]
    return p
  end
  local function ask(method, p)
    local answers = vim.lsp.buf_request_sync(0, method, p, 20000)
    return answers[client].result
  end

  local at = find("d.choice")
  vim.api.nvim_buf_set_text(0, at[1] - 1, at[2] - 6, at[1] - 1, at[2], { "chioce" })
  tell("diagnostic", vim.wait(20000, function() return #vim.diagnostic.get(0) == 1 end) and vim.diagnostic.get(0)[1].code)
  vim.cmd("undo")
  tell("mended", vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end))
  local found = false
  for _, item in ipairs(ask("textDocument/completion", params("if d.")).items) do
    found = found or item.label == "choice"
  end
  tell("completion", found)
  tell("hover", ask("textDocument/hover", params("prompt = sho")).contents.value:find("Say it louder") ~= nil)
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { "x=1" })
  vim.lsp.buf.formatting_sync(nil, 20000)
  tell("laid out", vim.api.nvim_buf_get_lines(0, 0, 1, false)[1])
end)
if not ok then tell("error", why) end
out:close()
vim.cmd("qall!")
