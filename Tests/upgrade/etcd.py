"""An etcd whose revisions are recorded, or made again in another one."""

import base64
import http.client
import json

from process import PATIENCE_SECONDS, Etcd, Failure

# All keys.
EVERYTHING = base64.b64encode(b"\0").decode()


class Server(Etcd):
    def revision(self):
        return int(self.ask("/v3/kv/range", {"key": EVERYTHING})["header"]["revision"])

    def revisions(self):
        """All changes since the start: for each revision its puts, (key, value), and deletes."""
        last, found = self.revision(), {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=PATIENCE_SECONDS)
        connection.request("POST", "/v3/watch", json.dumps({"create_request": {
            "key": EVERYTHING, "range_end": EVERYTHING, "start_revision": 1}}))
        for line in connection.getresponse():
            for event in json.loads(line)["result"].get("events", ()):
                kv = event["kv"]
                change = found.setdefault(int(kv["mod_revision"]), {"puts": [], "deletes": []})
                if event.get("type") == "DELETE":
                    change["deletes"].append(kv["key"])
                else:
                    change["puts"].append([kv["key"], kv.get("value", "")])
            if last in found:
                break
        connection.close()
        if sorted(found) != list(range(2, last + 1)):
            raise Failure("etcd has forgotten some of its revisions")
        return [found[number] for number in sorted(found)]

    def make(self, revisions):
        """Makes the same revisions."""
        for number, change in enumerate(revisions, 2):
            steps = [{"request_put": {"key": key, "value": value}}
                     for key, value in change["puts"]]
            steps += [{"request_delete_range": {"key": key}} for key in change["deletes"]]
            answer = self.ask("/v3/kv/txn", {"success": steps})
            if int(answer["header"]["revision"]) != number:
                raise Failure(f"etcd makes revision {answer['header']['revision']}, not {number}")
