-- The requests of wrk, by the first argument, and its figures, as one line of JSON.
--
-- get     GET of the one property that the URL names. One ready request, as for put, costs wrk
--         the least. The second argument of both is the token to send, if any.
-- put     PUT of that property, with a body of 32 bytes.
-- charset The same with a charset in the media type, and
-- patch   a PATCH of it, with a merge patch of as many bytes.
-- merge   A PATCH that changes one member of an object: the section is as long as the object.
-- random  GET of properties chosen at random. The URL names the first part of their names; the
--         second argument is how many there are. With 1 it costs wrk the same.
-- pair    PUTs of two properties, in turn, and
-- transaction  both in one transaction, with the same values.
-- writes  PUTs of 100 bytes to those properties, chosen at random, and
-- etcd    the same to the JSON gateway of etcd, at the URL.
-- mix     Nine GETs to one PUT over those properties, one after the other.

local body = '"abcdefghijklmnopqrstuvwxyz0123"'
local headers = { ["Content-Type"] = "application/json" }

-- Both kinds call a function for each request, so that they cost wrk the same.
local function send_pairs(kind)
  local first, second
  if kind == "pair" then
    first = wrk.format("PUT", wrk.path .. 0, headers, body)
    second = wrk.format("PUT", wrk.path .. 1, headers, body)
  else
    local step = '{"put":"pair%d","value":' .. body .. '}'
    first = wrk.format("POST", "/v1/transactions", headers,
      '{"then":[' .. step:format(0) .. ',' .. step:format(1) .. ']}')
    second = first
  end
  local is_second = true
  function request()
    is_second = not is_second
    return is_second and second or first
  end
end

local function send_writes(kind, count)
  local requests = {}
  for index = 1, count do
    if kind == "writes" then
      requests[index] = wrk.format("PUT", wrk.path .. (index - 1), headers,
        '"' .. string.rep("x", 98) .. '"')
    else
      -- Base64 of a name of 12 bytes, and of 100 times "x" with the padding that it has.
      local name = ("%016d"):format(index)
      requests[index] = wrk.format("POST", wrk.path, headers,
        '{"key":"' .. name .. '","value":"' .. string.rep("eHh4", 33) .. 'eA=="}')
    end
  end
  function request() return requests[math.random(count)] end
end

-- Method and media type.
local writes = {
  put = { "PUT", "application/json" },
  charset = { "PUT", "application/json; charset=utf-8" },
  patch = { "PATCH", "application/merge-patch+json" },
  merge = { "PATCH", "application/merge-patch+json" },
}

function init(arguments)
  local kind, count = arguments[1], tonumber(arguments[2] or 1)
  if writes[kind] then
    wrk.method, wrk.headers["Content-Type"] = writes[kind][1], writes[kind][2]
    wrk.body = kind == "merge" and '{"m0":' .. body .. '}' or body
  end
  if kind == "get" or writes[kind] then
    if arguments[2] then wrk.headers["Authorization"] = "Bearer " .. arguments[2] end
    return
  end
  if kind == "pair" or kind == "transaction" then
    return send_pairs(kind)
  end
  if kind == "writes" or kind == "etcd" then
    return send_writes(kind, count)
  end
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

-- Pairs of microseconds and a count; values that differ by less than 1 % are one pair.
local function histogram(latency)
  local pairs, last = {}, nil
  for index = 1, #latency do
    local value, count = latency(index)
    if last and value <= last[1] * 1.01 then
      last[2] = last[2] + count
    else
      last = { value, count }
      pairs[#pairs + 1] = last
    end
  end
  for index, pair in ipairs(pairs) do pairs[index] = ("[%d,%d]"):format(pair[1], pair[2]) end
  return "[" .. table.concat(pairs, ",") .. "]"
end

function done(summary, latency)
  local errors = summary.errors
  local line = [[{"requests":%d,"seconds":%.6f,"connect":%d,"read":%d,"write":%d,"timeout":%d,]]
    .. [["status":%d,"p50Microseconds":%.0f,"p99Microseconds":%.0f,"maxMicroseconds":%.0f,]]
    .. [["histogram":%s}]]
  io.write(line:format(
    summary.requests, summary.duration / 1e6, errors.connect, errors.read, errors.write,
    errors.timeout, errors.status, latency:percentile(50), latency:percentile(99),
    latency.max, histogram(latency)), "\n")
end
