"""Follows the configuration in a service, without a restart of the program.

    pip install ./clients/python
    LATCHKEY_URL=http://127.0.0.1:8080 python3 configuration.py

Both settings are changed in one step, so the program never sees one host with another's port:

    latchkey txn '{"then": [{"put": "config/host", "value": "db1"},
                            {"put": "config/port", "value": 5432}]}'
"""

import os

from latchkey import Latchkey


def connect(host, port):
    print(f"connected to {host}:{port}", flush=True)


with Latchkey(os.environ["LATCHKEY_URL"]) as client:
    for config in client.watch("config/", initial=True).states():
        # An empty service has no configuration yet.
        if {"config/host", "config/port"} <= config.keys():
            connect(config["config/host"], config["config/port"])
