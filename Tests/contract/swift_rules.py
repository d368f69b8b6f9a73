"""Whether Swift OpenAPI Generator can read all of openapi.yaml.

    swift_rules.py FILE

The generator is a Swift package, which this build does not fetch. Its limits are in its article
"Supported OpenAPI features", and in the checks before it generates; these are those rules, as far
as a description like this one could break them. Runs with the Python of .build-tools, which has
PyYAML.
"""

import re
import sys

import yaml

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
COMBINATIONS = ("allOf", "anyOf", "oneOf")
CONTENT_TYPE = re.compile(r"[^/\s;]+/[^/\s;]+(\s*;.*)?")
# The styles that it knows, by the place of the parameter; the first one is the default.
STYLES = {"path": ("simple",), "query": ("form", "deepObject"), "header": ("simple",)}
# It makes types for these from the schema; the others are bytes.
STRUCTURED = re.compile(r"application/json|.*\+json|application/x-www-form-urlencoded|multipart/.*")


class Description:
    """A description, and its mistakes."""

    def __init__(self, contract):
        self.contract = contract
        self.mistakes = []

    def say(self, place, text):
        self.mistakes.append(f"{place}: {text}")

    def resolve(self, part, place):
        """The part itself, or the target of its reference."""
        seen = set()
        while isinstance(part, dict) and "$ref" in part:
            reference = part["$ref"]
            if reference in seen:
                self.say(place, f"{reference} refers to itself")
                return {}
            seen.add(reference)
            part = self.contract if reference.startswith("#/components/") else None
            for step in reference.split("/")[1:]:
                part = part.get(step) if isinstance(part, dict) else None
            if part is None:
                self.say(place, f"there is no {reference} in the components")
                return {}
        return part

    def check(self):
        if not re.fullmatch(r"3\.[01]\.\d+", str(self.contract.get("openapi"))):
            self.say("openapi", "neither 3.0 nor 3.1")
        names = {}
        for path, item in self.contract["paths"].items():
            for method in METHODS:
                if method in item:
                    self.operation(f"{method.upper()} {path}", item[method],
                                   item.get("parameters", []), names)
        for name, schema in self.contract.get("components", {}).get("schemas", {}).items():
            self.schema(schema, f"schema {name}")
        return self.mistakes

    def operation(self, place, operation, shared, names):
        name = operation.get("operationId")
        if not name:
            self.say(place, "no operationId: the function gets a name made from the path")
        elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            self.say(place, f"{name} is not a name in Swift")
        elif name.lower() in names:
            self.say(place, f"{name} is the operationId of {names[name.lower()]}, too")
        else:
            names[name.lower()] = place
        if not operation.get("responses"):
            self.say(place, "no response")
        for parameter in [*shared, *operation.get("parameters", [])]:
            self.parameter(self.resolve(parameter, place), place)
        body = self.resolve(operation.get("requestBody", {}), place)
        self.content(body.get("content", {}), f"{place}, body")
        for status, response in operation.get("responses", {}).items():
            response = self.resolve(response, place)
            self.content(response.get("content", {}), f"{place}, {status}")
            for header, about in response.get("headers", {}).items():
                about = self.resolve(about, place)
                self.schema(about.get("schema", {}), f"{place}, {status}, {header}")

    def parameter(self, parameter, place):
        place = f"{place}, parameter {parameter.get('name')}"
        styles = STYLES.get(parameter.get("in"))
        if styles is None:
            self.say(place, f"parameters in {parameter.get('in')} are left out")
            return
        style = parameter.get("style", styles[0])
        explode = parameter.get("explode", style == "form")
        if style not in styles or style == "deepObject" and not explode:
            self.say(place, f"the style {style} is left out")
        schema = self.resolve(parameter.get("schema", {}), place)
        if schema.get("type") == "object" and style != "deepObject":
            self.say(place, "an object, but not of the style deepObject")
        self.schema(parameter.get("schema", {}), place)

    def content(self, content, place):
        for kind, media in content.items():
            if not CONTENT_TYPE.fullmatch(kind):
                self.say(place, f"{kind} is not a media type")
            elif STRUCTURED.fullmatch(kind.split(";")[0].strip()):
                self.schema(media.get("schema", {}), f"{place}, {kind}")

    def schema(self, schema, place):
        """Follows the parts at this place; targets of references have places of their own."""
        if not isinstance(schema, dict):
            self.say(place, "a schema that is true or false")
            return
        if "$ref" in schema:
            self.resolve(schema, place)
            return
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "not" in schema or kinds == ["null"]:
            self.say(place, "a schema of a kind that is left out")
        if "enum" in schema and set(kinds) - {"string", "integer", "null"}:
            self.say(place, f"values of an enum that are {kinds}")
        self.combinations(schema, place)
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in properties and not any(key in schema for key in COMBINATIONS):
                self.say(place, f"{name} is required, but not described: it is left out")
        for name, part in properties.items():
            if isinstance(part, dict) and part.get("format") == "binary":
                self.say(f"{place}.{name}", "bytes in an object are left out")
            self.schema(part, f"{place}.{name}")
        if "items" in schema:
            self.schema(schema["items"], f"{place}[]")
        if isinstance(schema.get("additionalProperties"), dict):
            self.schema(schema["additionalProperties"], f"{place}.*")

    def combinations(self, schema, place):
        for key in COMBINATIONS:
            if key not in schema:
                continue
            if not schema[key]:
                self.say(place, f"{key} of nothing")
            for index, part in enumerate(schema[key]):
                self.schema(part, f"{place} {key} {index}")
                described = self.resolve(part, place)
                if key == "oneOf" and "discriminator" in schema and (
                        "$ref" not in part or described.get("type") != "object"):
                    self.say(place, "a discriminator among parts that are no named objects")


# Each is a description with one mistake, as the part of an otherwise right one.
PLANTED = {
    "no operationId": "get: {responses: {'200': {description: a}}}",
    "operationId twice": "get: {operationId: a, responses: {'200': {description: a}}}\n"
                         "    put: {operationId: A, responses: {'200': {description: a}}}",
    "no response": "get: {operationId: a, responses: {}}",
    "dead reference": "get: {operationId: a, responses: {'200': {$ref: '#/components/none/a'}}}",
    "cookie": "get: {operationId: a, parameters: [{name: a, in: cookie, schema: {}}], "
              "responses: {'200': {description: a}}}",
    "style": "get: {operationId: a, parameters: [{name: a, in: query, style: pipeDelimited, "
             "schema: {}}], responses: {'200': {description: a}}}",
    **{name: "get: {operationId: a, responses: {'200': {description: a, content: "
             "{application/json: {schema: " + schema + "}}}}}" for name, schema in (
                 ("not", "{not: {type: string}}"), ("null", "{type: 'null'}"),
                 ("enum of numbers", "{type: number, enum: [1.5]}"), ("empty", "{oneOf: []}"),
                 ("required", "{type: object, required: [a]}"),
                 ("bytes", "{properties: {a: {type: string, format: binary}}}"),
                 ("discriminator", "{oneOf: [{type: object}], discriminator: {propertyName: a}}"),
                 ("deep", "{items: {properties: {a: {additionalProperties: {not: {}}}}}}"))},
}


def mistakes(text):
    return Description(yaml.safe_load(text)).check()


def main():
    for name, item in PLANTED.items():
        planted = f"openapi: 3.1.0\npaths:\n  /a:\n    {item}\n"
        if len(mistakes(planted)) != 1:
            print(f"planted, {name}: {mistakes(planted)}")
            return 1
    with open(sys.argv[1], encoding="utf-8") as file:
        found = mistakes(file.read())
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
