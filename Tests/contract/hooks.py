"""Rules that openapi.yaml states in text, because a JSON schema cannot express them."""

import schemathesis

NAME_BYTES_MAX = 256


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """A name is bounded in bytes; a schema counts characters.

    A longer name is refused, so it is not an example of a valid request. The names "." and ".." are
    left out, because clients resolve them before they send a request.
    """
    name = (path_parameters or {}).get("name")
    if not isinstance(name, str):
        return True
    return len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and name not in (".", "..")
