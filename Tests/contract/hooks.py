"""What openapi.yaml says in words and a JSON schema cannot say."""

import schemathesis

NAME_BYTES_MAX = 256


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """A name is bounded in bytes; a schema counts characters.

    A longer one is right to be refused, so it is no example of a valid request. Names of the two
    relative segments are left out because clients resolve them before they send anything.
    """
    name = (path_parameters or {}).get("name")
    if not isinstance(name, str):
        return True
    return len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and name not in (".", "..")
