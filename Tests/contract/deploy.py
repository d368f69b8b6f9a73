"""Checks the unit file for systemd, the manifests for Kubernetes and the files for compose.

    deploy.py BINARY

Runs with the Python of .build-tools, which has kubernetes-validate and PyYAML. `systemd-analyze`
reads the unit, and rates the exposure of the service, from 0 to 10. The files that add TLS to each
of them are put on top, and both together are checked as well.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import compose
import kubernetes_validate
import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = TOP / "deploy"
# The members that identify the rows of a list, in a patch for Kubernetes.
KEYS = ("mountPath", "containerPort", "name")
KUBERNETES = "1.31"
# Few of systemd's own services are below 2.
EXPOSURE_TENTHS_MAX = 20
COMMAND_SECONDS_MAX = 120


def analyze(*arguments):
    found = subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True,
                           text=True, timeout=COMMAND_SECONDS_MAX, check=False)
    return found.returncode, (found.stdout + found.stderr).strip()


def merged(base, patch):
    """A text of YAML with a patch on top, as Kubernetes and compose merge them."""
    if isinstance(base, dict) and isinstance(patch, dict):
        both = {key: merged(base[key], patch[key]) for key in base.keys() & patch.keys()}
        return {**base, **patch, **both}
    if isinstance(base, list) and isinstance(patch, list):
        rows = {row_key(row): row for row in base}
        for row in patch:
            key = row_key(row)
            rows[key] = merged(rows[key], row) if key in rows else row
        return list(rows.values())
    return patch


def row_key(row):
    """The member that names a row; for compose's `FROM:TO`, the mount point."""
    if isinstance(row, dict):
        return next(row[key] for key in KEYS if key in row)
    return str(row).split(":")[1] if ":" in str(row) else row


def unit_mistakes(text, binary, addition=""):
    """The findings of systemd for the text of a unit, with another path of the program."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "latchkey.service"
        if addition:
            (unit.parent / "latchkey.service.d").mkdir()
            (unit.parent / "latchkey.service.d" / "tls.conf").write_text(addition,
                                                                         encoding="utf-8")
        unit.write_text(text.replace("/usr/local/bin/latchkey", binary), encoding="utf-8")
        status, said = analyze("verify", "--recursive-errors=no", unit)
        if status != 0 or said:
            yield f"systemd-analyze verify: {said or status}"
        status, said = analyze("security", "--offline=true",
                               f"--threshold={EXPOSURE_TENTHS_MAX}", unit)
        if status != 0:
            yield "systemd-analyze security: " + (said.splitlines() or ["nothing"])[-1]


def manifest_mistakes(text, patch="", scheme="HTTP"):
    """The findings by the schemas of Kubernetes, and other requirements that are not met."""
    documents = list(yaml.safe_load_all(text))
    if patch:
        documents[-1] = merged(documents[-1], yaml.safe_load(patch))
    for document in documents:
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{document.get('kind')}: {error.message}"
    for document in documents:
        pod = document.get("spec", {}).get("template", {}).get("spec")
        for container in pod["containers"] if pod else ():
            if not container["image"].startswith("localhost/") \
                    or container.get("imagePullPolicy") != "Never":
                yield f"{container['image']} is pulled from somebody's registry"
            rights = container.get("securityContext", {})
            if not rights.get("readOnlyRootFilesystem") \
                    or rights.get("capabilities") != {"drop": ["ALL"]}:
                yield "the container has rights that it can lack"
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if probe not in container:
                    yield f"there is no {probe}"
                elif container[probe]["httpGet"].get("scheme", "HTTP") != scheme:
                    yield f"the {probe} does not use {scheme}"
                elif container[probe]["httpGet"]["port"] != "admin":
                    yield f"the {probe} waits for the store, as clients do"
            variables = {entry["name"]: entry.get("value") for entry in container.get("env", ())}
            delay = variables.get("LATCHKEY_SHUTDOWN_DELAY", "")
            seconds = int(delay[:-1]) if re.fullmatch("[1-9][0-9]*s", delay) else 0
            if not seconds or seconds + 10 >= pod.get("terminationGracePeriodSeconds", 0):
                yield "the time to stop is not above the delay and --drain-seconds"


def compose_mistakes(text, patch=""):
    """The missing limits of the services of compose.yaml, and missing files that it mounts."""
    services = yaml.safe_load(text)["services"]
    if patch:
        services = merged(services, yaml.safe_load(patch)["services"])
    for name, service in services.items():
        for mistake in compose.mistakes(service):
            yield f"{name}: {mistake}"
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if source.startswith("./deploy/") and not (TOP / source).is_file():
                yield f"{name} mounts {source}, which is not there"


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    unit = (DEPLOY / "latchkey.service").read_text(encoding="utf-8")
    manifest = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    services = (TOP / "compose.yaml").read_text(encoding="utf-8")
    cluster = (TOP / "compose.cluster.yaml").read_text(encoding="utf-8")
    unit_tls, patch, services_tls = (
        (DEPLOY / name).read_text(encoding="utf-8")
        for name in ("latchkey-tls.conf", "kubernetes-tls.yaml", "compose-tls.yaml"))
    found = [*unit_mistakes(unit, binary), *unit_mistakes(unit, binary, unit_tls),
             *manifest_mistakes(manifest), *manifest_mistakes(manifest, patch, "HTTPS"),
             *compose_mistakes(services), *compose_mistakes(cluster),
             *compose_mistakes(services, services_tls)]
    planted = {
        "a misspelled setting": unit_mistakes(unit.replace("UMask=", "Umasc="), binary),
        "a unit with rights": unit_mistakes(unit.split("DynamicUser")[0], binary),
        "a misspelled member": manifest_mistakes(manifest.replace("replicas:", "replica:")),
        "a misspelled setting of a drop-in": unit_mistakes(
            unit, binary, unit_tls.replace("Environment=", "Environ=")),
        "a misspelled member of a patch": manifest_mistakes(
            manifest, patch.replace("scheme:", "schema:"), "HTTPS"),
        "an image of somebody": manifest_mistakes(
            manifest.replace("image: localhost/latchkey:dev", "image: latchkey")),
        "an image that is pulled": manifest_mistakes(
            manifest.replace("imagePullPolicy: Never", "imagePullPolicy: Always")),
        "a probe among the clients": manifest_mistakes(
            manifest.replace("/healthz, port: admin", "/healthz, port: http")),
        "a probe without TLS": manifest_mistakes(
            manifest, patch.replace("scheme: HTTPS", "path: /readyz"), "HTTPS"),
        "a file that is not there": compose_mistakes(
            services, services_tls.replace("prometheus-tls", "prometheus-ssl")),
        "a pod with too long a delay": manifest_mistakes(
            manifest.replace('value: "5s"', 'value: "25s"')),
        "a pod without a delay": manifest_mistakes(
            manifest.replace("LATCHKEY_SHUTDOWN_DELAY", "LATCHKEY_DELAY")),
    }
    found += [f"{name} is overlooked" for name, mistakes in planted.items() if not list(mistakes)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
