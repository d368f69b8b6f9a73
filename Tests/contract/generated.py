"""Makes clients from openapi.yaml with openapi-generator, compiles them, and calls the service.

A function that a client lacks fails, too: a generator leaves out what it cannot read, and only
warns.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
CONTRACT = TOP / "openapi.yaml"
TOOLS = TOP / ".build-tools" / "python" / "bin"
OPERATION = re.compile(r"^      operationId: (\w+)$", re.MULTILINE)
COMMAND_SECONDS_MAX = 300
# Needed by the compiler of Debian 12, which does not narrow a type by the names of members: to it,
# each member that is tested for has no known type.
STRICT = ("--strict", "--noImplicitAny", "false", "--target", "es2020", "--module", "commonjs",
          "--lib", "es2020,dom", "--typeRoots", "none")


def generate(folder, contract=CONTRACT):
    """Makes `python` and `typescript` in the folder, compiled. Returns the mistakes."""
    return make_python(folder / "python", contract) + make_typescript(folder / "typescript",
                                                                      contract)


def make_python(folder, contract):
    return (make("python", folder, contract, "packageName=latchkey_client")
            or run(sys.executable, "-m", "compileall", "-q", folder / "latchkey_client")
            or missing(folder.glob("latchkey_client/api/*.py"), contract,
                       lambda name: f"def {re.sub(r'(?=[A-Z])', '_', name).lower()}("))


def make_typescript(folder, contract):
    found = make("typescript-fetch", folder, contract)
    if found:
        return found
    shutil.copy(HERE / "calls.ts", folder)
    return (run("tsc", *STRICT, "--outDir", folder / "made", folder / "calls.ts")
            or missing(folder.glob("apis/*.ts"), contract, "async {}(".format))


def make(language, folder, contract, *properties):
    options = [f"--additional-properties={each}" for each in properties]
    return run(TOOLS / "openapi-generator-cli", "generate", "-g", language, "-i", contract, "-o",
               folder, *options)


def missing(files, contract, spelled):
    """The operations that have no function."""
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    return [f"there is no function for {name}"
            for name in OPERATION.findall(contract.read_text(encoding="utf-8"))
            if spelled(name) not in text]


def run(*command, **options):
    """Runs a command. Returns its output if it fails, as sentences."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=COMMAND_SECONDS_MAX, **options)
    if done.returncode == 0:
        return []
    return [f"{command[0]} ends with status {done.returncode}:\n"
            f"{(done.stdout + done.stderr).strip()[-4000:]}"]


def call(folder, url):
    """Runs calls.py and calls.ts with the generated clients. Returns the mistakes."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "python"),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    return (run(TOOLS / "python", HERE / "calls.py", url, env=environment)
            + run("node", folder / "typescript" / "made" / "calls.js", url))


def planted(folder):
    """Whether a member that no language can name is found, in both languages."""
    text = CONTRACT.read_text(encoding="utf-8")
    broken = folder / "broken.yaml"
    member = "        absent: { type: boolean }\n"
    broken.write_text(text.replace(member, member + '        "<": { type: boolean }\n'),
                      encoding="utf-8")
    return (broken.read_text(encoding="utf-8") != text
            and make_python(folder / "broken-python", broken)
            and make_typescript(folder / "broken-typescript", broken))
