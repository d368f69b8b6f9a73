-- GET of the one property that the URL names.

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
