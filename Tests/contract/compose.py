"""Checks that services of compose files have limits, and no rights that they do not need.

    compose.py FILE...

Runs with the Python of .build-tools, which has PyYAML.
"""

import re
import sys

import yaml
from strict import StrictLoader


def mistakes(service):
    """The missing limits and restrictions of a service, as sentences."""
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
        "it may run as root": is_plain_user(service),
        "it is killed before it has ended": "build" not in service
                                            or "stop_grace_period" in service,
    }
    return [sentence for sentence, holds in rules.items() if not holds]


def is_plain_user(service):
    """Whether it has no rights of root; ./Dockerfile sets the user of images built with it."""
    build = service.get("build")
    inline = build.get("dockerfile_inline", "") if isinstance(build, dict) else ""
    users = re.findall(r"^USER (\S+)$", inline, re.MULTILINE)
    user = str(service.get("user", users[-1] if users else "0"))
    return build == "." or not user.startswith(("0", "root"))


def crowd_mistakes(services):
    """The missing limits of services that share a machine with others of their kind."""
    images = [service.get("image") for service in services.values()]
    if len(set(images)) == len(images):
        return
    for name, service in services.items():
        if "cpus" not in service:
            yield f"{name}: it can take the processors of the others"
        for other in service.get("depends_on", ()):
            started = service["depends_on"]
            if not isinstance(started, dict) \
                    or started[other].get("condition") != "service_healthy":
                yield f"{name}: it does not wait until {other} is healthy"
        if "ports" in service and "healthcheck" not in service and service.get("build") != ".":
            yield f"{name}: whether it is healthy is not known"


def main():
    found = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            services = yaml.load(file, StrictLoader)["services"]
        found += [f"{path}: {name}: {mistake}" for name, service in services.items()
                  for mistake in mistakes(service)]
        found += [f"{path}: {mistake}" for mistake in crowd_mistakes(services)]
    planted = {"privileged": True, "ports": ["80:80"], "user": "0:0", "build": {}}
    inline = {"build": {"dockerfile_inline": "FROM a\nUSER 1\nUSER 0:0\n"}}
    crowd = {"a": {"image": "one", "ports": ["80:80"]}, "b": {"image": "one", "depends_on": ["a"]}}
    if len(mistakes(planted)) < 10 or is_plain_user(inline) \
            or len(list(crowd_mistakes(crowd))) < 4:
        found.append("a planted service without bounds is overlooked")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
