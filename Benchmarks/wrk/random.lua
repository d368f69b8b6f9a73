-- GET of properties chosen at random. The URL names the first part of the properties' names; the
-- argument is how many there are. With 1 it costs wrk the same and asks for one property only.

local texts = {}
local count = 0

function init(arguments)
  count = tonumber(arguments[1] or 1)
  for index = 0, count - 1 do
    texts[index + 1] = wrk.format("GET", wrk.path .. index)
  end
end

function request()
  return texts[math.random(count)]
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
