-- PUT of the one property that the URL names, with a body of 32 bytes.
wrk.method = "PUT"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '"abcdefghijklmnopqrstuvwxyz0123"'

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
