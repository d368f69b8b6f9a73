-- Requests without a token that counts, each another one, and how many were answered 401.

answers, refused = 0, 0
local kind = "whole"
local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function init(arguments) kind = arguments[1] end

local function digits(count)
  local text = {}
  for index = 1, count do text[index] = ("%x"):format(math.random(0, 15)) end
  return table.concat(text)
end

function request()
  local headers = {}
  if kind == "whole" then headers["Authorization"] = "Bearer lk_" .. digits(72) end
  if kind == "short" then headers["Authorization"] = "Bearer " .. digits(math.random(0, 9)) end
  if kind == "cookie" then
    headers["Cookie"] = "latchkey-session=" .. digits(64) .. ".9999999999." .. digits(64)
  end
  return wrk.format("GET", nil, headers)
end

function response(status)
  answers = answers + 1
  if status == 401 then refused = refused + 1 end
end

function done()
  local all, right = 0, 0
  for _, thread in ipairs(threads) do
    all, right = all + thread:get("answers"), right + thread:get("refused")
  end
  io.write(("answers %d %d\n"):format(all, right))
end
