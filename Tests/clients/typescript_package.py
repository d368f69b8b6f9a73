"""Tests the package clients/typescript: the compiler checks it, and Node and Chromium run it."""

import itertools
import pathlib
import re
import shutil
import socket
import tempfile

from faulty import FaultyProxy
import pages
from process import Failure, Latchkey, create_token, expect, run

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "clients" / "typescript"
STRICT = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
          "--noImplicitOverride", "--noImplicitReturns", "--noUnusedLocals",
          "--noUnusedParameters", "--noFallthroughCasesInSwitch")
# Newer versions of Node strip types; these are more than types, so they cannot be stripped.
NOT_STRIPPED = re.compile(
    r"^\s*(export )?(const )?(enum|namespace) |constructor\([^)]*\b(private|protected|readonly) ",
    re.MULTILINE)
LINES_MAX = 400

# A program that uses the installed package.
PROGRAM = """
    import { Latchkey, type Property } from "latchkey";
    declare const process: { argv: string[] };
    const client = new Latchkey(process.argv[2]);
    await client.increment("packed", 2n);
    const found: Property<number> = await client.get<number>("packed");
    console.log(found.value);
    await client.close();
    """

# For a page of another origin.
TRY = """
    const [url, done] = arguments;
    (async () => {
      const { Latchkey, PreconditionFailed } = await import("/latchkey/index.js");
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

# A browser has six connections to a host.
WATCH = """
    const [url, done] = arguments;
    (async () => {
      const { Latchkey } = await import("/latchkey/index.js");
      const client = new Latchkey(url);
      const abort = new AbortController();
      const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
      const names = await Promise.all(numbers.map(async number => {
        const watch = client.watch({ prefixes: [`shared/${number}/`], initial: number % 2 === 0 });
        const events = [];
        const first = watch.next();
        for (let at = 0; at < 9; at += 1) {
          await client.put(`shared/${number}/${at}`, at);
        }
        for (let event = await first; ; event = await watch.next()) {
          if (event.value.type === "put") events.push(event.value.name);
          if (event.value.name === `shared/${number}/8`) return [watch, events];
        }
      }));
      await client.put("shared", 1);
      return names.map(([, events]) => events.pop());
    })().then(done, error => done(String(error)));"""

# For an origin that the service does not allow: a browser does not tell the reason.
REFUSED = """
    const [url, done] = arguments;
    (async () => {
      const { Latchkey } = await import("/latchkey/index.js");
      const client = new Latchkey(url, { patience: 0.5 });
      const put = client.put("refused", 1).catch(error => error.name);
      const watch = client.watch().next().catch(error => error.name);
      return [await put, await watch];
    })().then(done, error => done(String(error)));"""


def compile_into(folder, *programs):
    """Compiles the package, and programs that use it, into a folder. Returns the folder."""
    source, made = folder / "source", folder / "made"
    shutil.copytree(PACKAGE / "src", source / "latchkey")
    for path in (source / "latchkey").iterdir():
        text = path.read_text(encoding="utf-8")
        if found := NOT_STRIPPED.search(text):
            raise Failure(f"{path.name}: more than a type: {found[0]}")
        if text.count("\n") > LINES_MAX:
            raise Failure(f"{path.name} has more than {LINES_MAX} lines")
    for path in programs:
        shutil.copy(path, source)
    # Only what browsers and Node both have; types are imported as types.
    run("tsc", *STRICT, "--isolatedModules", "--preserveValueImports",
        "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom,dom.iterable",
        "--typeRoots", folder / "none", "--moduleResolution", "node", "--outDir", made,
        *source.glob("*.ts"))
    (made / "package.json").write_text('{"type": "module"}')
    return made


def build_driver(folder):
    """Builds package and driver in a folder. Returns the words of the command that runs it."""
    made = compile_into(pathlib.Path(folder), HERE / "drivers" / "typescript_driver.ts")
    return ["node", str(made / "typescript_driver.js")]


def try_typescript(binary, browser, log):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = compile_into(folder, *HERE.glob("typescript_*.ts"))
        token = create_token(binary, folder / "lines", "ann", "read,write:a/")
        bounds = itertools.cycle([200, 900, 3000])
        with Latchkey(binary, log=log) as service, \
                FaultyProxy(service.address, lambda: next(bounds)) as proxy, \
                Latchkey(binary, "--history-bytes", "2KiB", log=log) as forgetful, \
                Latchkey(binary, "--token-file", folder / "lines", log=log) as guarded, \
                socket.socket() as nowhere:
            # Bound but not listening, so that no other program gets its port.
            nowhere.bind(("127.0.0.1", 0))
            run("node", made / "typescript_test.js", service.url, proxy.url, forgetful.url,
                f"http://127.0.0.1:{nowhere.getsockname()[1]}", guarded.url, token,
                stdout=None, stderr=None)
            if proxy.cut_count < 10:
                raise Failure("the connections were not cut")
            try_package(folder / "packed", service)
        try_pages(binary, browser, made, log)


def try_package(folder, service):
    """A program with types uses the package as it is installed."""
    run(PACKAGE.parent.parent / "scripts" / "pack-typescript", folder)
    [packed] = folder.glob("latchkey-*.tgz")
    installed = folder / "node_modules" / "latchkey"
    installed.mkdir(parents=True)
    run("tar", "-xzf", packed, "-C", installed, "--strip-components=1")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "program.ts").write_text(PROGRAM)
    run("tsc", *STRICT, "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom",
        "--moduleResolution", "node", "--typeRoots", folder / "none",
        folder / "program.ts")
    expect("what the program prints", run("node", folder / "program.js", service.url), "2\n")


def try_pages(binary, browser, made, log):
    pages.Page.modules = {f"/latchkey/{path.name}": path.read_text(encoding="utf-8")
                          for path in (made / "latchkey").iterdir()}

    def found(script):
        browser.open(origin.cross_site)
        return browser.here("POST", "/execute/async", {"script": script, "args": [service.url]})

    with pages.Pages() as origin, \
            Latchkey(binary, "--allow-origin", origin.cross_site, log=log) as service:
        expect("what it found in a browser", found(TRY),
               [True, True, "browser", "put", "ready", "put", True])
        expect("the last event of eight watches", found(WATCH),
               [f"shared/{number}/8" for number in range(8)])
    with pages.Pages() as origin, Latchkey(binary, log=log) as service:
        expect("what a browser says of a refused origin", found(REFUSED),
               ["Unreachable", "Unreachable"])
