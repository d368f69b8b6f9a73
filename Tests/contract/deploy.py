"""Checks the unit file for systemd and the manifests for Kubernetes in deploy/.

    deploy.py BINARY

Runs with the Python of .build-tools, which has kubernetes-validate and PyYAML. `systemd-analyze`
reads the unit, and says how exposed the service would be, from 0 to 10.
"""

import pathlib
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"
KUBERNETES = "1.31"
# Of systemd's own services, few are below 2.
EXPOSURE_TENTHS_MAX = 20
COMMAND_SECONDS_MAX = 60


def analyze(*arguments):
    found = subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True,
                           text=True, timeout=COMMAND_SECONDS_MAX, check=False)
    return found.returncode, (found.stdout + found.stderr).strip()


def unit_mistakes(text, binary):
    """What systemd says about the text of a unit, with another path of the program."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "latchkey.service"
        unit.write_text(text.replace("/usr/local/bin/latchkey", binary), encoding="utf-8")
        status, said = analyze("verify", "--recursive-errors=no", unit)
        if status != 0 or said:
            yield f"systemd-analyze verify: {said or status}"
        status, said = analyze("security", "--offline=true",
                               f"--threshold={EXPOSURE_TENTHS_MAX}", unit)
        if status != 0:
            yield "systemd-analyze security: " + (said.splitlines() or ["nothing"])[-1]


def manifest_mistakes(text):
    """What the schemas of Kubernetes say, and what the manifests must have besides."""
    documents = list(yaml.safe_load_all(text))
    for document in documents:
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{document.get('kind')}: {error.message}"
    for document in documents:
        pod = document.get("spec", {}).get("template", {}).get("spec")
        for container in pod["containers"] if pod else ():
            rights = container.get("securityContext", {})
            if not rights.get("readOnlyRootFilesystem") \
                    or rights.get("capabilities") != {"drop": ["ALL"]}:
                yield "the container has rights that it can lack"
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if probe not in container:
                    yield f"there is no {probe}"
            pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
            delay = pause.get("seconds")
            if not delay or delay + 10 >= pod.get("terminationGracePeriodSeconds", 0):
                yield "the time to stop is not above the delay and --drain-seconds"


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    unit = (DEPLOY / "latchkey.service").read_text(encoding="utf-8")
    manifest = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    found = [*unit_mistakes(unit, binary), *manifest_mistakes(manifest)]
    planted = {
        "a misspelled setting": unit_mistakes(unit.replace("UMask=", "Umasc="), binary),
        "a unit with rights": unit_mistakes(unit.split("DynamicUser")[0], binary),
        "a misspelled member": manifest_mistakes(manifest.replace("replicas:", "replica:")),
        "a pod without a delay": manifest_mistakes(manifest.replace("seconds: 5", "seconds: 25")),
    }
    found += [f"{name} is overlooked" for name, mistakes in planted.items() if not list(mistakes)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
