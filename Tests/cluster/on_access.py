"""Work on the access to etcd: users, certificates and addresses."""

import signal

from operated import Authority, Needs
from process import free_port

PASSWORD = "root"


def rights(trial):
    """Rights are taken away and given back. Each replica reports etcd's error, and continues.

    A replica that starts meanwhile waits for them.
    """
    cluster = trial.cluster
    for words in (("user", "add", f"root:{PASSWORD}"), ("user", "grant-role", "root", "root"),
                  ("role", "add", "latchkey"),
                  ("role", "grant-permission", "--prefix=true", "latchkey", "readwrite",
                   "/latchkey/"),
                  ("user", "add", "latchkey", "--no-password"),
                  ("user", "grant-role", "latchkey", "latchkey")):
        cluster.ctl(*words)
    cluster.ctl("auth", "enable")
    cluster.credentials = (f"--user=root:{PASSWORD}",)
    load = trial.load()
    load.await_writes()
    cluster.ctl("role", "revoke-permission", "latchkey", "--prefix=true", "/latchkey/")
    load.await_answer(503)
    trial.await_told("permission denied")
    replica = trial.choose.choice(cluster.replicas)
    replica.end(statuses=(0, 1))
    trial.begin(replica)
    trial.await_said(replica, "connecting", "permission denied", status=503)
    cluster.ctl("role", "grant-permission", "--prefix=true", "latchkey", "readwrite", "/latchkey/")
    replica.await_ready()
    load.await_writes()
    trial.await_serving()
    trial.await_quiet("permission denied")
    return load.judge()


rights.needs = Needs(secure=True)


def certificates(trial):
    """Certificates of members and replicas get another authority, and no replica restarts.

    Files are replaced, and SIGHUP announces it, as renewals do. Writes continue.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    later = Authority(cluster.folder, "second")
    # First all trust both authorities, then all use the new one, and then they trust only that.
    both = [cluster.authority, later]
    files = [cluster.files(replica) for replica in cluster.replicas]
    for step in ("both", "renewed", "later"):
        for replica, (trusted, certificate, key) in zip(cluster.replicas, files):
            cluster.trust([later] if step == "later" else both, trusted)
            if step == "renewed":
                later.sign("latchkey", certificate, key)
            replica.process.send_signal(signal.SIGHUP)
        for member in cluster.members:
            cluster.trust([later] if step == "later" else both, member.trusted)
            if step == "renewed":
                later.sign(member.node, member.certificate, member.key)
            member.restart(cluster.members)
            load.await_writes()
    trial.await_serving()
    return load.judge()


certificates.needs = Needs(secure=True)


def addresses(trial):
    """All members move to other addresses, and no replica restarts: a file names them.

    A file with invalid addresses changes nothing.
    """
    cluster, load = trial.cluster, trial.load()
    for member in trial.choose.sample(cluster.members, 3):
        load.await_writes()
        member.end()
        member.port = free_port()
        member.url = member.plain = f"http://{member.host}:{member.port}"
        member.restart(cluster.members)
        for text in ("nonsense", None):
            cluster.write_addresses(text)
            for replica in cluster.replicas:
                replica.process.send_signal(signal.SIGHUP)
            load.await_writes()
    replica = trial.choose.choice(cluster.replicas)
    replica.end()
    cluster.restart(replica, trial.choose)
    load.await_writes()
    return load.judge()


addresses.needs = Needs(file=True)

SCENARIOS = (rights, certificates, addresses)
