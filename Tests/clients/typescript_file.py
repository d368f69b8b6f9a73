"""Tests clients/typescript/latchkey.ts: the compiler checks it, and Node and Chromium run it."""

import itertools
import pathlib
import re
import socket
import tempfile

from cutting import CuttingProxy
import pages
from process import Failure, Latchkey, create_token, expect, run

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parent.parent / "clients" / "typescript" / "latchkey.ts"
STRICT = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
          "--noImplicitOverride", "--noImplicitReturns", "--noUnusedLocals",
          "--noUnusedParameters", "--noFallthroughCasesInSwitch")
# What is more than a type cannot be stripped, as newer versions of Node do.
NOT_STRIPPED = re.compile(
    r"^\s*(export )?(const )?(enum|namespace) |constructor\([^)]*\b(private|protected|readonly) ",
    re.MULTILINE)

# In a page of another origin.
TRY = """
    const [url, done] = arguments;
    (async () => {
      const { Latchkey, PreconditionFailed } = await import("/module.js");
      const client = new Latchkey(url);
      const found = [await client.put("page", { of: "browser" }, { ifAbsent: true }) > 0];
      await client.put("page", 1, { ifAbsent: true })
        .catch(error => found.push(error instanceof PreconditionFailed));
      found.push((await client.get("page")).value.of);
      for await (const event of client.watch({ prefixes: ["page"], initial: true })) {
        found.push(event.type);
        if (event.type === "ready") await client.increment("pages");
        if (event.name === "pages") break;
      }
      found.push(await client.lock("lock", {}, lease => lease.remaining > 5));
      return found;
    })().then(done, error => done(String(error)));"""


def compile_into(folder):
    if found := NOT_STRIPPED.search(FILE.read_text(encoding="utf-8")):
        raise Failure(f"more than a type: {found[0]}")
    source = folder / "source"
    source.mkdir()
    for path in (FILE, HERE / "typescript_test.ts"):
        (source / path.name).write_bytes(path.read_bytes())
    # Only what both browsers and Node have.
    run("tsc", *STRICT, "--target", "es2022", "--module", "es2022", "--lib",
        "es2022,dom,dom.iterable", "--typeRoots", folder / "none", "--moduleResolution", "node",
        "--outDir", folder / "made", *source.iterdir())
    (folder / "made" / "package.json").write_text('{"type": "module"}')
    return folder / "made"


def try_typescript(binary, browser, log):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = compile_into(folder)
        token = create_token(binary, folder / "lines", "ann", "read,write:a/")
        bounds = itertools.cycle([200, 900, 3000])
        with Latchkey(binary, log=log) as service, \
                CuttingProxy(service.address, lambda: next(bounds)) as proxy, \
                Latchkey(binary, "--history-bytes", "2KiB", log=log) as forgetful, \
                Latchkey(binary, "--token-file", folder / "lines", log=log) as guarded, \
                socket.socket() as nowhere:
            # Not listening, and no other program gets its port.
            nowhere.bind(("127.0.0.1", 0))
            run("node", made / "typescript_test.js", service.url, proxy.url, forgetful.url,
                f"http://127.0.0.1:{nowhere.getsockname()[1]}", guarded.url, token,
                stdout=None, stderr=None)
            if proxy.cut_count < 10:
                raise Failure("the connections were not cut")
        pages.Page.module = (made / "latchkey.js").read_text(encoding="utf-8")
        with pages.Pages() as origin, \
                Latchkey(binary, "--allow-origin", origin.cross_site, log=log) as service:
            browser.open(origin.cross_site)
            found = browser.here("POST", "/execute/async", {"script": TRY, "args": [service.url]})
            expect("what it found in a browser", found,
                   [True, True, "browser", "put", "ready", "put", True])
