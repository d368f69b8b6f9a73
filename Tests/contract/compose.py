"""Checks what compose.yaml promises: every service is bounded, and has no rights that it can lack.

    compose.py FILE

Runs with the Python of .build-tools, which has PyYAML.
"""

import sys

import yaml
from strict import StrictLoader


def mistakes(service):
    """What a service of a compose file lacks, as sentences."""
    rules = {
        "it writes to its file system": service.get("read_only") is True,
        "it has capabilities": service.get("cap_drop") == ["ALL"] and "cap_add" not in service,
        "it can get privileges": "no-new-privileges:true" in service.get("security_opt", ()),
        "it is privileged": "privileged" not in service,
        "its memory has no bound": "mem_limit" in service,
        "its threads have no bound": isinstance(service.get("pids_limit"), int),
        "its log has no bound": {"max-size", "max-file"} <= set(
            service.get("logging", {}).get("options", ())),
        "it is reached from outside": all(
            str(port).startswith("127.0.0.1:") for port in service.get("ports", ())),
        # The Dockerfile says who runs what is built here.
        "it may run as root": "build" in service or "user" in service
                              and not str(service["user"]).startswith("0"),
    }
    return [sentence for sentence, holds in rules.items() if not holds]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        services = yaml.load(file, StrictLoader)["services"]
    found = [f"{name}: {mistake}" for name, service in services.items()
             for mistake in mistakes(service)]
    if len(mistakes({"privileged": True, "ports": ["80:80"], "user": "0:0"})) < 9:
        found.append("a planted service without bounds is overlooked")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
