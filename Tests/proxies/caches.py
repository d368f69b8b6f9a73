"""Starts Varnish and squid on the loopback address, with the examples of deploy/."""

import os

from proxy import DEPLOY, NOBODY, Proxy, replaced

# squid puts files into /dev/shm, where it must have write access as `nobody`.
OWN_MEMORY = ("unshare", "--mount", "sh", "-c",
              'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"', "sh",
              "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


class Varnish(Proxy):
    name = "varnishd"
    example = DEPLOY / "varnish.vcl"

    def configured(self, text):
        return replaced(text, r'\.port = "8080"', f'.port = "{self.service.address[1]}"')

    def command(self, binary, config):
        return [binary, "-F", "-f", config, "-a", f"127.0.0.1:{self.port}", "-n",
                self.folder / "work", "-s", "malloc,32m"]


class Squid(Proxy):
    name = "squid"
    example = DEPLOY / "squid.conf"
    drops_rights = False

    def configured(self, text):
        # Parts that are not installed with the program: icons, pages and the program that unlinks.
        places = (f"mime_table /dev/null\nicon_directory {self.folder}\nunlinkd_program /bin/true\n"
                  f"cache_log {self.folder}/log\naccess_log none\npid_filename none\n"
                  "coredump_dir none\npinger_enable off\nshutdown_lifetime 0 seconds\n"
                  "visible_hostname proxy\n")
        text = replaced(text, "^http_port 80 ", f"http_port 127.0.0.1:{self.port} ")
        return replaced(text, "parent 8080 ", f"parent {self.service.address[1]} ") + places

    def command(self, binary, config):
        inside = OWN_MEMORY if os.getuid() == 0 else ()
        return [*inside, binary, "-N", "-f", config]
