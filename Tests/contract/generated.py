"""Generates a client from openapi.yaml with openapi-python-client, and calls the service with it.

A warning of the generator fails: it leaves out the endpoints that it cannot read, and only warns.
"""

import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CONTRACT = HERE.parent.parent / "openapi.yaml"
OPERATION = re.compile(r"^      operationId: (\w+)$", re.MULTILINE)
COMMAND_SECONDS_MAX = 300


def generate(generator, folder, contract=CONTRACT):
    """Makes the package `latchkey_client` in the folder. Returns what is wrong, as sentences."""
    package = folder / "latchkey_client"
    done = subprocess.run(
        [generator, "generate", "--path", contract, "--output-path", package, "--meta", "none",
         "--config", HERE / "client.yaml", "--fail-on-warning"],
        capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False)
    printed = (done.stdout + done.stderr).strip()
    if done.returncode != 0 or re.search("warning|error", printed, re.IGNORECASE):
        return [f"the generator ends with status {done.returncode}:\n{printed[-4000:]}"]
    made = {path.stem for path in package.glob("api/*/*.py")}
    return [f"there is no function for {name}"
            for name in OPERATION.findall(contract.read_text(encoding="utf-8"))
            if re.sub(r"(?=[A-Z])", "_", name).lower() not in made]


def call(python, folder, url):
    """Runs calls.py with the generated package. Returns what is wrong, as sentences."""
    done = subprocess.run(
        [python, HERE / "calls.py", url], capture_output=True, text=True, check=False,
        timeout=COMMAND_SECONDS_MAX,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode == 0:
        return []
    return [f"status {done.returncode}:\n{(done.stdout + done.stderr).strip()[-4000:]}"]


def planted(generator, folder):
    """Whether a description that costs an endpoint is refused."""
    text = CONTRACT.read_text(encoding="utf-8")
    pattern = re.compile(r"(    Condition:\n(?:      .*\n)*?)      anyOf:\n(?:        .*\n)+")
    broken = folder / "broken.yaml"
    broken.write_text(
        pattern.sub(r"\1      anyOf: [{ const: '*' }, { pattern: '^W' }]\n", text),
        encoding="utf-8")
    return broken.read_text(encoding="utf-8") != text and bool(
        generate(generator, folder / "broken", broken))
