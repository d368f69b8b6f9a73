-- Nine GETs to one PUT over a number of properties in turn. The URL names the first part of the
-- properties' names; the argument is how many there are.

local texts = {}
local count = 0
local turn = 0

function init(arguments)
  count = tonumber(arguments[1] or 1)
  local headers = { ["Content-Type"] = "application/json" }
  for index = 0, count - 1 do
    local path = wrk.path .. index
    texts[#texts + 1] = {
      get = wrk.format("GET", path),
      put = wrk.format("PUT", path, headers, '"abcdefghijklmnopqrstuvwxyz0123"'),
    }
  end
end

function request()
  turn = turn + 1
  -- 7 has no divisor in common with the usual counts, so that every property gets its turn.
  local text = texts[turn * 7 % count + 1]
  return turn % 10 == 0 and text.put or text.get
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
