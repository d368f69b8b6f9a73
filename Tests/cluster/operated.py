"""An etcd that an operator works on with `etcdctl`, and replicas that use it meanwhile."""

import base64
import json
import os
import shutil
import subprocess
import urllib.parse

import replicas
from delays import Way
from process import PATIENCE_SECONDS, Failure, await_true, free_port, run

LOG, SETTINGS, RECORDS = (f"/latchkey/{kind}/latchkey" for kind in ("logs", "settings", "replicas"))
# A cluster token of etcd that is not the default.
OTHER_TOKEN = "restored"


class Needs:
    """Needs of a scenario: flags of etcd, TLS, delays, replicas, and both versions of etcd."""

    def __init__(self, *flags, secure=False, delayed=False, both=False, file=False, limits=None):
        self.flags, self.secure, self.delayed = flags, secure, delayed
        self.both, self.file, self.limits = both, file, limits or {}

    def __call__(self, scenario):
        scenario.needs = self
        return scenario


class Authority:
    """Signs certificates."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        run("openssl", "req", "-x509", *self._key(self.key), "-days", "2", "-subj", f"/CN={name}",
            "-addext", "basicConstraints=critical,CA:TRUE", "-out", self.certificate)

    @staticmethod
    def _key(path):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path)

    def sign(self, name, certificate, key):
        """Writes a certificate and its key, in the place of earlier ones."""
        request, extensions = self.folder / f"{name}.request", self.folder / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
        run("openssl", "req", "-new", *self._key(f"{key}.new"), "-subj", f"/CN={name}",
            "-out", request)
        run("openssl", "x509", "-req", "-in", request, "-days", "2", "-CA", self.certificate,
            "-CAkey", self.key, "-CAcreateserial", "-extfile", extensions,
            "-out", f"{certificate}.new")
        os.replace(f"{key}.new", key)
        os.replace(f"{certificate}.new", certificate)


class Member(replicas.Member):
    """A member whose program and flags can change at each start.

    With TLS it also listens on an address without it, for the campaign's requests.
    """

    def __init__(self, folder, number, network, programs, needs):
        super().__init__(folder, number, network)
        self.program, self.flags = programs / "etcd", needs.flags
        self.plain = self.url
        self.certificate, self.key, self.trusted = (
            folder / f"{self.node}.{kind}" for kind in ("pem", "key", "trusted"))
        if needs.secure:
            self.url = f"https://{self.host}:{free_port()}"
            urls = f"{self.url},{self.plain}"
            self.flags += ("--listen-client-urls", urls, "--advertise-client-urls", urls,
                           "--client-cert-auth", "--cert-file", str(self.certificate),
                           "--key-file", str(self.key), "--trusted-ca-file", str(self.trusted))
        # The ways by which the replicas and the other members reach it.
        self.ways = []
        if needs.delayed:
            self.ways = [Way(self.host, address(url)) for url in (self.url, self.peer_url)]
            listens = self.peer_url
            self.peer_url = f"http://{self.host}:{self.ways[1].port}"
            self.flags += ("--listen-peer-urls", listens)

    @property
    def near(self):
        """Its address for replicas."""
        return f"http://{self.host}:{self.ways[0].port}" if self.ways else self.url

    def start(self, members, *options):
        self.options = (*self.flags, *options)
        super().start(members)

    def restart(self, members):
        self.kill()
        self.start(members)
        await_true(f"member {self.number} is healthy", self.is_healthy)

    def lose_disk(self):
        self.kill()
        shutil.rmtree(self.folder)

    def end(self):
        """Ends it with SIGTERM, as operators do."""
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


class Cluster(replicas.Cluster):
    """Three members of a version of etcd, and three replicas."""

    def __init__(self, binary, programs, folder, choose, network, needs):
        self.folder, self.programs, self.needs = folder, programs, needs
        self.credentials = ()
        super().__init__(binary, folder, choose, network)
        self.authority = Authority(folder, "first") if needs.secure else None
        # A file with the addresses, which is read again at SIGHUP.
        self.addresses = folder / "addresses"
        if needs.file:
            self.write_addresses()
        for replica in self.replicas:
            self.prepare(replica)

    def make_member(self, folder, number):
        return Member(folder, number, self.network, self.programs, self.needs)

    def prepare(self, replica):
        replica.limits = self.needs.limits
        replica.members = str(self.addresses) if self.needs.file else ",".join(
            each.near for each in self.members)
        if self.needs.secure:
            trusted, certificate, key = self.files(replica)
            self.trust([self.authority], trusted)
            self.authority.sign("latchkey", certificate, key)
            replica.options = ("--cluster-ca", trusted, "--cluster-certificate", certificate,
                               "--cluster-key", key)

    def write_addresses(self, text=None):
        """Writes the addresses of the members, or another text."""
        lines = "".join(f"{each.near}\n" for each in self.members)
        self.addresses.write_text(text or lines, encoding="ascii")

    def files(self, replica):
        """The files of the trusted authorities, its certificate, and its key."""
        return [self.folder / f"{replica.node}.{kind}" for kind in ("trusted", "pem", "key")]

    @staticmethod
    def trust(authorities, *files):
        text = "".join(each.certificate.read_text(encoding="ascii") for each in authorities)
        for file in files:
            file.write_text(text, encoding="ascii")

    def __enter__(self):
        if self.needs.secure:
            for member in self.members:
                self.trust([self.authority], member.trusted)
                self.authority.sign(member.node, member.certificate, member.key)
        return super().__enter__()

    def start_replicas(self):
        for replica, strategy in zip(self.replicas, self.choose.sample(replicas.STRATEGIES, 3)):
            self.restart(replica, self.choose, strategy)

    def restart(self, replica, choose, strategy=None):
        # Certificates are valid from now on, which a clock that is behind would deny.
        skew = 0 if self.needs.secure else choose.choice(replicas.SKEWS)
        replica.start(strategy or choose.choice(replicas.STRATEGIES), skew)

    def kill(self):
        super().kill()
        for member in self.members:
            for way in member.ways:
                way.close()

    def delay(self, seconds):
        for member in self.members:
            for way in member.ways:
                way.seconds = seconds

    def add_replica(self, binary):
        """A replica with an empty folder, which is not started."""
        number = len(self.replicas)
        replica = replicas.Replica(binary, self.folder, number, self.members, self.network,
                                   self.replicas[0].library)
        self.prepare(replica)
        self.replicas.append(replica)
        return replica

    # MARK: The work of operators

    def ctl(self, *words, members=None, **options):
        """Runs `etcdctl`, at all members unless some are named. Returns its output."""
        # Debian has `etcdctl` and `etcd` in different packages.
        endpoints = ",".join(each.plain for each in members or self.members)
        return run(self.programs / "etcdctl", f"--endpoints={endpoints}", *self.credentials,
                   "--command-timeout=120s", *words,
                   env={**os.environ, "ETCDCTL_API": "3"}, **options)

    def ctl_json(self, *words, **options):
        return json.loads(self.ctl(*words, "-w", "json", **options))

    def identity(self, member):
        """The member's ID in the form of the commands."""
        listed = self.ctl_json("member", "list", members=[
            each for each in self.members if each is not member and each.is_healthy()])
        return next(f"{each['ID']:x}" for each in listed["members"]
                    if member.peer_url in each["peerURLs"])

    def cluster_id(self, member):
        """In hex, as `etcdctl` prints it."""
        return f"{int(member.ask('/v3/maintenance/status', {})['header']['cluster_id']):x}"

    def remove_member(self, member):
        """Removes a member that has gone, and its disk."""
        others = [each for each in self.members if each is not member]
        identity = self.identity(member)
        self.ctl_when("unhealthy cluster", "member", "remove", identity, members=others)
        member.lose_disk()

    def add_member(self, member, *flags):
        """Adds a member at its address, with an empty disk."""
        others = [each for each in self.members if each is not member]
        self.ctl_when("unhealthy cluster", "member", "add", member.name,
                      f"--peer-urls={member.peer_url}", *flags, members=others)
        member.start(self.members, "--initial-cluster-state", "existing")

    def promote(self, member):
        others = [each for each in self.members if each is not member]
        self.ctl_when("in sync with leader", "member", "promote", self.identity(member),
                      members=others)
        await_true("it is healthy", member.is_healthy)

    def ctl_when(self, reason, *words, members):
        """Repeats a command while etcd refuses it for this reason: some seconds after a change."""
        def is_done():
            try:
                self.ctl(*words, members=members)
                return True
            except Failure as failure:
                if reason not in str(failure):
                    raise
                return False

        await_true(f"etcd does {words}", is_done)

    def save(self, name="snapshot"):
        file = self.folder / name
        self.ctl("snapshot", "save", file, members=self.members[:1])
        return file

    def restore(self, file, token=None):
        """Starts etcd again from a backup, at the same addresses."""
        for member in self.members:
            member.kill()
        peers = ",".join(f"{each.name}={each.peer_url}" for each in self.members)
        for member in self.members:
            member.lose_disk()
            run(self.programs / "etcdctl", "snapshot", "restore", file, "--name", member.name,
                "--data-dir", member.folder, "--initial-cluster", peers,
                "--initial-advertise-peer-urls", member.peer_url,
                *(["--initial-cluster-token", token] if token else []),
                env={**os.environ, "ETCDCTL_API": "3"}, stderr=subprocess.STDOUT)
        for member in self.members:
            member.start(self.members)
        self.await_etcd()

    # MARK: The keys of etcd

    def ask(self, path, body):
        """Asks the JSON gateway of the first member that answers."""
        for member in self.members:
            answer = member.ask(path, body, PATIENCE_SECONDS)
            if answer is not None:
                return answer
        raise Failure(f"no member of etcd answers {path}")

    def key(self, name):
        """The entry of a key in etcd, or None."""
        found = self.ask("/v3/kv/range", {"key": encoded(name)}).get("kvs")
        return found and found[0]

    def revision(self):
        return int(self.ask("/v3/kv/range", {"key": encoded("-")})["header"]["revision"])

    def records(self):
        """The records of the replicas, by their ids."""
        answer = self.ask("/v3/kv/range", {
            "key": encoded(RECORDS + "/"), "range_end": encoded(RECORDS + "0")})
        return {base64.b64decode(each["key"]).decode().rsplit("/", 1)[1]:
                json.loads(base64.b64decode(each["value"])) for each in answer.get("kvs", [])}


def encoded(text):
    data = text.encode() if isinstance(text, str) else text
    return base64.b64encode(data).decode()


def address(url):
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port
