"""Reads YAML by the rules of YAML 1.2: a duplicate key in a mapping is an error.

The loaders of the tools silently take the last of the two.

    strict.py FILE

Runs with the Python of .build-tools, which has PyYAML.
"""

import sys

import yaml


class StrictLoader(yaml.SafeLoader):
    """The safe loader, which also refuses duplicate keys."""

    def construct_mapping(self, node, deep=False):
        keys = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: the key {key!r} comes twice in its mapping")
            keys.add(key)
        return super().construct_mapping(node, deep)


PLANTED = "a: {x: 1}\nb:\n  c: 1\n  d: 2\n  c: 3\n"


def main():
    try:
        yaml.load(PLANTED, StrictLoader)
        print("a planted duplicate is overlooked")
        return 1
    except yaml.YAMLError:
        pass
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            yaml.load(file, StrictLoader)
    except yaml.YAMLError as error:
        print(f"{sys.argv[1]} is not valid YAML: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
