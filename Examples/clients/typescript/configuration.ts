// Follows the configuration in a service, without a restart of the program.
//
//     npm install ./clients/typescript && tsc --target es2022 --module es2022 *.ts
//     LATCHKEY_URL=http://127.0.0.1:8080 node configuration.js
//
// Both settings are changed in one step, so the program never sees one host with another's port:
//
//     latchkey txn '{"then": [{"put": "config/host", "value": "db1"},
//                             {"put": "config/port", "value": 5432}]}'

import { Latchkey } from "latchkey";
import { url } from "./settings.js";

function connect(host: unknown, port: unknown): void {
  console.log(`connected to ${host}:${port}`);
}

const client = new Latchkey(url);
for await (const config of client.states({ prefixes: ["config/"] })) {
  // An empty service has no configuration yet.
  if (config.has("config/host") && config.has("config/port")) {
    connect(config.get("config/host"), config.get("config/port"));
  }
}
