#!/usr/bin/env python3
"""Makes clients in Go and C# from openapi.yaml with openapi-generator, and compiles the one in Go.

    Tests/contract/languages.py

Needs what `scripts/require test languages` installs. Debian has no compiler for C#: only its
functions are looked for. generated.py does more with Python and TypeScript, in less time.
"""

import os
import pathlib
import sys
import tempfile

from generated import CONTRACT, make, missing, run

# Debian's package of the only library that the client uses.
GO = {"GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "/usr/share/gocode"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        go, sharp = folder / "go", folder / "csharp"
        found = make("go", go, CONTRACT) or run(
            "go", "vet", ".", cwd=go, env={**os.environ, **GO, "GOCACHE": str(folder / "cache")})
        found += missing(go.glob("api_*.go"), CONTRACT, lambda name: f") {capital(name)}(")
        found += make("csharp", sharp, CONTRACT)
        found += missing(sharp.glob("src/*/Api/*.cs"), CONTRACT,
                         lambda name: f" {capital(name)}Async(")
    print("\n".join(found) or "ok: clients in Go and C#")
    return 1 if found else 0


def capital(name):
    return name[0].upper() + name[1:]


if __name__ == "__main__":
    sys.exit(main())
