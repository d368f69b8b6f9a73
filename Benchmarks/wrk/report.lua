-- Prints what wrk measured as one line of JSON. Every script here ends with it.

local line = [[{"requests":%d,"seconds":%.6f,"connect":%d,"read":%d,"write":%d,"timeout":%d,]]
  .. [["status":%d,"p50Microseconds":%.0f,"p99Microseconds":%.0f}]]

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(line:format(
    summary.requests, summary.duration / 1e6, errors.connect, errors.read, errors.write,
    errors.timeout, errors.status, latency:percentile(50), latency:percentile(99)), "\n")
end
