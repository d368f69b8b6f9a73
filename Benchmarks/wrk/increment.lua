-- Increments the counter that the URL names.
wrk.method = "POST"

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
