"""Certificates for the cases, made by `openssl`, and removed with their folder."""

import pathlib
import shutil
import ssl
import subprocess
import tempfile

from process import PATIENCE_SECONDS

DAYS = 2
KINDS = {"EC": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
         "RSA": ("-newkey", "rsa:2048")}


class Certificate:
    """A certificate and its key, as files. Self-signed unless a signer is given.

    `usage` is the extended key usage, as openssl names it.
    """

    def __init__(self, name, signer=None, usage="serverAuth", is_authority=False, kind="EC"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-certificate-"))
        self.chain, self.key = self.folder / "chain.pem", self.folder / "key.pem"
        request = self.folder / "request.pem"
        run("req", "-new", *KINDS[kind], "-nodes", "-keyout", self.key, "-subj", f"/CN={name}",
            "-out", request)
        fields = self.folder / "fields"
        fields.write_text("basicConstraints=critical,CA:" + str(is_authority).upper() + "\n"
                          + ("" if is_authority else f"extendedKeyUsage={usage}\n")
                          + "subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="ascii")
        signs = ("-CA", signer.chain, "-CAkey", signer.key) if signer else ("-key", self.key)
        run("x509", "-req", "-in", request, *signs, "-days", DAYS, "-extfile", fields,
            "-out", self.chain)

    def options(self):
        return "--tls-certificate", self.chain, "--tls-key", self.key

    def texts(self):
        return self.chain.read_bytes(), self.key.read_bytes()

    def shown(self):
        """The bytes that a client sees."""
        return ssl.PEM_cert_to_DER_cert(self.chain.read_text(encoding="ascii"))

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def run(*words):
    subprocess.run(["openssl", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                   timeout=PATIENCE_SECONDS, check=True)
