-- What wrk sends, by the first argument, and what it measured, as one line of JSON.
--
-- get     GET of the one property that the URL names. One ready request, as for put, costs wrk
--         the least.
-- put     PUT of that property, with a body of 32 bytes.
-- random  GET of properties chosen at random. The URL names the first part of their names; the
--         second argument is how many there are. With 1 it costs wrk the same.
-- mix     Nine GETs to one PUT over those properties, one after the other.

local body = '"abcdefghijklmnopqrstuvwxyz0123"'
local headers = { ["Content-Type"] = "application/json" }

function init(arguments)
  local kind, count = arguments[1], tonumber(arguments[2] or 1)
  if kind == "put" then
    wrk.method, wrk.headers["Content-Type"], wrk.body = "PUT", headers["Content-Type"], body
  end
  if kind == "get" or kind == "put" then return end
  local gets, puts, sent = {}, {}, 0
  for index = 1, count do
    local path = wrk.path .. (index - 1)
    gets[index] = wrk.format("GET", path)
    if kind == "mix" then puts[index] = wrk.format("PUT", path, headers, body) end
  end
  if kind == "random" then
    function request() return gets[math.random(count)] end
  else
    function request()
      sent = sent + 1
      -- 7 has no divisor in common with the usual counts, so that every property is used.
      return (sent % 10 == 0 and puts or gets)[sent * 7 % count + 1]
    end
  end
end

function done(summary, latency)
  local errors = summary.errors
  local line = [[{"requests":%d,"seconds":%.6f,"connect":%d,"read":%d,"write":%d,"timeout":%d,]]
    .. [["status":%d,"p50Microseconds":%.0f,"p99Microseconds":%.0f}]]
  io.write(line:format(
    summary.requests, summary.duration / 1e6, errors.connect, errors.read, errors.write,
    errors.timeout, errors.status, latency:percentile(50), latency:percentile(99)), "\n")
end
